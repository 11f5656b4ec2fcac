"""What the sample collection holds: decks, presets, and the true memory of the learner who studies it."""

from __future__ import annotations

import datetime
import zoneinfo
from dataclasses import dataclass

TIMEZONE_NAME = "Europe/Berlin"
TIMEZONE = zoneinfo.ZoneInfo(TIMEZONE_NAME)
FIRST_DATE = datetime.date(2024, 1, 8)
N_DAYS = 420
FSRS_FROM_DAY = 160
"""Until this day the collection is scheduled by SM-2, from it on by FSRS."""


@dataclass(frozen=True)
class PresetPlan:
    """A preset, and how the learner really remembers the cards that it schedules."""

    name: str
    true_parameters: tuple[float, ...]
    current_parameters: tuple[float, ...]
    """What the preset holds: 21 numbers (FSRS-6), 19 (FSRS-5), or none, which means the defaults."""
    desired_retention: float
    relearning_steps: tuple[float, ...]
    """Minutes."""


@dataclass(frozen=True)
class DeckPlan:
    """A deck, its preset, and how many notes the learner adds to it every 30 days."""

    name: str
    preset: str
    notes_a_month: int
    reversed: bool = False


# fmt: off
LANGUAGES_TRUE = (
    0.7, 2.6, 5.0, 14.0, 5.8, 0.9, 2.4, 0.02, 1.25, 0.34, 1.3,
    0.9, 0.12, 0.32, 1.0, 0.4, 2.5, 0.5, 0.25, 0.15, 0.42,
)
MEDICINE_TRUE = (
    0.3, 0.8, 1.7, 4.5, 6.6, 0.8, 2.7, 0.02, 0.95, 0.3, 1.2,
    0.8, 0.12, 0.3, 0.9, 0.4, 2.3, 0.45, 0.25, 0.15, 0.38,
)
GEOGRAPHY_TRUE = (
    1.2, 5.0, 12.0, 40.0, 5.0, 0.9, 2.2, 0.02, 1.5, 0.3, 1.3,
    1.0, 0.12, 0.34, 1.1, 0.45, 2.6, 0.5, 0.25, 0.15, 0.45,
)
LANGUAGES_CURRENT = (  # fitted long ago, to too few reviews
    0.9, 1.6, 2.4, 7.9, 6.9, 0.7, 3.2, 0.006, 1.72, 0.14, 0.72,
    1.62, 0.05, 0.29, 1.74, 0.58, 1.8, 0.6, 0.12, 0.07, 0.14,
)
MEDICINE_CURRENT = (  # kept from the days of FSRS-5
    0.4, 1.18, 3.17, 15.69, 7.19, 0.53, 1.46, 0.005, 1.55, 0.12, 1.02,
    1.94, 0.11, 0.3, 2.27, 0.23, 2.99, 0.52, 0.66,
)
# fmt: on

PRESETS = (
    PresetPlan("Default", GEOGRAPHY_TRUE, (), 0.9, (10,)),
    PresetPlan("Languages", LANGUAGES_TRUE, LANGUAGES_CURRENT, 0.92, (10,)),
    PresetPlan("Medicine", MEDICINE_TRUE, MEDICINE_CURRENT, 0.87, (10, 1440)),
)

DECKS = (
    DeckPlan("Geography", "Default", 0),
    DeckPlan("Geography::Capitals", "Default", 9),
    DeckPlan("Geography::Rivers", "Default", 6),
    DeckPlan("Languages", "Languages", 0),
    DeckPlan("Languages::Español", "Languages", 12),
    DeckPlan("Languages::Ελληνικά", "Languages", 5, reversed=True),
    DeckPlan("Medicine", "Medicine", 0),
    DeckPlan("Medicine::Anatomy", "Medicine", 8),
    DeckPlan("Medicine::Anatomy::Bones", "Medicine", 3),
    DeckPlan("Medicine::Pharmacology", "Medicine", 6),
    DeckPlan("Old exam", "Medicine", 3),
)
TOP_DECKS = tuple(deck.name for deck in DECKS if "::" not in deck.name)
OWN_RETENTION_DECK, OWN_RETENTION = "Medicine::Pharmacology", 0.93

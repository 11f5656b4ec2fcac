"""What a file tells about a collection, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsrs_opt.reviews.columns import Columns
    from fsrs_opt.reviews.log import ReviewLog
    from fsrs_opt.sources.days import DayBoundary

DEFAULT_PRESET: Final = 1
"""The id of Anki's preset Default, which cannot be deleted and stands in for deleted ones."""

DEFAULT_RETENTION: Final = 0.9
"""Anki's desired and historical retention where a preset stores none."""


MINUTES_PER_DAY: Final = 1440


@dataclass(frozen=True)
class Deck:
    """A deck.

    name: the parts joined by "::". preset_id: the preset in force (Default where the deck's own no longer
    exists), None for a filtered deck. desired_retention: the deck's own, 0..1, None where the preset's holds.
    """

    id: int
    name: str
    preset_id: int | None
    filtered: bool = False
    desired_retention: float | None = None


@dataclass(frozen=True)
class Preset:
    """A preset (Anki's deck options), as far as it matters to FSRS.

    parameters: as stored, the first non-empty of the fields for FSRS-6, FSRS-5 and FSRS-4.5; may be empty and
    may hold nonsense, for it is not checked here. relearning_steps: minutes. search: the preset's own search
    for optimizing, "" for Anki's default. ignore_before: "YYYY-MM-DD" (midnight UTC) or "", as stored.
    """

    id: int
    name: str
    parameters: tuple[float, ...] = ()
    relearning_steps: tuple[float, ...] = ()
    desired_retention: float = DEFAULT_RETENTION
    historical_retention: float = DEFAULT_RETENTION
    search: str = ""
    ignore_before: str = ""

    @property
    def same_day_relearning_steps(self) -> int:
        """How many relearning steps end on the day of the lapse, as Anki counts for FSRS: those before the
        steps add up to a day."""
        total, count = 0.0, 0
        for minutes in self.relearning_steps:
            total += minutes
            if not total < MINUTES_PER_DAY:
                break
            count += 1
        return count


@dataclass(frozen=True)
class Source:
    """Where a collection came from.

    kind: "anki2", "anki21b", "colpkg", "apkg", "package", "csv" or "parquet". form: which columns a table
    had: "revlog", "fsrs-optimizer" or "research", "" for a database. member: the database in a package, else
    "". notes: sentences a user should be told.
    """

    path: Path
    kind: str
    member: str = ""
    form: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selection:
    """What `select` was asked for, what it left out, and by which rules.

    decks: ids of the decks that were named, subdecks too; deck_names: as they were named. presets: ids of
    those that were named; preset_names: the name of each. tags, flags: as asked. searches: preset id -> the
    stored search that chose its cards, where it has one; by_anki: those that Anki's own code evaluated.
    suspended: the rule in force, a key of `SUSPENDED_RULES`. left_out: cards by the reason that applied
    first: "search" (in the preset's decks, and not found by its search), "suspended", "flag"; only reasons
    that could apply. suspended_kept: suspended cards that are in. cut_offs: preset id -> its cut-off date,
    "YYYY-MM-DD" or "" (as stored), of the presets that were named.
    """

    decks: tuple[int, ...] = ()
    deck_names: tuple[str, ...] = ()
    presets: tuple[int, ...] = ()
    preset_names: dict[int, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    flags: tuple[int, ...] = ()
    searches: dict[int, str] = field(default_factory=dict)
    by_anki: tuple[int, ...] = ()
    suspended: str = "whole"
    left_out: dict[str, int] = field(default_factory=dict)
    suspended_kept: int = 0
    cut_offs: dict[int, str] = field(default_factory=dict)


SUSPENDED_RULES: Final = {
    "whole": "kept, as Anki does in a whole collection",
    "deck": "kept, as Anki does in a search for a deck or tag",
    "preset": "left out, as Anki does for a preset without a search of its own",
    "search": "as the preset's own search says",
    "mixed": "left out, but where a preset's own search says otherwise",
    "include": "kept (--suspended include)",
    "exclude": "left out (--suspended exclude)",
}
"""What becomes of suspended cards, in words."""


@dataclass(frozen=True)
class Collection:
    """A review log and what the file tells about the collection.

    log: see `fsrs_opt.reviews.log`. cards: None for a table of reviews, else one row a card, ascending ids:
    card_id int64, deck_id int64 (the home deck), filtered_deck_id int64 (0 when the card is in its home
    deck), suspended bool, flag int8 (0 none, 1..7). `log.to_pandas()`, `cards.to_pandas()`: as DataFrames.
    schema: Anki's schema version, None for a table of reviews. ignore_before: the cut-off date in force,
    "YYYY-MM-DD" or "": the preset's where `select` chose one, none for a whole collection, nor where the
    chosen presets' dates differ (see `Selection.cut_offs`).
    selection: what `select` did, None for a whole collection.
    """

    log: ReviewLog
    cards: Columns | None
    decks: dict[int, Deck]
    presets: dict[int, Preset]
    day: DayBoundary
    schema: int | None
    source: Source = field(repr=False)
    ignore_before: str = ""
    selection: Selection | None = None

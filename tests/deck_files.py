"""Collections with decks and presets, written by Anki itself; only the review log is filled in by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.reviews.history import Histories
from tests.logs import DAY_MS

FIRST_CARD = 1_500_000_000_000
START = 1_500_033_600_000  # a noon UTC in 2017


@dataclass(frozen=True)
class DeckFile:
    """A deck to be written: its reviews, its preset, and that preset's parameters."""

    name: str
    reviews: Histories | None
    preset: str = "Default"
    filtered: bool = False
    """Its cards lie in a filtered deck at present."""


def write(
    path: Path, decks: Sequence[DeckFile], parameters: dict[str, Sequence[float]] | None = None
) -> Path:
    """A collection with these decks. parameters: of presets by name; presets without decks are made too."""
    collection = pytest.importorskip("anki.collection")
    col = collection.Collection(str(path))
    config_of = {"Default": 1}
    stored = parameters or {}
    for name in [*(deck.preset for deck in decks), *stored]:
        if name not in config_of:
            config_of[name] = col.decks.add_config(name)["id"]
    for name, values in stored.items():
        config = col.decks.get_config(config_of[name])
        config["fsrsParams6"] = [float(value) for value in values]
        col.decks.update_config(config)
    note_type = col.models.by_name("Basic")
    rows: list[tuple[int, int, int, int]] = []
    n_cards = 0  # Anki's own ids are the time of the day, and cards are dealt by their ids
    for deck in decks:
        deck_id = col.decks.id(deck.name)
        col.decks.set_config_id_for_deck_dict(col.decks.get(deck_id), config_of[deck.preset])
        if deck.reviews is not None:
            notes = [col.new_note(note_type) for _ in range(deck.reviews.n_cards)]
            for k, note in enumerate(notes):
                note["Front"] = f"{deck.name} {k}"
            col.add_notes([collection.AddNoteRequest(note, deck_id) for note in notes])
            for k, note in enumerate(notes):
                n_cards += 1
                rows += _rows(deck.reviews, k, FIRST_CARD + n_cards)
                col.db.execute("update cards set id = ? where nid = ?", FIRST_CARD + n_cards, note.id)
    col.db.executemany(
        "insert into revlog values (?, ?, -1, ?, 1, 1, 2500, 5000, ?)", _with_times_of_their_own(rows)
    )
    for deck in decks:
        if deck.filtered:
            made = col.decks.get(col.decks.new_filtered(f"filtered {deck.name}"))
            made["terms"] = [[f'deck:"{deck.name}"', 50, 0]]
            col.decks.save(made)
            col.sched.rebuild_filtered_deck(made["id"])
    col.close()
    return path


def _rows(h: Histories, card: int, card_id: int) -> list[tuple[int, int, int, int]]:
    at = slice(h.offsets[card], h.offsets[card + 1])
    days = np.cumsum(h.delta_t[at]) + h.review_time[h.offsets[card]] // DAY_MS
    times = START + days * DAY_MS + 20_000 * np.arange(len(days))
    return [
        (int(time), card_id, int(rating), int(place > 0))
        for place, (time, rating) in enumerate(zip(times, h.rating[at], strict=True))
    ]


def _with_times_of_their_own(rows: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """The revlog's key is the time: rows of one moment are moved apart by milliseconds."""
    last, moved = 0, []
    for time, *rest in sorted(rows):
        last = max(time, last + 1)
        moved.append((last, *rest))
    return moved

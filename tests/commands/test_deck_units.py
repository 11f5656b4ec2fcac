"""Which cards are never split, by hand-made collections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.commands.deck_units import MOST_UNITS, Units, units
from fsrs_opt.errors import UsageError
from fsrs_opt.reviews import log as review_log
from fsrs_opt.reviews.columns import Columns
from fsrs_opt.sources.collection import Collection, Deck, Preset, Source
from fsrs_opt.sources.days import FixedGrid

NO_ROWS = {name: np.zeros(0, dtype=np.int64) for name in ("review_time", "card_id", "rating", "kind")}


def collection_of(
    decks: dict[str, int | None], cards: list[tuple[str, str]] | None, presets: dict[int, str] | None = None
) -> Collection:
    """decks: preset id by name, None for a filtered deck. cards: (home deck, filtered deck or "") of card 1,
    2, …; None for a table of reviews."""
    ids = {name: k for k, name in enumerate(decks, start=1)}
    table = None
    if cards is not None:
        table = Columns(
            {
                "card_id": np.arange(1, len(cards) + 1),
                "deck_id": np.array([ids.get(home, 999) for home, _ in cards]),
                "filtered_deck_id": np.array([ids.get(now, 0) for _, now in cards]),
                "suspended": np.zeros(len(cards), dtype=bool),
                "flag": np.zeros(len(cards), dtype=np.int8),
            }
        )
    return Collection(
        log=review_log.make(NO_ROWS),
        cards=table,
        decks={ids[name]: Deck(ids[name], name, p, filtered=p is None) for name, p in decks.items()},
        presets={k: Preset(k, name) for k, name in (presets or {1: "Default", 2: "Other"}).items()},
        day=FixedGrid(0),
        schema=18,
        source=Source(Path("collection.anki2"), "anki2"),
    )


def found_in(collection: Collection, items: list[int], **how) -> Units:
    """The units where card k has `items[k - 1]` items."""
    ids = np.arange(1, len(items) + 1)
    return units(collection, ids, np.array(items), **{"min_items": 100, **how})


def names(found: Units) -> list[str]:
    return [unit.name for unit in found.units]


def test_every_deck_with_enough_items_is_one():
    made = collection_of({"A": 1, "A::x": 1, "B": 2}, [("A", ""), ("A::x", ""), ("B", ""), ("B", "")])
    found = found_in(made, [100, 150, 60, 40])
    assert names(found) == ["A", "A::x", "B"]
    assert [unit.n_items for unit in found.units] == [100, 150, 100]
    assert [unit.n_cards for unit in found.units] == [1, 1, 2]
    assert [unit.preset for unit in found.units] == ["Default", "Default", "Other"]
    assert found.unit.tolist() == [0, 1, 2, 2]


def test_small_decks_are_counted_to_their_parents():
    made = collection_of(
        {"A": 1, "A::x": 1, "A::y": 1, "A::y::z": 1, "A::big": 1},
        [("A::x", ""), ("A::y", ""), ("A::y::z", ""), ("A::big", "")],
    )
    found = found_in(made, [50, 30, 40, 200])
    assert names(found) == ["A", "A::big"]
    assert found.units[0].decks == ("A::x", "A::y", "A::y::z")
    assert found.unit.tolist() == [0, 0, 0, 1]


def test_small_decks_without_a_parent_stay_together_within_their_preset():
    made = collection_of(
        {"A": 1, "B": 1, "C": 2, "D": 2, "E": 1}, [("A", ""), ("B", ""), ("C", ""), ("D", ""), ("E", "")]
    )
    found = found_in(made, [50, 60, 70, 80, 500])
    assert names(found) == ["E", "smaller decks of preset Default", "smaller decks of preset Other"]
    assert [unit.decks for unit in found.units] == [("E",), ("A", "B"), ("C", "D")]


def test_a_subdeck_with_another_preset_is_never_mixed_with_its_parent():
    made = collection_of({"A": 1, "A::x": 2}, [("A", ""), ("A::x", "")])
    found = found_in(made, [500, 20])
    assert names(found) == ["A", "A::x"]
    assert [unit.preset_id for unit in found.units] == [1, 2]


def test_a_card_in_a_filtered_deck_belongs_to_its_home_deck():
    made = collection_of({"A": 1, "B": 1, "cram": None}, [("A", "cram"), ("B", "")])
    found = found_in(made, [200, 200])
    assert names(found) == ["A", "B"]
    assert found.n_idle == 0


def test_levels():
    made = collection_of({"A::x": 1, "A::y::z": 1, "A::w": 2}, [("A::x", ""), ("A::y::z", ""), ("A::w", "")])
    assert names(found_in(made, [200, 200, 200])) == ["A::w", "A::x", "A::y::z"]
    assert names(found_in(made, [200, 200, 200], level=2)) == ["A::w", "A::x", "A::y"]
    top = found_in(made, [200, 200, 200], level=1)
    assert names(top) == ["A [Default]", "A [Other]"]  # a deck with two presets is two units
    assert top.unit.tolist() == [0, 0, 1]


def test_by_preset_and_presets_of_one_name():
    made = collection_of(
        {"A": 1, "B": 2, "C": 3, "D": 9},
        [("A", ""), ("B", ""), ("C", ""), ("D", "")],
        {1: "Default", 2: "X", 3: "X"},
    )
    found = found_in(made, [5, 200, 300, 1], by="preset")
    assert names(found) == ["Default", "X [preset 2]", "X [preset 3]"]
    assert found.units[0].decks == ("A", "D")  # a deck whose preset is gone has Default
    assert [unit.n_items for unit in found.units] == [6, 200, 300]


def test_decks_without_items_and_cards_without_a_deck():
    made = collection_of({"A": 1, "empty": 1, "new cards": 2}, [("A", ""), ("gone", ""), ("new cards", "")])
    found = units(made, np.array([1, 2, 3, 77]), np.array([300, 40, 0, 5]), min_items=100)
    assert names(found) == ["A"]
    assert found.n_idle == 2
    assert found.n_gone == 45
    assert found.unit.tolist() == [0, -1, -1, -1]


def test_three_hundred_decks():
    rng = np.random.default_rng(1)
    decks = {f"T{k % 5}::S{k % 30}::d{k}": 1 + k % 2 for k in range(300)}
    made = collection_of(decks, [(name, "") for name in decks for _ in range(3)])
    found = found_in(made, rng.integers(100, 400, 900).tolist())
    assert len(found.units) <= MOST_UNITS + 2  # and what is left of the two presets
    assert found.min_items > 100
    assert np.all(found.unit >= 0)
    assert len(set(names(found))) == len(found.units)
    assert sorted(deck for unit in found.units for deck in unit.decks) == sorted(decks)


def test_a_table_of_reviews_has_no_decks():
    with pytest.raises(UsageError, match=r"collection\.anki2 is a table of reviews"):
        found_in(collection_of({}, None), [5])

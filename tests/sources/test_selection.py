"""Selecting by deck and preset (counts against Anki's are in test_counts)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.errors import UsageError
from fsrs_opt.reviews.columns import Columns
from fsrs_opt.sources import Collection, read, select


@pytest.fixture
def collection(shared_fixtures: Path) -> Collection:
    return read(shared_fixtures / "schema18.anki2")


def test_without_a_choice_everything_stays(collection: Collection) -> None:
    assert select(collection) is collection
    assert select(collection, suspended=True) is collection


def test_leaving_out_suspended_cards_leaves_out_deleted_ones_too(collection: Collection) -> None:
    chosen = select(collection, suspended=False)
    assert len(chosen.cards) == 92
    assert set(chosen.log["card_id"]) <= set(chosen.cards["card_id"])
    assert not chosen.cards["suspended"].any()


@pytest.mark.parametrize("name", ["Sprachen::Français", "SPRACHEN::FRANÇAIS", "sprachen::franc\u0327ais"])
def test_names_in_any_case_and_any_unicode_form(collection: Collection, name: str) -> None:
    assert len(select(collection, deck=name).cards) == 24


def test_subdecks_are_included_but_not_decks_of_like_names(collection: Collection) -> None:
    parent = select(collection, deck="Medizin")
    child = select(collection, deck="Medizin::Anatomie::Knochen")
    assert set(child.cards["card_id"]) < set(parent.cards["card_id"])
    decks = {**collection.decks, 5: replace(collection.decks[1], id=5, name="Medizin 2")}
    moved = Columns({**collection.cards.arrays, "deck_id": np.full(len(collection.cards), 5)})
    with_like_name = replace(collection, decks=decks, cards=moved)
    assert len(select(with_like_name, deck="Medizin").cards) == 0


def test_a_deck_keeps_its_suspended_cards_and_a_preset_does_not(collection: Collection) -> None:
    assert int(select(collection, deck="Sprachen::Deutsch").cards["suspended"].sum()) == 3
    assert int(select(collection, preset="Default").cards["suspended"].sum()) == 0
    assert int(select(collection, preset="Default", suspended=True).cards["suspended"].sum()) == 3
    assert int(select(collection, deck="Sprachen::Deutsch", suspended=False).cards["suspended"].sum()) == 0


def test_cards_in_a_filtered_deck_belong_to_their_home(collection: Collection) -> None:
    filtered = select(collection, deck="Filter offen")
    assert len(filtered.cards) == 4
    home = select(collection, deck="Medizin")
    assert set(filtered.cards["card_id"]) <= set(home.cards["card_id"])


def test_ids_and_both_at_once(collection: Collection) -> None:
    by_name = select(collection, preset="Übung zwei")
    by_id = select(
        collection, preset=next(p.id for p in collection.presets.values() if p.name == "Übung zwei")
    )
    assert by_name.log.to_pandas().equals(by_id.log.to_pandas())
    assert len(select(collection, deck="Sprachen", preset="Übung zwei").log) == 0
    assert len(select(collection, deck=collection.cards["deck_id"].tolist()[0]).cards) == 30


def test_rows_are_those_of_the_cards_and_the_rest_stays(collection: Collection) -> None:
    chosen = select(collection, deck="Sprachen")
    assert set(chosen.log["card_id"]) <= set(chosen.cards["card_id"])
    assert (chosen.decks, chosen.presets, chosen.day) == (
        collection.decks,
        collection.presets,
        collection.day,
    )
    assert len(collection.log) == 1438  # the given one is as it was


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"deck": "Sprahen"}, "There is no deck named 'Sprahen'; did you mean Sprachen"),
        ({"deck": "qqq"}, "There is no deck named 'qqq'."),
        ({"deck": ""}, "There is no deck named ''."),
        ({"deck": 3}, "There is no deck with the id 3."),
        ({"preset": "defalt"}, r"There is no preset named 'defalt'; did you mean Default\?"),
        ({"preset": 3}, "There is no preset with the id 3."),
    ],
)
def test_names_that_do_not_exist(collection: Collection, what: dict[str, str | int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select(collection, **what)  # type: ignore[arg-type]


def test_a_table_of_reviews_has_no_decks(shared_real: Path) -> None:
    table = read(shared_real / "real36.parquet")
    for what in ({"deck": "Default"}, {"suspended": True}, {"suspended": False}):
        with pytest.raises(UsageError, match="is a table of reviews"):
            select(table, **what)  # type: ignore[arg-type]

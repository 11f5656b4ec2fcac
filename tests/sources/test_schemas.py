"""Decks, presets and cards of all schemas, and what becomes of damaged parts."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fsrs_opt.sources import Deck, Preset, read
from fsrs_opt.sources.messages import MessageError, parse

from .conftest import MakeDatabase

BY_ANKI = ["schema18.anki2", "schema11.anki2", "new.colpkg", "legacy.colpkg"]


@pytest.fixture(scope="module")
def truth(shared_fixtures: Path) -> dict[str, Any]:
    return json.loads((shared_fixtures / "truth.json").read_text("utf-8"))


@pytest.mark.parametrize("name", BY_ANKI)
def test_presets_are_ankis(name: str, shared_fixtures: Path, truth: dict[str, Any]) -> None:
    collection = read(shared_fixtures / name)
    known = truth["fixtures"][name]["backend"]["by_preset"]
    assert {
        each.id: (
            each.name,
            each.relearning_steps,
            each.desired_retention,
            each.historical_retention,
            each.ignore_before,
            [round(value, 4) for value in each.parameters],
        )
        for each in collection.presets.values()
    } == {
        each["id"]: (
            each["name"],
            tuple(each["relearn_steps"]),
            each["desired_retention"],
            0.9,
            each["ignore_before"],
            each["fsrs_params_6"],
        )
        for each in known
    }


@pytest.mark.parametrize("name", BY_ANKI)
def test_decks_are_ankis(name: str, shared_fixtures: Path, truth: dict[str, Any]) -> None:
    collection = read(shared_fixtures / name)
    normal = {deck.name: deck.id for deck in collection.decks.values() if not deck.filtered}
    known = {deck: id_ for deck, id_ in truth["info"]["dids"].items() if deck != "ältere Karten"}
    assert normal == known
    assert {deck.name for deck in collection.decks.values() if deck.filtered} == {
        "Filter früh",
        "Filter offen",
    }
    second = truth["info"]["second_preset"]
    assert {deck.preset_id for deck in collection.decks.values() if deck.name.startswith("Medizin")} == {
        second
    }
    assert {deck.preset_id for deck in collection.decks.values() if deck.filtered} == {None}
    assert collection.decks[known["Sprachen::Français"]].desired_retention == pytest.approx(0.94)
    assert collection.decks[known["Sprachen"]].desired_retention is None


@pytest.mark.parametrize("name", BY_ANKI)
def test_cards_in_a_filtered_deck_have_their_home(name: str, shared_fixtures: Path) -> None:
    collection = read(shared_fixtures / name)
    away = collection.cards.rows(collection.cards["filtered_deck_id"] != 0)
    assert len(away) == 4
    assert {collection.decks[deck].name for deck in away["filtered_deck_id"]} == {"Filter offen"}
    assert all(collection.decks[deck].name.startswith("Medizin") for deck in away["deck_id"])


def test_suspended_cards(shared_fixtures: Path, truth: dict[str, Any]) -> None:
    cards = read(shared_fixtures / "schema18.anki2").cards
    assert cards["card_id"][cards["suspended"]].tolist() == truth["events"]["suspended"]
    assert cards["card_id"][cards["flag"] > 0].tolist() == truth["events"]["flagged"]
    assert sorted(cards["flag"][cards["flag"] > 0]) == [1, 2, 3, 4, 5, 6, 7]
    assert {name: str(dtype) for name, dtype in cards.to_pandas().dtypes.items()} == {
        "card_id": "int64",
        "deck_id": "int64",
        "filtered_deck_id": "int64",
        "suspended": "bool",
        "flag": "int8",
    }


@pytest.mark.parametrize("schema", ["schema11_sched1", "schema14_sched1", "schema16_sched1"])
def test_decks_and_presets_of_old_schemas(schema: str, shared_fixtures: Path) -> None:
    collection = read(shared_fixtures / f"{schema}.anki2")
    assert collection.decks == {
        1: Deck(1, "Default", 1),
        2: Deck(2, "Alpha", 2),
        3: Deck(3, "Alpha::Beta", 1),
    }
    steps = () if schema == "schema16_sched1" else (10.0,)  # schema 16: empty messages, so no steps
    assert collection.presets == {
        1: Preset(1, "Default", relearning_steps=steps),
        2: Preset(2, "Zweites", relearning_steps=steps),
    }


def test_all_json_names(make_database: MakeDatabase) -> None:
    config = {
        "name": "Alt",
        "lapse": {"delays": [1, 10.5]},
        "fsrsWeights": [0.1] * 17,
        "fsrsParams5": [0.2] * 19,
        "fsrsParams6": [],
        "desiredRetention": 0.85,
        "sm2Retention": 0.8,
        "weightSearch": "tag:x",
        "ignoreRevlogsBeforeDate": "2023-01-02",
    }
    decks = {"1": {"name": "Default", "conf": 1, "desiredRetention": 94}, "3": {"name": "F", "dyn": 1}}
    collection = read(make_database(decks=decks, dconf={"1": config}))
    assert collection.presets[1] == Preset(
        1, "Alt", (0.2,) * 19, (1.0, 10.5), 0.85, 0.8, "tag:x", "2023-01-02"
    )
    assert collection.decks == {1: Deck(1, "Default", 1, False, 0.94), 3: Deck(3, "F", None, filtered=True)}


def test_parameters_are_the_first_that_are_not_empty(make_database: MakeDatabase) -> None:
    for stored, expected in (
        ({"fsrsWeights": [1.0], "fsrsParams5": [2.0], "fsrsParams6": [3.0]}, (3.0,)),
        ({"fsrsWeights": [1.0], "fsrsParams6": []}, (1.0,)),
        ({}, ()),
    ):
        path = make_database(f"{len(stored)}{expected}", dconf={"1": {"name": "Default", **stored}})
        assert read(path).presets[1].parameters == expected


def test_a_deck_whose_preset_is_gone_uses_default(make_database: MakeDatabase) -> None:
    assert read(make_database(decks={"2": {"name": "B", "conf": 99}})).decks[2].preset_id == 1


@pytest.mark.parametrize("part", ["conf", "decks", "dconf"])
@pytest.mark.parametrize("content", ["{", "[1]", "null", "[" * 100_000])
def test_a_damaged_part_costs_no_reviews(part: str, content: str, make_database: MakeDatabase) -> None:
    path = make_database()
    with sqlite3.connect(path) as connection:
        connection.execute(f"update col set {part} = ?", (content,))
    connection.close()
    collection = read(path)
    assert len(collection.log) == 3
    assert "unreadable" in collection.source.notes[0]


def test_nonsense_inside_the_json_costs_no_reviews(make_database: MakeDatabase) -> None:
    nonsense = {
        "1": 5,
        "x": {"name": None, "conf": "y"},
        "2": {"lapse": 3, "fsrsParams6": "a", "desiredRetention": "b"},
    }
    collection = read(make_database(decks=nonsense, dconf=nonsense))
    assert len(collection.log) == 3
    assert collection.presets[2].parameters == ()
    assert collection.presets[2].desired_retention == 0.9


def modern(path: Path, schema: int, *, config: bytes, kind: bytes) -> Path:
    with sqlite3.connect(path) as connection:
        connection.create_collation("unicase", lambda a, b: (a > b) - (a < b))
        connection.execute("update col set ver = ?, conf = '', decks = '', dconf = ''", (schema,))
        connection.execute("create table config (key text primary key, val blob)")
        connection.execute(
            "create table decks (id integer primary key, name text collate unicase, kind blob)"
        )
        connection.execute(
            "create table deck_config (id integer primary key, name text collate unicase, config blob)"
        )
        connection.execute("insert into config values ('schedVer', '2'), ('rollover', '{')")
        connection.execute("insert into decks values (2, ?, ?)", ("A\x1fB", kind))
        connection.execute("insert into deck_config values (1, 'Default', ?)", (config,))
    connection.close()
    return path


def test_damaged_messages_cost_no_reviews(make_database: MakeDatabase) -> None:
    collection = read(modern(make_database(), 18, config=b"\x12\xff", kind=b"\xff\xff"))
    assert collection.decks[2] == Deck(2, "A::B", 1)
    assert collection.presets[1] == Preset(1, "Default")
    notes = collection.source.notes
    assert len(collection.log) == 3
    assert notes[0] == "The collection's setting rollover is unreadable and was ignored."
    assert "preset 'Default' are unreadable" in notes[1]
    assert "deck 'A::B' are unreadable" in notes[2]


def test_a_newer_schema_is_tried_and_said(make_database: MakeDatabase) -> None:
    collection = read(modern(make_database(), 19, config=b"", kind=b"\x0a\x02\x08\x01"))
    assert (len(collection.log), collection.schema) == (3, 19)
    assert collection.source.notes[0] == "The collection has schema 19, which is newer than the known 18."


def test_messages_with_unpacked_and_unknown_fields() -> None:
    """12 08 = two packed floats 1.0 and 10.0; 15 = one float not packed; field 99 is unknown."""
    packed = bytes.fromhex("12080000803f00002041")
    assert list(parse("PresetConfig", packed).relearn_steps) == [1.0, 10.0]
    unpacked = bytes.fromhex("150000803f1500002041") + bytes.fromhex("9806 05".replace(" ", ""))
    assert list(parse("PresetConfig", unpacked).relearn_steps) == [1.0, 10.0]
    with pytest.raises(MessageError):
        parse("PresetConfig", b"\x12\xff")

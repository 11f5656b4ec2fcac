"""Selections of a collection that Anki made: the cards are those that Anki finds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsrs_opt.errors import SourceError, UsageError
from fsrs_opt.sources import Collection, read, select
from fsrs_opt.sources.selection import each_preset
from tests.anki_collections import SECOND, anki_collection

SEARCH = 'preset:"Zwei Übung" -is:suspended -tag:leech or deck:axb'
"""Of the second preset: it finds cards of a deck of another preset too."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("selection") / "collection.anki2"
    anki_collection(path, searches={SECOND: SEARCH})
    return path


@pytest.fixture(scope="module")
def collection(path: Path) -> Collection:
    return read(path)


@pytest.fixture(scope="module")
def anki(path: Path) -> Iterator[Any]:
    from anki.collection import Collection as AnkiCollection

    copy = path.with_name("copy.anki2")
    shutil.copyfile(path, copy)
    opened = AnkiCollection(str(copy))
    yield opened
    opened.close()


def cards(chosen: Collection) -> set[int]:
    return set(chosen.cards["card_id"].tolist())


@pytest.mark.parametrize(
    ("options", "search"),
    [
        ({"deck": "MEDIZIN"}, "deck:Medizin"),
        ({"deck": ["medizin", "a_b"]}, r"deck:Medizin or deck:a\_b"),
        ({"deck": "medizin*"}, "deck:Medizin*"),
        ({"deck": "*kno*"}, "deck:*kno*"),
        ({"deck": "a?b"}, r"deck:a-b or deck:a\_b or deck:axb"),
        ({"deck": "a_b"}, r"deck:a\_b"),
        ({"deck": "Why?"}, r"deck:Why?"),  # it exists: no pattern
        ({"deck": "Wh*"}, r"deck:Why? or deck:Whyx"),
        ({"deck": "star*deck"}, r"deck:star\*deck"),
        ({"deck": 'quo"te'}, r'deck:"quo\"te"'),
        ({"deck": "par(en)"}, 'deck:"par(en)"'),
        ({"deck": "back\\slash"}, r"deck:back\\slash"),
        ({"deck": "übung é"}, 'deck:"Übung é"'),
        ({"deck": "U\u0308BUNG E\u0301"}, 'deck:"Übung é"'),
        ({"deck": "sprachen"}, "deck:Sprachen"),
        ({"deck": "Filter::F1"}, "deck:Filter::F1"),
        ({"deck": "filter"}, "deck:Filter"),
        ({"deck": "Medizin", "suspended": False}, "deck:Medizin -is:suspended"),
        ({"deck": "Medizin", "suspended": True}, "deck:Medizin"),
        ({"preset": "default"}, "preset:Default -is:suspended"),
        ({"preset": "def*"}, "preset:Default -is:suspended"),
        ({"preset": "default", "suspended": True}, "preset:Default"),
        ({"preset": "zwei übung"}, SEARCH),
        ({"preset": "zwei übung", "suspended": False}, f"({SEARCH}) -is:suspended"),
        ({"preset": "zwei übung", "suspended": True}, 'preset:"Zwei Übung" -tag:leech or deck:axb'),
        ({"preset": ["default", "zwei*"]}, f"(preset:Default -is:suspended) or ({SEARCH})"),
        (
            {"preset": "*", "exclude_flag": [1, 2]},
            f"((preset:Default -is:suspended) or ({SEARCH})) -flag:1 -flag:2",
        ),
        ({"deck": "axb", "preset": "zwei*"}, f"deck:axb ({SEARCH})"),
        ({"tag": "a"}, "tag:a"),
        ({"tag": "A::B"}, "tag:a::b"),
        ({"tag": "a::*"}, "tag:a::*"),
        ({"tag": ["leech", "ärger"]}, "tag:leech or tag:ärger"),
        ({"tag": "x_y"}, r"tag:x\_y"),
        ({"tag": "x?z"}, "tag:x_z"),
        ({"tag": "A\u0308rger"}, "tag:ärger"),
        ({"tag": "a", "deck": "Medizin", "exclude_flag": 3}, "tag:a deck:Medizin -flag:3"),
        ({"exclude_flag": 1}, "-flag:1"),
        ({"suspended": False}, "-is:suspended"),
    ],
)
def test_cards_are_those_that_anki_finds(
    collection: Collection, anki: Any, options: dict[str, Any], search: str
) -> None:
    chosen = select(collection, **options)
    assert cards(chosen) == set(anki.find_cards(search))
    rows = np.isin(collection.log["card_id"], chosen.cards["card_id"])
    assert chosen.log["review_time"].tolist() == collection.log["review_time"][rows].tolist()


def test_what_was_left_out_is_counted(collection: Collection, anki: Any) -> None:
    chosen = select(collection, preset="default", exclude_flag=(1, 2)).selection
    assert chosen.left_out == {
        "suspended": len(anki.find_cards("preset:Default is:suspended")),
        "flag": len(anki.find_cards("preset:Default -is:suspended (flag:1 or flag:2)")),
    }
    assert (chosen.suspended, chosen.suspended_kept) == ("preset", 0)
    chosen = select(collection, preset=SECOND).selection
    assert chosen.left_out["search"] == len(anki.find_cards(f'preset:"{SECOND}" -({SEARCH})'))
    assert chosen.suspended == "search"
    assert chosen.suspended_kept == len(anki.find_cards(f"({SEARCH}) is:suspended")) > 0
    assert list(chosen.searches.values()) == [SEARCH]
    assert chosen.by_anki == ()
    assert select(collection, preset=["default", SECOND]).selection.suspended == "mixed"
    assert select(collection, deck="Medizin").selection.suspended == "deck"


def test_a_selection_can_be_selected_from(collection: Collection) -> None:
    at_once = select(collection, preset="zwei*", deck="axb")
    one_by_one = select(select(collection, preset="zwei*"), deck="axb")
    assert cards(one_by_one) == cards(at_once)
    for name in ("presets", "preset_names", "searches", "cut_offs", "suspended", "decks", "deck_names"):
        assert getattr(one_by_one.selection, name) == getattr(at_once.selection, name), name


def test_each_preset_is_what_select_gives(collection: Collection) -> None:
    found = each_preset(collection, exclude_flag=4)
    assert [collection.presets[id_].name for id_ in found] == ["Default", SECOND]
    for id_, chosen in found.items():
        assert cards(chosen) == cards(select(collection, preset=id_, exclude_flag=4))


def with_search(collection: Collection, search: str) -> Collection:
    presets = {
        id_: replace(one, search=search) if one.name == SECOND else one
        for id_, one in collection.presets.items()
    }
    return replace(collection, presets=presets)


def test_a_search_that_only_anki_understands(collection: Collection, anki: Any) -> None:
    chosen = select(with_search(collection, "front:front1*"), preset=SECOND)
    assert cards(chosen) == set(anki.find_cards("front:front1*"))
    assert chosen.selection.by_anki == chosen.selection.presets


def test_a_search_that_nobody_understands(collection: Collection) -> None:
    broken = with_search(collection, "deck:(")
    with pytest.raises(UsageError, match="The preset “Zwei Übung” cannot be selected: Anki makes no sense"):
        select(broken, preset=SECOND)
    assert len(select(broken, preset="Default").cards)  # the others do not care
    found = list(each_preset(broken).values())
    assert isinstance(found[0], Collection)
    assert isinstance(found[1], UsageError)


def test_a_file_that_is_gone_when_a_search_needs_it(collection: Collection, tmp_path: Path) -> None:
    gone = replace(collection, source=replace(collection.source, path=tmp_path / "gone.anki2"))
    with pytest.raises(SourceError, match="does not exist"):
        select(gone, tag="a")
    assert len(select(gone, deck="Medizin").cards)


def test_in_a_package_too(path: Path, tmp_path: Path, anki: Any) -> None:
    package = tmp_path / "collection.colpkg"
    from anki.collection import Collection as AnkiCollection

    copy = tmp_path / "other.anki2"
    shutil.copyfile(path, copy)
    other = AnkiCollection(str(copy))
    other.export_collection_package(str(package), include_media=False, legacy=False)
    chosen = select(read(package), preset=SECOND, tag="a*")
    assert cards(chosen) == set(anki.find_cards(f"({SEARCH}) tag:a*"))

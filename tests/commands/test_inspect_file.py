"""What `inspect_file` counts, against the true counts that Anki's own backend gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fsrs_opt.commands.inspect_file import Inspection, inspect_file


@pytest.fixture(scope="module")
def anki_counts(shared_fixtures: Path) -> dict[str, Any]:
    return json.loads((shared_fixtures / "anki_counts.json").read_text("utf-8"))


@pytest.fixture(scope="module", params=["schema18.anki2", "schema11.anki2"])
def seen(shared_fixtures: Path, request: pytest.FixtureRequest) -> Inspection:
    return inspect_file(shared_fixtures / request.param)


def test_items_are_anki_s(seen: Inspection, anki_counts: dict[str, Any]) -> None:
    counts = anki_counts["items"]
    assert seen.items == counts["(whole collection: all revlog rows, deleted cards too)"]
    existing = counts["is:suspended or -is:suspended (existing cards only)"]
    assert sum(part.items for _, part in seen.decks) == existing
    assert sum(part.items for _, part in seen.presets) == existing
    assert seen.deleted is not None
    assert seen.deleted.items == seen.items - existing


def test_items_of_decks_are_anki_s(seen: Inspection, anki_counts: dict[str, Any]) -> None:
    for top in ("Sprachen", "Medizin"):
        parts = [part for deck, part in seen.decks if deck.name.split("::")[0] == top]
        assert sum(part.items for part in parts) == anki_counts["items"][f"deck:{top}"]


def test_items_of_presets_are_anki_s(seen: Inspection, anki_counts: dict[str, Any]) -> None:
    by_name = {preset.name: part.items for preset, part in seen.presets}
    assert by_name["Default"] == anki_counts["items"]['preset:"Default"']
    assert by_name["Übung zwei"] == anki_counts["items"]['preset:"Übung zwei"']


def test_kinds_and_months_add_up(seen: Inspection) -> None:
    assert sum(seen.kinds.values()) == seen.histories.rows == len(seen.collection.log)
    assert sum(seen.months.values()) == seen.reviews
    assert next(iter(seen.months)) == "2024-01"  # the fixtures' story begins on 15 January 2024
    assert str(seen.first) == "2024-01-15"


def test_old_schemas(shared_fixtures: Path, anki_counts: dict[str, Any]) -> None:
    for name, counts in anki_counts["old_schemas"].items():
        if not name.endswith(".anki2"):
            continue
        seen = inspect_file(shared_fixtures / name)
        assert seen.items == counts["(whole collection)"]
        alpha = [part.items for deck, part in seen.decks if deck.name.split("::")[0] == "Alpha"]
        assert sum(alpha) == counts["deck:Alpha"]


def test_a_table_has_no_decks(data: Path) -> None:
    seen = inspect_file(data / "sample.csv")
    assert (seen.decks, seen.presets, seen.deleted) == ((), (), None)
    assert seen.rung == "all"


def test_an_empty_collection(shared_fixtures: Path) -> None:
    seen = inspect_file(shared_fixtures / "empty18.anki2")
    assert (seen.reviews, seen.items, seen.first, seen.months) == (0, 0, None, {})
    assert seen.rung == "defaults"


def test_days_without_dates(tmp_path: Path) -> None:
    table = tmp_path / "research.csv"
    table.write_text("card_id,day_offset,rating\n1,0,3\n1,2,3\n")
    seen = inspect_file(table)
    assert (seen.reviews, seen.items, seen.first, seen.months) == (2, 1, None, {})

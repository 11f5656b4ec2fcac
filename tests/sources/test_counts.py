"""From file to items: the counts that Anki's own backend finds, whatever the file and its schema."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fsrs_opt.reviews.history import histories
from fsrs_opt.reviews.items import items
from fsrs_opt.sources import Collection, read, select

NOW = 1_731_261_600  # the simulated clock at the end of the fixtures' story, s
COLLECTIONS = [
    "schema18.anki2",
    "schema11.anki2",
    "open_wal.anki2",
    "new.colpkg",
    "legacy.colpkg",
    "backup.colpkg",
]
PACKAGES = ["sched_new.apkg", "sched_legacy.apkg", "deck_only_new.apkg"]
OLD = ["schema11_sched1.anki2", "schema14_sched1.anki2", "schema16_sched1.anki2"]
ZONE = {"timezone": "Etc/GMT-1", "day_start": 4}  # what a user of a .apkg has to say: Berlin in winter


def count(collection: Collection, ignore_before: str = "") -> int:
    cutoff = (
        datetime.fromisoformat(ignore_before).replace(tzinfo=UTC).timestamp() * 1000 if ignore_before else 0
    )
    made = histories(collection.log, collection.day.day_of, ignore_before_ms=int(cutoff))
    return len(items(made).label)


@pytest.fixture(scope="module")
def truth(shared_fixtures: Path) -> dict[str, Any]:
    return json.loads((shared_fixtures / "truth.json").read_text("utf-8"))["fixtures"]


@pytest.fixture(scope="module")
def counts(shared_fixtures: Path) -> dict[str, Any]:
    return json.loads((shared_fixtures / "anki_counts.json").read_text("utf-8"))


@pytest.mark.parametrize("name", COLLECTIONS + PACKAGES)
def test_items_of_every_preset(name: str, shared_fixtures: Path, truth: dict[str, Any]) -> None:
    options = ZONE if name in PACKAGES else {}
    collection = read(shared_fixtures / name, now=NOW, **options)
    known = truth[name].get("backend") or truth[name]["backend_after_import"]
    for preset in known["by_preset"]:
        if name in PACKAGES and preset["id"] not in collection.presets:
            assert preset["fsrs_items"] == 0  # made by the import
            continue
        chosen = select(collection, preset=preset["id"])
        assert count(chosen, chosen.presets[preset["id"]].ignore_before) == preset["fsrs_items"], preset[
            "name"
        ]
        assert len(chosen.cards) == preset["cards"]


@pytest.mark.parametrize("name", ["schema18.anki2", "schema11.anki2"])
def test_items_of_collection_decks_and_presets(
    name: str, shared_fixtures: Path, counts: dict[str, Any]
) -> None:
    collection = read(shared_fixtures / name, now=NOW)
    known = counts["items"]
    assert count(collection) == known["(whole collection: all revlog rows, deleted cards too)"]
    assert count(select(collection, suspended=False)) == known["-is:suspended"]
    assert count(select(collection, deck="Sprachen")) == known["deck:Sprachen"]
    assert count(select(collection, deck="medizin")) == known["deck:Medizin"]
    assert count(select(collection, preset="Default", suspended=True)) == known['preset:"Default"']
    assert count(select(collection, preset="ÜBUNG ZWEI", suspended=True)) == known['preset:"Übung zwei"']


@pytest.mark.parametrize("name", OLD)
def test_items_with_the_first_scheduler(name: str, shared_fixtures: Path, counts: dict[str, Any]) -> None:
    collection = read(shared_fixtures / name, now=NOW)
    known = counts["old_schemas"][name]
    assert count(collection) == known["(whole collection)"]
    for deck in ("Default", "Alpha"):
        assert count(select(collection, deck=deck)) == known[f"deck:{deck}"]
    for preset in ("Default", "Zweites"):
        assert count(select(collection, preset=preset)) == known[f'preset:"{preset}" -is:suspended']


def test_a_day_boundary_three_hours_off_changes_the_items(shared_fixtures: Path) -> None:
    collection = read(shared_fixtures / "schema18.anki2", now=NOW, day_start=1)
    assert count(select(collection, preset=1)) == 509  # 522 with the right one: spec, day boundary

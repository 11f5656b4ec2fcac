"""A collection with several presets: each card's own parameters count, and none is worsened unsaid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fsrs_opt
from fsrs_opt.sources import read, select

LANGUAGES = "Languages"


def test_a_preset_that_the_new_parameters_would_worsen_is_named(data: Path) -> None:
    collection = read(data / "sample.colpkg")
    its_own = fsrs_opt.optimize(select(collection, preset=LANGUAGES, suspended=True), splits=0).fit.parameters
    presets = {
        key: replace(preset, parameters=tuple(its_own)) if preset.name == LANGUAGES else preset
        for key, preset in collection.presets.items()
    }
    result = fsrs_opt.optimize(replace(collection, presets=presets), splits=0)
    assert result.verdict.decision == "change"
    named = [message for message in result.messages if message.startswith("Leave the preset")]
    assert len(named) == 1
    assert LANGUAGES in named[0]


def test_without_such_a_preset_none_is_named(data: Path) -> None:
    result = fsrs_opt.optimize(data / "sample.colpkg", splits=0)
    assert not [message for message in result.messages if message.startswith("Leave the preset")]


def test_a_selected_preset_brings_its_cut_off_date(shared_fixtures: Path) -> None:
    collection = read(shared_fixtures / "schema18.anki2")
    chosen = select(collection, preset="Übung zwei")
    assert len(fsrs_opt.optimize(chosen, splits=0).data) == 189  # truth.json, by preset
    assert not any(
        "cut-off dates do not apply" in note for note in fsrs_opt.optimize(chosen, splits=0).messages
    )


def test_relearning_steps_count_within_the_day(shared_fixtures: Path) -> None:
    collection = read(shared_fixtures / "schema18.anki2")
    steps = {preset.name: preset.same_day_relearning_steps for preset in collection.presets.values()}
    assert steps["Default"] == 1  # 10 minutes
    assert steps["Übung zwei"] == 1  # 10 minutes, 1 day: the second step is on another day

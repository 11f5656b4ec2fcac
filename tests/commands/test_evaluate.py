"""`evaluate` as a library call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fsrs_opt
from fsrs_opt.commands.evaluate import evaluated
from fsrs_opt.commands.judgement import schedule
from fsrs_opt.errors import UsageError
from fsrs_opt.evaluation.score import predict_items, score
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.sources import read


@pytest.fixture(scope="module")
def sample(data: Path) -> Any:
    return fsrs_opt.evaluate(data / "sample.colpkg")


def test_new_parameters_are_those_of_optimize(sample: Any, data: Path) -> None:
    optimized = fsrs_opt.optimize(data / "sample.colpkg")
    np.testing.assert_array_equal(sample.new, optimized.fit.parameters)
    assert sample.evaluation.verdict == optimized.verdict
    again = evaluated(optimized)
    for name, one in sample.evaluation.held_out.items():
        assert again.evaluation.held_out[name].scores == one.scores


def test_all_five_models_are_judged(sample: Any) -> None:
    for judged in (sample.evaluation.in_sample, sample.evaluation.held_out):
        assert all(one is not None for one in judged.values())
    expected = score(sample.data, predict_items(sample.data, DEFAULTS))
    assert sample.evaluation.in_sample["default"].scores == expected


def test_the_sample_s_parameters_are_worth_changing(sample: Any) -> None:
    """Its learner's true parameters are far from those stored (scripts/sample_plan.py)."""
    verdict = sample.evaluation.verdict
    assert (verdict.decision, verdict.basis, verdict.against) == ("change", "held-out", "current")
    held_out = sample.evaluation.held_out
    gain = held_out["current"].scores.log_loss - held_out["new"].scores.log_loss
    assert verdict.gain.mean == pytest.approx(gain)


def test_given_parameters_are_compared_as_they_are(data: Path, sample: Any) -> None:
    found = fsrs_opt.evaluate(data / "sample.csv", parameters=DEFAULTS, against=sample.new)
    assert found.fit is None
    np.testing.assert_array_equal(found.new, sample.new)
    seen = found.evaluation
    assert seen.held_out["current"].scores == seen.held_out["default"].scores
    assert seen.time_series.fits == ()
    assert {"posterior", "health", "learning"} <= set(seen.reasons)
    assert any("flatter" in message for message in found.messages)
    swapped = fsrs_opt.evaluate(data / "sample.csv", parameters=sample.new, against=DEFAULTS)
    assert swapped.evaluation.verdict.gain.mean == pytest.approx(-seen.verdict.gain.mean)
    assert swapped.evaluation.verdict.decision == "keep"


def test_without_splits_nothing_is_held_out(data: Path) -> None:
    found = fsrs_opt.evaluate(data / "sample.csv", splits=0)
    assert set(found.evaluation.held_out.values()) == {None}
    assert found.evaluation.reasons["held_out"] == "no splits were asked for"
    assert found.evaluation.verdict.basis == "in-sample"


def test_the_number_of_splits_is_as_asked(data: Path) -> None:
    found = fsrs_opt.evaluate(data / "sample.csv", splits=3)
    n = len(found.data)
    assert [one.n_train for one in found.evaluation.time_series.fits] == [n // 4, n // 4 * 2, n // 4 * 3]


def test_bad_parameters_are_refused(data: Path) -> None:
    with pytest.raises(UsageError, match="21 parameters"):
        fsrs_opt.evaluate(data / "sample.csv", against=[1.0, 2.0])


def test_desired_retention_of_deck_and_preset(data: Path) -> None:
    collection = read(data / "sample.colpkg")
    cards = collection.cards.to_pandas()
    ids = cards["card_id"].to_numpy()
    retention, scheduled = schedule(collection, np.append(ids, ids.max() + 1))
    decks = {deck.id: deck for deck in collection.decks.values()}
    for card, its_own in zip(cards.itertuples(), retention, strict=False):
        deck = decks[card.deck_id]
        expected = deck.desired_retention or collection.presets[deck.preset_id].desired_retention
        assert its_own == pytest.approx(expected)
    assert len(set(retention.round(6))) > 2
    np.testing.assert_array_equal(scheduled[:-1], ~cards["suspended"].to_numpy(dtype=bool))
    assert not scheduled[-1]  # deleted


def test_a_table_schedules_all_its_cards(data: Path) -> None:
    retention, scheduled = schedule(read(data / "sample.csv"), np.arange(3))
    np.testing.assert_array_equal(retention, 0.9)
    assert scheduled.all()

"""The whole evaluation, and the collections that leave parts of it undefined."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from fsrs_opt.evaluation import metrics
from fsrs_opt.evaluation.evaluation import MODELS, Evaluation, evaluation
from fsrs_opt.evaluation.score import predict_items, score
from fsrs_opt.evaluation.time_series import no_time_series, time_series
from fsrs_opt.evaluation.uncertainty import posterior
from fsrs_opt.evaluation.verdict import held_out_verdict
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews.history import Histories, subset
from fsrs_opt.training.data import training_set
from fsrs_opt.training.fit import fit
from tests.evaluation.made_up import FAR_FROM_DEFAULTS, schedule, simulate
from tests.logs import history_of


def evaluate(h: Histories, *, n_splits: int = 5) -> Evaluation:
    data = training_set(h)
    fitted = fit(data)
    series = time_series(data, fit, n_splits=n_splits) if n_splits else no_time_series(len(data))
    verdict = held_out_verdict(series, rung=fitted.rung, in_sample_gain=0.01, n_items=len(data))
    found = posterior(fitted.parameters, fitted.fisher) if fitted.rung == "all" else None
    predictions = {
        name: predict_items(data, w) for name, w in (("default", DEFAULTS), ("new", fitted.parameters))
    }
    return evaluation(data, predictions, series, verdict, found)


@pytest.fixture(scope="module")
def full() -> Evaluation:
    return evaluate(simulate(schedule(150, 3), FAR_FROM_DEFAULTS, 3))


def test_every_model_is_judged_in_sample_and_held_out(full: Evaluation) -> None:
    for judged in (full.in_sample, full.held_out):
        assert set(judged) == set(MODELS)
        assert [name for name, one in judged.items() if one is None] == ["current"]
    assert set(full.reasons) == {"current"}
    assert full.in_sample["new"].scores.log_loss < full.in_sample["default"].scores.log_loss
    assert full.in_sample["constant"].scores.auc == 0.5
    assert full.in_sample["constant"].calibration.ici == pytest.approx(0, abs=1e-9)


def test_held_out_figures_are_those_of_the_pooled_predictions(full: Evaluation) -> None:
    series = full.time_series
    for name, predictions in series.predictions.items():
        expected = metrics.log_loss(series.label, predictions)
        assert full.held_out[name].scores.log_loss == expected
        assert full.held_out[name].calibration.reliability.count.sum() == series.n_held_out
    # the recency weights are those among all items, so that the newest count four times the oldest
    weights = 0.25 + 0.75 * (np.arange(full.health.n_items) / (full.health.n_items - 1)) ** 3
    held_out = weights[series.first :]
    expected = metrics.log_loss(series.label, series.predictions["new"], held_out)
    assert full.held_out["new"].scores.log_loss_recency == pytest.approx(expected)


def test_universal_metric_is_both_ways(full: Evaluation) -> None:
    series = full.time_series
    assert set(full.universal) == {("new", "default"), ("new", "constant"), ("new", "sm2")}
    new, default = series.predictions["new"], series.predictions["default"]
    assert full.universal["new", "default"] == metrics.universal_metric(new, default, series.label)


def test_health_is_judged_on_the_held_out_figures(full: Evaluation) -> None:
    assert full.health.log_loss == full.held_out["new"].scores.log_loss
    assert full.health.rmse_bins == full.held_out["new"].scores.rmse_bins
    assert full.health.healthy is not None


def test_the_rest_is_there(full: Evaluation) -> None:
    assert full.posterior.effective_parameters > 1
    assert len(full.forgetting) == 4
    assert full.learning.optimize_after > 0


def everything(value: object) -> list[object]:
    """All plain values inside an evaluation."""
    if dataclasses.is_dataclass(value):
        return [x for field in dataclasses.fields(value) for x in everything(getattr(value, field.name))]
    if isinstance(value, dict):
        return [x for each in value.values() for x in everything(each)]
    if isinstance(value, tuple | list):
        return [x for each in value for x in everything(each)]
    return [value]


def one_outcome(rating: int) -> Histories:
    h = schedule(60, 4)
    return replace(h, rating=np.where(h.delta_t > 0, rating, h.rating).astype(np.int8))


def few_items(n: int) -> Histories:
    return history_of(*[[(3, 0), (1 + 2 * (k % 3 > 0), 1 + k % 4)] for k in range(n)])


ODD = {
    "all recalled": lambda: one_outcome(3),
    "all forgotten": lambda: one_outcome(1),
    "one card": lambda: subset(schedule(1, 5), np.array([True])),
    "one card with many reviews": lambda: schedule(1, 5, n_reviews=200),
    "one item": lambda: few_items(1),
    "ten items": lambda: few_items(10),
    "70 items, one later review each": lambda: few_items(70),
    "one first rating": lambda: replace(
        schedule(60, 6), rating=np.where(np.arange(420) % 7 == 0, 3, schedule(60, 6).rating).astype(np.int8)
    ),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("n_splits", [0, 5])
def test_odd_collections_leave_figures_undefined_and_say_why(name: str, n_splits: int) -> None:
    found = evaluate(ODD[name](), n_splits=n_splits)
    assert found.verdict.decision in ("keep", "not enough data", "change")
    if found.time_series.n_held_out == 0:
        assert found.reasons["held_out"]
        assert found.verdict.decision == "not enough data"
    assert (found.health.healthy is None) == ("health" in found.reasons)
    assert (found.learning.b is None) == ("learning" in found.reasons)
    if found.in_sample["new"].scores.auc is None:
        assert "all recalled or all forgotten" in found.reasons["auc"]
    for value in everything(found):
        assert not (isinstance(value, float) and np.isnan(value))


def test_all_recalled_has_no_auc_and_no_health_but_a_log_loss() -> None:
    found = evaluate(one_outcome(3))
    new = found.held_out["new"]
    assert new.scores.auc is None
    assert new.scores.log_loss < 0.1
    assert found.health.healthy is None
    assert found.verdict.decision == "not enough data"
    assert new.calibration.actual == 1


def test_scores_of_no_items_are_undefined(full: Evaluation) -> None:
    data = training_set(schedule(1, 1, n_reviews=1))
    assert set(dataclasses.asdict(score(data, np.zeros(0))).values()) == {None}

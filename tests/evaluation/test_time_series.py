"""Held-out predictions: who predicts what, from what, and that nothing of the future gets in."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import fsrs_rs_python as fsrs_rs
import numpy as np
import pytest

from fsrs_opt.evaluation import metrics
from fsrs_opt.evaluation.evaluation import held_out_items
from fsrs_opt.evaluation.score import predict_items, score
from fsrs_opt.evaluation.sm2 import sm2_retrievability
from fsrs_opt.evaluation.time_series import TimeSeries, time_series
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews.items import select
from fsrs_opt.reviews.splits import time_series_splits
from fsrs_opt.training.data import TrainingSet, training_set
from fsrs_opt.training.fit import FitResult, fit
from tests.evaluation.made_up import FAR_FROM_DEFAULTS, schedule, simulate
from tests.logs import fsrs_rs_items, real_log


@pytest.fixture(scope="module")
def data() -> TrainingSet:
    return training_set(simulate(schedule(120, 1), FAR_FROM_DEFAULTS, 1))


@pytest.fixture(scope="module")
def series(data: TrainingSet) -> TimeSeries:
    return time_series(data, fit, current=np.full(len(data), 0.8))


def test_each_split_trains_on_what_came_before(data: TrainingSet, series: TimeSeries) -> None:
    splits = time_series_splits(len(data), 5)
    assert [one.n_train for one in series.fits] == [train.stop for train, _ in splits]
    assert series.n_held_out == len(data) - splits[0][0].stop
    for k, (train, test) in enumerate(splits):
        mine = series.split == k
        alone = fit(training_set(data.histories, select(data.items, train))).parameters
        np.testing.assert_array_equal(series.fits[k].parameters, alone)
        expected = predict_items(data, alone)[test]
        np.testing.assert_array_equal(series.predictions["new"][mine], expected)
        np.testing.assert_array_equal(series.of_fit[k, mine], expected)
        np.testing.assert_array_equal(series.label[mine], data.items.label[test])
        np.testing.assert_array_equal(series.card[mine], data.items.card[test])


def test_the_baselines(data: TrainingSet, series: TimeSeries) -> None:
    held_out = slice(series.first, None)
    np.testing.assert_array_equal(series.predictions["default"], predict_items(data, DEFAULTS)[held_out])
    np.testing.assert_array_equal(series.predictions["current"], 0.8)
    sm2 = sm2_retrievability(data.histories)[data.items.review]
    np.testing.assert_array_equal(series.predictions["sm2"], sm2[held_out])
    for k, (train, _) in enumerate(time_series_splits(len(data), 5)):
        mean = data.items.label[train].mean()
        np.testing.assert_allclose(series.predictions["constant"][series.split == k], mean)


def test_the_future_has_no_say(data: TrainingSet, series: TimeSeries) -> None:
    """Other outcomes in the last segment leave the predictions of all earlier ones, and their fits, alone."""
    last = data.items.review[series.first :][series.split == 4]
    rating = data.histories.rating.copy()
    rating[last] = np.where(rating[last] == 1, 3, 1)
    other = time_series(training_set(replace(data.histories, rating=rating)), fit)
    before = series.split < 4
    for name in ("new", "default", "constant", "sm2"):
        np.testing.assert_array_equal(other.predictions[name][before], series.predictions[name][before])
    for one, same in zip(series.fits, other.fits, strict=True):
        np.testing.assert_array_equal(one.parameters, same.parameters)


def test_several_processes_give_the_same(data: TrainingSet, series: TimeSeries) -> None:
    found = time_series(data, partial(fit, relearning_steps=1), workers=2)
    np.testing.assert_array_equal(found.predictions["new"], series.predictions["new"])


def test_fixed_parameters_are_not_fitted(data: TrainingSet) -> None:
    def never(_: TrainingSet) -> FitResult:
        raise AssertionError

    found = time_series(data, never, fixed=FAR_FROM_DEFAULTS)
    assert found.fits == ()
    assert found.of_fit.shape == (0, found.n_held_out)
    np.testing.assert_array_equal(
        found.predictions["new"], predict_items(data, FAR_FROM_DEFAULTS)[found.first :]
    )


@pytest.mark.parametrize("n_splits", [0, 5])
def test_without_splits_nothing_is_held_out(data: TrainingSet, n_splits: int) -> None:
    few = training_set(data.histories, select(data.items, slice(0, 5 if n_splits else None)))
    found = time_series(few, fit, n_splits=n_splits)
    assert found.n_held_out == 0
    assert found.first == len(few)
    assert found.predictions == {}
    assert len(held_out_items(few, found)) == 0


def test_progress_goes_to_the_end(data: TrainingSet) -> None:
    shares: list[float] = []
    time_series(data, fit, n_splits=3, progress=shares.append)
    assert shares == pytest.approx([1 / 6, 1 / 2, 1])


@pytest.mark.parametrize("name", ["real28", "real21"])
def test_pooled_figures_of_fsrs_rs(shared_real: Path, name: str) -> None:
    """With fsrs-rs's own parameters in each split the pooled figures are those of its time-series splits."""
    h = real_log(shared_real, name)
    data = training_set(h)
    items, _ = fsrs_rs_items(fsrs_rs, h)
    theirs = fsrs_rs.evaluate_with_time_series_splits(items)

    def fitter(part: TrainingSet) -> FitResult:
        w = fsrs_rs.FSRS(list(fsrs_rs.DEFAULT_PARAMETERS)).compute_parameters(items[: len(part)])
        return replace(fit(select_few(part)), parameters=np.array(w))

    found = time_series(data, fitter)
    ours = score(held_out_items(data, found), found.predictions["new"])
    assert ours.log_loss == pytest.approx(theirs.log_loss, abs=1e-4)
    assert ours.rmse_bins == pytest.approx(theirs.rmse_bins, abs=1e-4)


def select_few(data: TrainingSet) -> TrainingSet:
    return training_set(data.histories, select(data.items, slice(0, 5)))


def test_in_sample_figures_of_fsrs_rs(shared_real: Path) -> None:
    h = real_log(shared_real, "real21")
    data = training_set(h)
    items, _ = fsrs_rs_items(fsrs_rs, h)
    for w in (DEFAULTS, FAR_FROM_DEFAULTS):
        theirs = fsrs_rs.FSRS(w.tolist()).evaluate(items)
        ours = score(data, predict_items(data, w))
        assert ours.log_loss_recency == pytest.approx(theirs.log_loss, abs=1e-4)
        assert ours.rmse_bins_recency == pytest.approx(theirs.rmse_bins, abs=1e-4)
    assert metrics.log_loss(data.items.label, predict_items(data, DEFAULTS)) is not None

"""Reliability curve, ICI and ECE by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fsrs_opt.evaluation.calibration import calibration, reliability, wilson
from fsrs_opt.evaluation.metrics import log_loss, rmse_bins


def test_bins_hold_equal_numbers_in_the_order_of_the_predictions():
    r = np.array([0.9, 0.1, 0.5, 0.7])
    curve = reliability(np.array([1, 0, 1, 0]), r, n_bins=2)
    np.testing.assert_array_equal(curve.count, [2, 2])
    np.testing.assert_allclose(curve.predicted, [0.3, 0.8])
    np.testing.assert_allclose(curve.actual, [0.5, 0.5])
    np.testing.assert_allclose(curve.lowest, [0.1, 0.7])
    np.testing.assert_allclose(curve.highest, [0.5, 0.9])


def test_equal_predictions_share_a_bin():
    curve = reliability(np.array([1, 1, 0, 1, 0]), np.array([0.8, 0.8, 0.8, 0.8, 0.9]), n_bins=5)
    np.testing.assert_array_equal(curve.count, [4, 1])
    np.testing.assert_allclose(curve.actual, [0.75, 0])


def test_every_item_is_in_a_bin():
    rng = np.random.default_rng(1)
    curve = reliability(rng.random(1003) < 0.9, rng.random(1003).round(2))
    assert curve.count.sum() == 1003
    assert len(curve.count) <= 20
    assert (np.diff(curve.predicted) > 0).all()
    assert (curve.low <= curve.actual).all()
    assert (curve.actual <= curve.high).all()


def test_wilson_interval():
    # 8 of 10 at 95 %: 0.4902 to 0.9433 (Wilson score interval, Newcombe 1998)
    low, high = wilson(np.array([0.8]), np.array([10]), level=0.95)
    assert (low[0], high[0]) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    low, high = wilson(np.array([1.0]), np.array([5]))
    assert high[0] == 1
    assert low[0] < 0.7


def test_expected_calibration_error_by_hand():
    # one bin for each of the two predictions: 3/5 of |0.9 - 2/3| and 2/5 of |0.4 - 1/2|
    found = calibration(np.array([1, 1, 0, 1, 0]), np.array([0.9, 0.9, 0.9, 0.4, 0.4]))
    assert found.ece == pytest.approx(0.6 * (0.9 - 2 / 3) + 0.4 * 0.1)
    assert (found.predicted, found.actual) == pytest.approx((0.7, 0.6))


def test_integrated_calibration_index_of_a_shift():
    # outcomes at 0.8 along the whole line, predictions from 0.6 to 0.8: off by 0.1 on average
    r = np.repeat(np.linspace(0.6, 0.8, 41), 50)
    labels = np.tile([1, 1, 1, 1, 0], 410)
    assert calibration(labels, r).ici == pytest.approx(0.1, abs=1e-9)


def test_without_items_everything_is_undefined():
    found = calibration(np.array([]), np.array([]))
    assert (found.ici, found.ece, found.predicted, found.actual) == (None,) * 4
    assert len(found.reliability.count) == 0


def test_rmse_bins_can_be_zero_for_opposite_predictions_and_log_loss_cannot():
    """The pitfall of docs/evaluation.md: both cards are in one bin, the predictions the wrong way round."""
    labels, right, wrong = np.array([1, 0]), np.array([0.9, 0.1]), np.array([0.1, 0.9])
    same_bin = (np.array([5, 5]), np.array([3, 3]), np.array([0, 0]))
    for predictions in (right, wrong):
        assert rmse_bins(labels, predictions, *same_bin) == pytest.approx(0, abs=1e-12)
    assert log_loss(labels, right) == pytest.approx(0.1054, abs=1e-4)
    assert log_loss(labels, wrong) == pytest.approx(2.3026, abs=1e-4)

from __future__ import annotations

import numpy as np

from fsrs_opt.evaluation.calibration import calibration
from fsrs_opt.report.pictures.calibration import SMALLEST_BIN, coarser


def test_small_bins_are_put_together_without_losing_an_item() -> None:
    rng = np.random.default_rng(3)
    predicted = rng.uniform(0.5, 1, 90)
    label = rng.random(90) < predicted
    fine = calibration(label, predicted)
    coarse = coarser(fine).reliability
    assert len(coarse.count) < len(fine.reliability.count)
    assert coarse.count.min() >= SMALLEST_BIN
    assert coarse.count.sum() == 90
    assert (coarse.count @ coarse.actual) / 90 == np.mean(label)
    np.testing.assert_allclose((coarse.count @ coarse.predicted) / 90, predicted.mean())
    assert coarse.lowest[0] == predicted.min()
    assert coarse.highest[-1] == predicted.max()


def test_large_bins_stay_as_they_are() -> None:
    rng = np.random.default_rng(3)
    predicted = rng.uniform(0.5, 1, 2000)
    fine = calibration(rng.random(2000) < predicted, predicted)
    assert coarser(fine) is fine

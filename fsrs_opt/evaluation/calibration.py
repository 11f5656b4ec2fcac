"""Calibration: does what is predicted at 90 % come true 90 % of the time?"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.local_regression import local_regression

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

N_BINS = 20
LEVEL = 0.9


@dataclass(frozen=True)
class Reliability:
    """Predicted against actual recall, in bins of equal numbers of items; bins ascend by prediction.

    All arrays are [n_bins] (at most 20; equal predictions share a bin; empty without items): count int64
    items; predicted, actual: their mean prediction and the share recalled; low, high: 90 % interval of
    `actual` (Wilson, as if items were independent); lowest, highest: the predictions that the bin spans.
    """

    count: Array
    predicted: FloatArray
    actual: FloatArray
    low: FloatArray
    high: FloatArray
    lowest: FloatArray
    highest: FloatArray


@dataclass(frozen=True)
class Calibration:
    """How well predictions [n_items] agree with what happened, over all items and along the predictions.

    ici: mean distance of the predictions from a smooth curve of the outcomes (integrated calibration index).
    ece: count-weighted mean of |predicted - actual| over the bins (expected calibration error). predicted,
    actual: means over all items. All None where there are no items.
    """

    reliability: Reliability
    ici: float | None
    ece: float | None
    predicted: float | None
    actual: float | None


def calibration(labels: Array, retrievability: Array) -> Calibration:
    """The calibration of predictions `retrievability` [n_items] of outcomes `labels` [n_items]."""
    y, r = np.asarray(labels, dtype=np.float64), np.asarray(retrievability, dtype=np.float64)
    curve = reliability(y, r)
    if not len(y):
        return Calibration(curve, None, None, None, None)
    return Calibration(
        reliability=curve,
        ici=float(np.abs(local_regression(r, y) - r).mean()),
        ece=float((curve.count * np.abs(curve.predicted - curve.actual)).sum() / len(y)),
        predicted=float(r.mean()),
        actual=float(y.mean()),
    )


def reliability(labels: Array, retrievability: Array, n_bins: int = N_BINS) -> Reliability:
    """The reliability curve: item i of n in the order of the predictions belongs to bin `floor(n_bins i /
    n)`, i being the first of those with an equal prediction."""
    y, r = np.asarray(labels, dtype=np.float64), np.asarray(retrievability, dtype=np.float64)
    order = np.argsort(r, kind="stable")
    y, r = y[order], r[order]
    opens = np.ones(len(r), dtype=bool)
    np.not_equal(r[1:], r[:-1], out=opens[1:])
    first = np.flatnonzero(opens)[np.cumsum(opens) - 1] if len(r) else np.zeros(0, dtype=np.int64)
    _, start, count = np.unique(first * n_bins // max(1, len(r)), return_index=True, return_counts=True)
    if not len(r):
        none = np.zeros(0)
        return Reliability(count, none, none, none, none, none, none)
    actual = np.add.reduceat(y, start) / count
    low, high = wilson(actual, count)
    return Reliability(
        count=count,
        predicted=np.add.reduceat(r, start) / count,
        actual=actual,
        low=low,
        high=high,
        lowest=r[start],
        highest=r[start + count - 1],
    )


def wilson(share: FloatArray, count: Array, level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval of a probability of which `share` was seen in `count` trials (Wilson, 1927)."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)

"""Calibration: does what is predicted at 90 % come true 90 % of the time?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reliability:
    """Predicted against actual recall, in bins of equal numbers of items; bins ascend by prediction.

    All arrays are [n_bins] (at most 20; equal predictions share a bin; empty without items): count int64 items;
    predicted, actual: their mean prediction and the share recalled; low, high: 90 % interval of `actual`
    (Wilson, as if items were independent); lowest, highest: the predictions that the bin spans.
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
    """reliability: the curve. ici: mean distance of the predictions from a smooth curve of the outcomes
    (integrated calibration index). ece: count-weighted mean of |predicted - actual| over the bins (expected
    calibration error). predicted, actual: means over all items. None where there are no items."""

    reliability: Reliability
    ici: float | None
    ece: float | None
    predicted: float | None
    actual: float | None

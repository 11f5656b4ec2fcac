"""Items in groups that are large enough to speak of: their mean predictions and the share recalled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.calibration import wilson
from fsrs_opt.report.findings import Predicted

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

SMALLEST_GROUP, SMALLEST_SHARE, ENOUGH = 20, 100, 200
"""A group has at least 20 items and a hundredth of all items, but 200 are always enough."""


@dataclass(frozen=True)
class Groups:
    """All arrays are [n_groups], in the order of the value by which items are grouped.

    lowest, highest: int64, of that value; middle: its mean. count: int64 items. actual: share recalled; low,
    high: its 90 % interval (Wilson); new, other: mean predictions.
    """

    lowest: Array
    highest: Array
    middle: FloatArray
    count: Array
    actual: FloatArray
    low: FloatArray
    high: FloatArray
    new: FloatArray
    other: FloatArray

    def __len__(self) -> int:
        return len(self.count)


def grouped(predicted: Predicted, value: Array, starts: Sequence[int]) -> Groups:
    """Group items by a whole number [n_items], > 0.

    starts: where groups begin, ascending from 1; a group that is too small is put together with the next one
    (the last with the one before).
    """
    n = len(value)
    smallest = min(max(SMALLEST_GROUP, n // SMALLEST_SHARE), ENOUGH, max(1, n))
    place = np.searchsorted(np.asarray(starts), value, side="right") - 1
    sizes = np.bincount(place, minlength=len(starts))
    group_of, group, filled = np.zeros(len(starts), dtype=np.int64), 0, 0
    for k, size in enumerate(sizes.tolist()):
        if filled >= smallest and sizes[k:].sum() >= smallest:
            group, filled = group + 1, 0
        group_of[k] = group
        filled += size
    of_item = group_of[place]
    count = np.bincount(of_item)

    def mean(values: Array) -> FloatArray:
        means: FloatArray = np.bincount(of_item, weights=values) / count
        return means

    order = np.argsort(of_item, kind="stable")
    first = np.cumsum(count) - count
    actual = mean(predicted.label)
    low, high = wilson(actual, count)
    return Groups(
        lowest=np.minimum.reduceat(value[order], first),
        highest=np.maximum.reduceat(value[order], first),
        middle=mean(value),
        count=count,
        actual=actual,
        low=low,
        high=high,
        new=mean(predicted.new),
        other=mean(predicted.other),
    )

"""Time-series splits: fit on the past, predict what came next; the predictions of all splits pooled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SplitFit:
    """The fit of one split: parameters [21], items trained on and tested on, rung of the ladder."""

    parameters: FloatArray
    n_train: int
    n_test: int
    rung: str


@dataclass(frozen=True)
class TimeSeries:
    """Held-out predictions of items `first`..n_items - 1 of the training set (time order), n_held_out in all.

    fits: one for each split, oldest first. split: int8 [n_held_out], which split tests the item, 0-based.
    label: bool [n_held_out]. card: int64 [n_held_out], index of the card in the histories.
    predictions: float64 [n_held_out] by model: "new" (fitted to the items before the split's test part),
    "default", "constant" (mean recall of the items before), "sm2", and "current" where one is in use.
    of_fit: float64 [n_splits, n_held_out], what each split's parameters predict for every held-out item, also
    for those that they were fitted to (use only what lies after: split >= row).
    Empty (no fits, arrays of length 0) when there are too few items for a split, or none were asked for.
    """

    fits: tuple[SplitFit, ...]
    first: int
    split: Array
    label: Array
    card: Array
    predictions: dict[str, FloatArray]
    of_fit: FloatArray

    @property
    def n_held_out(self) -> int:
        return len(self.label)

"""Time-series splits: fit on the past, predict what came next; the predictions of all splits pooled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.score import all_reviews, predict_items
from fsrs_opt.evaluation.sm2 import sm2_retrievability
from fsrs_opt.evaluation.workers import each
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews.items import select
from fsrs_opt.reviews.splits import time_series_splits
from fsrs_opt.training.data import TrainingSet, training_set
from fsrs_opt.training.fit import FitResult

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

Fitter = Callable[[TrainingSet], FitResult]
"""How a split is fitted: `fit` with its options, e.g. `functools.partial(fit, relearning_steps=2)`. It must
be picklable where several processes are used."""

Fraction = Callable[[float], None]
"""Called with the share of the work that is done, 0 to 1; whatever it raises ends the work."""

N_SPLITS = 5


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

    fits: one for each split, oldest first; empty where nothing was retrained. split: int8 [n_held_out], which
    split tests the item, 0-based. label: bool [n_held_out]. card: int64 [n_held_out], index of the card in
    the histories. predictions: float64 [n_held_out] by model: "new" (fitted to the items before the split's
    test part), "default", "constant" (mean recall of the items before), "sm2", and "current" where one is in
    use. of_fit: float64 [n_splits, n_held_out], what each split's parameters predict for every held-out item,
    also for those that they were fitted to (only what has split >= row is held out from it). Without held-out
    items all of it is empty.
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


def time_series(
    data: TrainingSet,
    fitter: Fitter,
    *,
    n_splits: int = N_SPLITS,
    fixed: FloatArray | None = None,
    current: FloatArray | None = None,
    default: FloatArray | None = None,
    batch: WindowedBatch | None = None,
    workers: int | None = None,
    progress: Fraction | None = None,
) -> TimeSeries:
    """Held-out predictions of a training set; `reviews.splits` says what is trained and tested on.

    n_splits: 0 for none. fixed: parameters [21] to take for "new" in every split, without any fit.
    current: what the parameters in use predict for all items [n_items], None where there are none. default:
    the same of the default parameters, where it is at hand already.
    batch: all reviews (`score.all_reviews`), where it is at hand already. workers: processes to fit in; None
    takes several only where the log is large enough for it to pay.
    """
    splits = time_series_splits(len(data), n_splits) if n_splits else []
    if not splits:
        return no_time_series(len(data))
    first = splits[0][1].start
    batch = all_reviews(data) if batch is None else batch
    split = np.repeat(np.arange(len(splits), dtype=np.int8), [test.stop - test.start for _, test in splits])

    fits: tuple[SplitFit, ...] = ()
    of_fit = np.zeros((0, len(split)))
    if fixed is None:
        tasks = [(data, fitter, train.stop, test.stop - test.start) for train, test in splits]
        work = [float(train.stop) for train, _ in splits]
        if batch.packed is not None and workers is None:
            workers = 1  # the native kernel is on all cores already
        fits = tuple(
            each(_fit_split, tasks, work, size=data.histories.n_reviews, workers=workers, done=progress)
        )
        of_fit = np.stack([predict_items(data, one.parameters, batch=batch)[first:] for one in fits])
        new = of_fit[split, np.arange(len(split))]
    else:
        new = predict_items(data, fixed, batch=batch)[first:]
    recalled_before = np.cumsum(data.items.label, dtype=np.float64)
    mean_before = np.array([recalled_before[train.stop - 1] / train.stop for train, _ in splits])
    default = predict_items(data, DEFAULTS, batch=batch) if default is None else default
    predictions = {
        "new": new,
        "default": default[first:],
        "constant": mean_before[split],
        "sm2": sm2_retrievability(data.histories)[data.items.review[first:]],
    }
    if current is not None:
        predictions["current"] = current[first:]
    return TimeSeries(
        fits=fits,
        first=first,
        split=split,
        label=data.items.label[first:],
        card=data.items.card[first:],
        predictions=predictions,
        of_fit=of_fit,
    )


def no_time_series(n_items: int) -> TimeSeries:
    """What there is without splits: no held-out items."""
    none = np.zeros(0, dtype=np.int64)
    return TimeSeries((), n_items, none.astype(np.int8), none.astype(bool), none, {}, np.zeros((0, 0)))


def _fit_split(data: TrainingSet, fitter: Fitter, n_train: int, n_test: int) -> SplitFit:
    """Fit the first `n_train` items. Weights and filter are those of a set that ends there."""
    fitted = fitter(training_set(data.histories, select(data.items, slice(0, n_train))))
    return SplitFit(fitted.parameters, n_train, n_test, fitted.rung)

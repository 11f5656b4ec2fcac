"""How good predictions of recall are: log loss, RMSE(bins), AUC and the universal metric.

All take labels [n_items] (recalled or not) and retrievability [n_items] (the predicted probability of
recall), in any numeric dtype, and compute in float64. What is undefined (no items, one class) is None, never
NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

R_MIN = 1e-7
"""Retrievability is kept this far from 0 and 1 before a logarithm is taken."""

# The bases of the bins of RMSE(bins), those of FSRS-Optimizer and fsrs-rs.
_DELTA_T_BASE, _COUNT_BASE, _LAPSES_BASE = 3.62, 1.89, 1.73

_UNIVERSAL_BINS = 20


def log_loss(labels: Array, retrievability: Array, weights: Array | None = None) -> float | None:
    """Mean binary cross-entropy in nats; with weights [n_items] their weighted mean."""
    y, r, w = _floats(labels, retrievability, weights)
    return mean_loss(item_losses(y, r), w)


def item_losses(labels: Array, retrievability: Array) -> Floats:
    """Binary cross-entropy of each prediction [n_items], nats."""
    r = np.clip(np.asarray(retrievability, dtype=np.float64), R_MIN, 1 - R_MIN)
    losses: Floats = -np.log(r)
    forgotten = np.logical_not(labels)
    losses[forgotten] = -np.log1p(-r[forgotten])
    return losses


def mean_loss(losses: Floats, weights: Array | None = None) -> float | None:
    """Mean of losses [n_items], with weights [n_items] their weighted mean."""
    w = np.ones(len(losses)) if weights is None else weights
    total = w.sum()
    return float(np.sum(w * losses) / total) if total > 0 else None


def bins(delta_t: Array, long_term_count: Array, lapses: Array) -> npt.NDArray[np.int64]:
    """The bin of each item, int64 [n_items]: equal numbers for equal bin triples.

    delta_t: days, > 0. long_term_count: > 0. lapses: >= 0. The field writes the triple as representative
    values: `round(2.48 * 3.62^floor(log_3.62(delta_t)), 2)`, `round(1.99 * 1.89^floor(log_1.89(count + 1)))`,
    and 0 or `round(1.65 * 1.73^floor(log_1.73(lapses)))`. Different exponents never round to the same value,
    so the exponents alone say which items belong together.
    """
    of_delta_t = _exponent(np.asarray(delta_t), _DELTA_T_BASE)
    of_count = _exponent(np.asarray(long_term_count) + 1, _COUNT_BASE)
    some = np.asarray(lapses)
    of_lapses = np.where(some > 0, 1 + _exponent(np.maximum(some, 1), _LAPSES_BASE), 0)
    if not len(of_lapses):
        return of_lapses
    # numbered as closely as can be: they are counted, which is quicker than sorting
    n_counts, n_lapses = int(of_count.max()) + 1, int(of_lapses.max()) + 1
    return (of_delta_t * n_counts + of_count) * n_lapses + of_lapses


def rmse_bins(
    labels: Array,
    retrievability: Array,
    delta_t: Array,
    long_term_count: Array,
    lapses: Array,
    weights: Array | None = None,
) -> float | None:
    """RMSE(bins): root of the weighted mean over `bins` of (mean prediction - mean outcome)^2.

    A bin weighs as much as the sum of its items' weights (their number without weights). Its two means are
    unweighted in both cases, as in fsrs-rs's evaluation with recency weights.
    """
    return rmse_in_bins(labels, retrievability, bins(delta_t, long_term_count, lapses), weights)


def rmse_in_bins(
    labels: Array, retrievability: Array, bin_of: Array, weights: Array | None = None
) -> float | None:
    """The same with the bins [n_items] at hand (see `bins`)."""
    y, r, w = _floats(labels, retrievability, weights)
    return _binned_rmse(bin_of, y, r, w)


def auc(labels: Array, retrievability: Array) -> float | None:
    """Area under the ROC curve: how often a recalled item has the higher retrievability of a recalled and a
    forgotten one, ties counting half. None with one class only."""
    y, r, _ = _floats(labels, retrievability, None)
    recalled, forgotten = np.sort(r[y > 0.5]), np.sort(r[y <= 0.5])
    if not len(recalled) or not len(forgotten):
        return None
    below = sum(int(np.searchsorted(recalled, forgotten, side).sum()) for side in ("left", "right"))
    pairs = len(recalled) * len(forgotten)
    return (pairs - below / 2) / pairs


def universal_metric(a: Array, b: Array, labels: Array) -> tuple[float, float] | None:
    """Compare two predictions of the same items: (A judged in B's bins, B in A's bins), the lower the better.

    A good model is right on average wherever the other one sees a difference: items are grouped by the
    other's prediction x into 20 bins, `clamp(floor(21^x) - 1, 0, 19)`, and the figure is the root of the
    count-weighted mean of (mean prediction - mean outcome)^2.
    """
    y, of_a, _ = _floats(labels, a, None)
    _, of_b, ones = _floats(labels, b, None)
    a_by_b = _binned_rmse(_universal_bin(of_b), y, of_a, ones)
    b_by_a = _binned_rmse(_universal_bin(of_a), y, of_b, ones)
    return None if a_by_b is None or b_by_a is None else (a_by_b, b_by_a)


def _floats(labels: Array, retrievability: Array, weights: Array | None) -> tuple[Floats, Floats, Floats]:
    y = np.asarray(labels, dtype=np.float64)
    r = np.asarray(retrievability, dtype=np.float64)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not y.shape == r.shape == w.shape:
        raise ValueError(f"labels {y.shape}, retrievability {r.shape} and weights {w.shape} differ in shape")
    return y, r, w


def _exponent(values: Array, base: float) -> npt.NDArray[np.int64]:
    exponent: npt.NDArray[np.int64] = np.floor(np.log(values) / np.log(base)).astype(np.int64)
    return exponent


def _universal_bin(prediction: Floats) -> npt.NDArray[np.int64]:
    raw = np.floor(np.power(_UNIVERSAL_BINS + 1.0, prediction)).astype(np.int64) - 1
    return np.clip(raw, 0, _UNIVERSAL_BINS - 1)


def _binned_rmse(bin_of: Array, y: Floats, r: Floats, w: Floats) -> float | None:
    """Root of the mean over bins of (mean r - mean y)^2, bins weighted by the sum of w, None if that is 0."""
    if not w.sum() > 0:
        return None
    count = np.bincount(bin_of)
    there = np.flatnonzero(count)
    weight = np.bincount(bin_of, weights=w)[there]
    error = np.bincount(bin_of, weights=r - y)[there] / count[there]
    return float(np.sqrt(np.sum(weight * error**2) / weight.sum()))

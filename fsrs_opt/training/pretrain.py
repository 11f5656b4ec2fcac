"""The pretrain stage: initial stabilities w0..w3 from the first long-term review of each card."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.model.kernel import choose
from fsrs_opt.model.parameters import DEFAULTS, INITIAL_S_MAX, S_MIN
from fsrs_opt.training.data import TrainingSet

FloatArray = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

# How the field's population interpolates between the four initial stabilities (source: FSRS-Optimizer)
A, B = 0.41, 0.54

_FIRST_OF_RATING = np.arange(1, 6) << 32
_PAIRS = ((1, 2), (2, 3), (3, 4), (1, 3), (2, 4), (1, 4))


@dataclass(frozen=True)
class FirstReviews:
    """First long-term reviews of one first rating: per delta_t [days] the recall and the count."""

    delta_t: FloatArray
    recall: FloatArray
    count: FloatArray

    @property
    def n_items(self) -> int:
        return int(self.count.sum())


@dataclass(frozen=True)
class Pretrained:
    """initial_stability [4] (days), and per first rating: number of items, and whether it was fitted
    from items of its own (else filled from the others)."""

    initial_stability: FloatArray
    n_items: tuple[int, int, int, int]
    fitted: tuple[bool, bool, bool, bool]


def first_reviews(data: TrainingSet) -> dict[int, FirstReviews]:
    """The kept items with a long-term count of 1, per first rating that has any."""
    chosen = data.items
    here = np.flatnonzero(data.kept & (chosen.long_term_count == 1))
    if not len(here):
        return {}
    key = chosen.first_rating[here].astype(np.int64) << 33
    key |= chosen.delta_t[here].astype(np.int64) << 1
    key |= chosen.label[here] > 0
    key.sort()
    group = key >> 1
    last = np.append(np.flatnonzero(group[1:] != group[:-1]), len(group) - 1)  # of each group
    groups = group[last]
    count, recalled = last + 1.0, np.cumsum(key & 1)[last].astype(np.float64)  # up to there
    count[1:] -= count[:-1].copy()
    recalled[1:] -= recalled[:-1].copy()
    recall = recalled / count
    delta_t = (groups & 0xFFFFFFFF).astype(np.float64)
    bounds = np.searchsorted(groups, _FIRST_OF_RATING).tolist()
    return {
        rating: FirstReviews(delta_t[mine], recall[mine], count[mine])
        for rating in range(1, 5)
        if (mine := slice(bounds[rating - 1], bounds[rating])).start < mine.stop
    }


def fit_initial_stability(reviews: FirstReviews, average_recall: float, default: float) -> float:
    """The S0 in [0.001, 100] that explains one first rating's reviews best.

    Minimizes `sum(n BCE(recall, R(delta_t, S0))) + |S0 - default| / 16` with the recall smoothed towards
    the average (Laplace: one review more of average recall). Beside the kink of its second term the sum can
    have a valley; a grid that closes in finds the lower of the two. (native/pretrain.cpp finds the same by
    Newton's method on the side of the kink that the minimum lies on.)
    """
    recall = (reviews.recall * reviews.count + average_recall) / (reviews.count + 1)
    decay = -DEFAULTS[20]
    factor = math.expm1(math.log(0.9) / decay)

    def penalty(s0: FloatArray) -> FloatArray:
        ln_r = decay * np.log1p(factor * reviews.delta_t / s0[:, None])
        r = np.clip(np.exp(ln_r), 1e-12, 1 - 1e-12)
        bce = -(recall * np.log(r) + (1 - recall) * np.log1p(-r))
        total: FloatArray = bce @ reviews.count + np.abs(s0 - default) / 16
        return total

    low, high = math.log(S_MIN), math.log(INITIAL_S_MAX)
    best = low
    for _ in range(8):
        grid = np.linspace(low, high, 65)
        best = float(grid[np.argmin(penalty(np.exp(grid)))])
        width = (high - low) / 32
        low = max(math.log(S_MIN), best - width)
        high = min(math.log(INITIAL_S_MAX), best + width)
    found = min(max(math.exp(best), S_MIN), INITIAL_S_MAX)
    at_found, at_default = penalty(np.array([found, default]))
    return default if at_default <= at_found else found


def fill(known: Mapping[int, float], count: Mapping[int, int]) -> FloatArray:
    """Four initial stabilities from those that have data: put in order, missing ones filled in, [4].

    known: stability by first rating (1..4), at least one. count: number of items behind each.
    """
    s = dict(known)
    for lower, upper in _PAIRS:
        if lower in s and upper in s and s[lower] > s[upper]:
            if count[lower] <= count[upper]:
                s[lower] = s[upper]
            else:
                s[upper] = s[lower]
    _fill_missing(s)
    filled = [min(max(s[rating], S_MIN), INITIAL_S_MAX) for rating in range(1, 5)]
    if filled == sorted(filled):
        return np.array(filled)
    weights = [float(count.get(rating, 0)) if rating in known else 0.0 for rating in range(1, 5)]
    return np.clip(np.exp(_isotonic(np.log(filled), weights)), S_MIN, INITIAL_S_MAX)


def _fill_missing(s: dict[int, float]) -> None:
    known = tuple(sorted(s))
    if len(known) == 1:
        scale = s[known[0]] / float(DEFAULTS[known[0] - 1])
        s.update({rating: scale * float(DEFAULTS[rating - 1]) for rating in range(1, 5) if rating not in s})
        return
    if known == (1, 4):
        total = A + B - A * B
        c, e = A / total, B / total
        s[2] = s[1] ** c * s[4] ** (1 - c)
        s[3] = s[1] ** (1 - e) * s[4] ** e
        return
    # Three neighbours S1 S2 S3 are tied by S2 = S1^A S3^(1-A), S2 S3 S4 by S3 = S2^(1-B) S4^B.
    # Each pass fills what one tie gives; two passes reach everything.
    for _ in range(2):
        if 3 not in s and 2 in s and 4 in s:
            s[3] = s[2] ** (1 - B) * s[4] ** B
        if 2 not in s and 1 in s and 3 in s:
            s[2] = s[1] ** A * s[3] ** (1 - A)
        if 2 not in s and 3 in s and 4 in s:
            s[2] = s[3] ** (1 / (1 - B)) * s[4] ** (1 - 1 / (1 - B))
        if 3 not in s and 1 in s and 2 in s:
            s[3] = s[1] ** (1 - 1 / (1 - A)) * s[2] ** (1 / (1 - A))
        if 1 not in s and 2 in s and 3 in s:
            s[1] = s[2] ** (1 / A) * s[3] ** (1 - 1 / A)
        if 4 not in s and 2 in s and 3 in s:
            s[4] = s[2] ** (1 - 1 / B) * s[3] ** (1 / B)


def _isotonic(values: FloatArray, weights: list[float]) -> FloatArray:
    """Non-decreasing values closest to `values` in the weighted squares (pool adjacent violators).

    A value of weight 0 yields to its neighbours.
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, length
    for value, weight in zip(values.tolist(), weights, strict=True):
        pools.append((value, max(weight, 1e-9), 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (m1, w1, n1), (m2, w2, n2) = pools[-2:]
            pools[-2:] = [((m1 * w1 + m2 * w2) / (w1 + w2), w1 + w2, n1 + n2)]
    return np.repeat([mean for mean, _, _ in pools], [length for _, _, length in pools])


def pretrain(data: TrainingSet, *, kernel: str | None = None) -> Pretrained | None:
    """Initial stabilities of a training set, or None when the outlier filter leaves no first review.

    kernel: see `kernel.choose`.
    """
    fit_each = _fit_each_compiled if choose(kernel) == "native" else _fit_each
    known, count = fit_each(data)
    if not known:
        return None
    n1, n2, n3, n4 = (count.get(rating, 0) for rating in range(1, 5))
    return Pretrained(
        initial_stability=fill(known, count),
        n_items=(n1, n2, n3, n4),
        fitted=(1 in known, 2 in known, 3 in known, 4 in known),
    )


def _fit_each(data: TrainingSet) -> tuple[dict[int, float], dict[int, int]]:
    """Stability and number of items of each first rating that has any."""
    found = first_reviews(data)
    if not found:
        return {}, {}
    average_recall = np.count_nonzero(data.items.label & data.kept) / np.count_nonzero(data.kept)
    known = {
        rating: fit_initial_stability(reviews, average_recall, float(DEFAULTS[rating - 1]))
        for rating, reviews in found.items()
    }
    return known, {rating: reviews.n_items for rating, reviews in found.items()}


def _fit_each_compiled(data: TrainingSet) -> tuple[dict[int, float], dict[int, int]]:
    from fsrs_opt.model import native

    stability, n_items = native.initial_stabilities(
        data.kept,
        data.items.long_term_count,
        data.items.first_rating,
        data.items.delta_t,
        data.items.label,
    )
    count = {rating: n for rating, n in enumerate(n_items, start=1) if n}
    return {rating: stability[rating - 1] for rating in count}, count

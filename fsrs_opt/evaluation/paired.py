"""The difference of two predictions of the same items, with an interval that knows that a card's reviews hang
together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.metrics import item_losses

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

LEVEL = 0.95

SURPRISES_PER_NAT = 1000 / math.log(2)
"""Surprises (bits) in 1,000 reviews for a difference in log loss of 1 nat a review."""


@dataclass(frozen=True)
class PairedDifference:
    """Mean of (log loss of A - log loss of B) over the same held-out items, in nats: above 0, B is better.

    low, high: its interval (95 % unless said otherwise), clustered by card. standard_error: of the mean.
    n_items, n_cards: behind it.
    """

    mean: float
    low: float
    high: float
    standard_error: float
    n_items: int
    n_cards: int


def paired_difference(
    labels: Array, a: FloatArray, b: FloatArray, card: Array, *, level: float = LEVEL
) -> PairedDifference | None:
    """How much lower the log loss of predictions `b` [n_items] is than that of `a`. None without items.

    card [n_items], numbers from 0 on: reviews of one card may depend on each other in any way. The interval
    is the cluster-robust (sandwich) one: the variance of the mean is `C / (C - 1) sum_c (sum of the card's
    deviations)^2 / n^2`, with the quantile of Student's t for C - 1 degrees of freedom (Liang and Zeger 1986;
    Cameron and Miller 2015). With one card it is infinite.
    """
    n = len(labels)
    if not n:
        return None
    difference = item_losses(labels, a) - item_losses(labels, b)
    mean = float(difference.mean())
    c = int(np.count_nonzero(np.bincount(card)))
    if c < 2:
        return PairedDifference(mean, -math.inf, math.inf, math.inf, n, c)
    sums = np.bincount(card, weights=difference - mean)  # 0 for cards that are not here
    error = math.sqrt(c / (c - 1) * float(sums @ sums)) / n
    half = _student_quantile((1 + level) / 2, c - 1) * error
    return PairedDifference(mean, mean - half, mean + half, error, n, c)


def _student_quantile(p: float, degrees: int) -> float:
    """Quantile of Student's t from the normal's (Abramowitz and Stegun 26.7.5; error below .002 from 10
    on)."""
    z, v = NormalDist().inv_cdf(p), degrees
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    )

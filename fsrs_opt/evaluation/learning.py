"""When to optimize again: what re-optimizing gained in the past, and what it will gain after more reviews."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PastGain:
    """Had you optimized at n_before items and again at n_after: the log loss saved on the segment that followed.

    gain: nats per review, positive when the newer parameters predict better. standard_error: clustered by card.
    """

    n_before: int
    n_after: int
    gain: float
    standard_error: float


@dataclass(frozen=True)
class LearningCurve:
    """Expected gain of re-optimizing after m more items, g(m) = b (1/n - 1/(n + m)) + c m, n the items now.

    past: what was measured. b, c: fitted, not negative; None where there is too little (then `reason` says
    why). new_reviews, expected_gain: the curve at some m, float64 [n_points], gain in nats per review (empty
    where there is none). optimize_after: items after which the gain is worth it, None where unknown.
    log_loss, n_train: held-out log loss of each split and the items behind it. advice: one sentence.
    """

    past: tuple[PastGain, ...]
    n_train: tuple[int, ...]
    log_loss: tuple[float | None, ...]
    b: float | None
    c: float | None
    new_reviews: FloatArray
    expected_gain: FloatArray
    optimize_after: int | None
    advice: str
    reason: str

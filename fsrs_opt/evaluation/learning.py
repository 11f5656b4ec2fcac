"""When to optimize again: what re-optimizing gained in the past, and what it will gain after more reviews."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation import metrics
from fsrs_opt.evaluation.advice import rough
from fsrs_opt.evaluation.paired import SURPRISES_PER_NAT, paired_difference
from fsrs_opt.evaluation.time_series import TimeSeries

FloatArray = npt.NDArray[np.float64]

WORTH = 1 / SURPRISES_PER_NAT
"""Nats per review for which optimizing again is worth it: one surprise less in 1,000 reviews."""

MIN_FITS = 3
SOONEST, LATEST = 0.1, 1.0  # as a share of the items there are
_POINTS = 41


@dataclass(frozen=True)
class PastGain:
    """Had you optimized at n_before items and again at n_after: the log loss saved on the segment after that.

    gain: nats per review, above 0 when the newer parameters predict better. standard_error: clustered by
    card.
    """

    n_before: int
    n_after: int
    gain: float
    standard_error: float


@dataclass(frozen=True)
class LearningCurve:
    """Expected gain of re-optimizing after m more items, g(m) = b (1/n - 1/(n + m)) + c m, n the items now.

    past: what was measured. n_train, log_loss: items behind each split's fit, and its held-out log loss. b,
    c: fitted, not negative; None where there is too little (`reason` then says why). new_reviews,
    expected_gain: the curve from m = 0 to 2 n, float64 [n_points], gain in nats per review (empty where there
    is none). optimize_after: items after which the gain is one surprise less in 1,000 reviews, between n / 10
    and n. advice: one sentence, "" where there is none.
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


def learning_curve(series: TimeSeries, n_items: int) -> LearningCurve:
    """The learning curve of a collection with `n_items` items, from the fits of its splits.

    Each pair of fits (older, newer) is compared on the segment after the newer one. What was not known yet is
    lost as b/n; what changed since is lost in proportion to the reviews since (c). Least squares over the
    pairs, weighted by 1 / standard_error^2.
    """
    log_loss = tuple(
        metrics.log_loss(series.label[series.split == k], series.of_fit[k, series.split == k])
        for k in range(len(series.fits))
    )
    n_train = tuple(one.n_train for one in series.fits)
    usable = [k for k, one in enumerate(series.fits) if one.rung == "all"]
    if len(usable) < MIN_FITS:
        what = f"{len(usable)} splits had enough reviews to fit all parameters ({MIN_FITS} are needed)"
        return _unknown(n_train, log_loss, what if series.fits else "no splits were fitted")

    past = []
    for place, newer in enumerate(usable):
        after = series.split == newer
        for older in usable[:place]:
            gain = paired_difference(
                series.label[after],
                series.of_fit[older, after],
                series.of_fit[newer, after],
                series.card[after],
            )
            if gain is not None and np.isfinite(gain.standard_error):
                past.append(PastGain(n_train[older], n_train[newer], gain.mean, gain.standard_error))
    if len(past) < MIN_FITS:
        return _unknown(n_train, log_loss, "all reviews of a segment are of one card")
    b, c = _fit_curve(past)
    new_reviews = np.linspace(0, 2 * n_items, _POINTS)
    soonest, latest = round(SOONEST * n_items), round(LATEST * n_items)
    m = np.arange(soonest, latest + 1, dtype=np.float64)
    reached = np.flatnonzero(_gain(m, n_items, b, c) >= WORTH)
    after = rough(float(m[reached[0]]) if len(reached) else latest)
    if len(reached):
        advice = (
            f"Optimize again after about {after:,} more reviews: by then it should save about one surprise in"
            " 1,000 reviews."
        )
    else:
        saved = float(_gain(np.array([float(latest)]), n_items, b, c)[0]) * SURPRISES_PER_NAT
        much = f"about {saved:.1f}" if saved >= 0.05 else "less than 0.1"
        advice = (
            f"There is no hurry: optimize again after about {after:,} more reviews, when it should save"
            f" {much} surprises in 1,000 reviews."
        )
    return LearningCurve(
        past=tuple(past),
        n_train=n_train,
        log_loss=log_loss,
        b=b,
        c=c,
        new_reviews=new_reviews,
        expected_gain=_gain(new_reviews, n_items, b, c),
        optimize_after=after,
        advice=advice,
        reason="",
    )


def _gain(m: FloatArray, n: int, b: float, c: float) -> FloatArray:
    return b * (1 / n - 1 / (n + m)) + c * m


def _fit_curve(past: list[PastGain]) -> tuple[float, float]:
    """b and c, neither negative, that explain the gains best (weighted least squares)."""
    before = np.array([one.n_before for one in past], dtype=np.float64)
    after = np.array([one.n_after for one in past], dtype=np.float64)
    gain = np.array([one.gain for one in past])
    error = np.array([one.standard_error for one in past])
    weight = 1 / np.maximum(error, max(float(error.max()) * 1e-3, 1e-12))
    learned, changed = (1 / before - 1 / after) * weight, (after - before) * weight
    target = gain * weight
    both = np.linalg.lstsq(np.stack([learned, changed], axis=1), target, rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    candidates = [(0.0, 0.0)]
    candidates.append((max(0.0, float(learned @ target / (learned @ learned))), 0.0))
    candidates.append((0.0, max(0.0, float(changed @ target / (changed @ changed)))))
    return min(candidates, key=lambda bc: float(((target - bc[0] * learned - bc[1] * changed) ** 2).sum()))


def _unknown(n_train: tuple[int, ...], log_loss: tuple[float | None, ...], reason: str) -> LearningCurve:
    none = np.zeros(0)
    return LearningCurve((), n_train, log_loss, None, None, none, none, None, "", reason)

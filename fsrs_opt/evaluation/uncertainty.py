"""How sure the parameters are, and what they predict: the curvature of J at its minimum.

J is the negative logarithm of a posterior; near its minimum the posterior is about normal, with the inverse
of (Fisher matrix of the data + curvature of the prior) as its covariance (Laplace's approximation).
Coordinates z are the solver's: ln w for w0..w3, (w - default) / sigma for the rest, in which the prior is an
exact parabola.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.metrics import R_MIN
from fsrs_opt.model import parameters
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import N_INITIAL_STABILITIES, N_PARAMETERS
from fsrs_opt.training.objective import MapPrior
from fsrs_opt.training.trust_region import to_w, to_z, w_by_z

FloatArray = npt.NDArray[np.float64]

LEVEL = 0.9
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_AT_LIMIT = 1e-9
_NUDGE = 1e-3  # in z, for numeric derivatives: large enough for predictions of float32 accuracy
_CURVE_POINTS = 100


@dataclass(frozen=True)
class Posterior:
    """Normal approximation of the posterior around the fitted parameters [21].

    covariance: float64 [21, 21] in z; zero in the rows of what is held. low, high: 90 % interval per
    parameter [21], in the parameter's own unit, inside its allowed range. data_share: float64 [21], percent
    of the certainty about a parameter that the reviews brought, 100 (1 - posterior variance / prior variance)
    in z; NaN where it is held. held: bool [21], at an active limit: the others are judged as if it were
    known, its own interval is one-sided. effective_parameters: how many parameters the data determine, the
    trace of Fisher (Fisher + prior)^-1 over what is free.
    """

    parameters: FloatArray
    covariance: FloatArray
    low: FloatArray
    high: FloatArray
    data_share: FloatArray
    held: npt.NDArray[np.bool_]
    effective_parameters: float


@dataclass(frozen=True)
class Band:
    """Predicted recall with its 90 % band, each float64 [n]: low <= recall <= high, inside (0, 1)."""

    recall: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class ForgettingCurve:
    """The curve after one first rating (1..4): delta_t float64 [n] in days, and the band there."""

    first_rating: int
    delta_t: FloatArray
    band: Band


def posterior(
    w: FloatArray, fisher: FloatArray, *, relearning_steps: int = 1, short_term: bool = True
) -> Posterior:
    """The posterior at a minimum `w` [21] of J.

    fisher [21, 21]: information of the data alone, by w (`FitResult.fisher`). relearning_steps, short_term:
    as in the fit; they decide the limits. What lies at a limit is held: the solver stops there only because
    the data push against it. Initial stabilities that lie on each other (w0 <= w1 <= w2 <= w3 holds them
    apart no longer) move as one.
    """
    scale = w_by_z(w)
    prior = MapPrior().curvature(w) * scale**2  # in z: 1/2 for w0..w3, 2 for the rest
    precision = fisher * np.outer(scale, scale) + np.diag(prior)
    low_w, high_w = parameters.bounds(short_term=short_term)
    ceiling = parameters.same_day_ceiling(w, relearning_steps)
    high_w[17:19] = np.minimum(high_w[17:19], ceiling)
    at_low, at_high = w <= low_w + _AT_LIMIT, w >= high_w - _AT_LIMIT
    held = at_low | at_high

    basis = _free_directions(w, held)
    inverse = np.linalg.inv(basis.T @ precision @ basis)
    covariance = basis @ inverse @ basis.T
    sd = np.sqrt(np.diag(covariance))
    z = to_z(w)
    low_z, high_z = z - _Z * sd, z + _Z * sd
    fixed = low_w >= high_w
    for k in np.flatnonzero(held & ~fixed):
        # A normal cut off at the limit: its steepness there can only make it narrower than this half of one.
        through = basis.T @ precision[:, k]
        reach = _Z / np.sqrt(precision[k, k] - through @ inverse @ through)
        low_z[k] = z[k] - (reach if at_high[k] else 0)
        high_z[k] = z[k] + (reach if at_low[k] else 0)
    return Posterior(
        parameters=w,
        covariance=covariance,
        low=np.where(at_low, w, np.clip(to_w(low_z), low_w, high_w)),
        high=np.where(at_high, w, np.clip(to_w(high_z), low_w, high_w)),
        data_share=np.where(held, np.nan, 100 * np.clip(1 - sd**2 * prior, 0, 1)),
        held=held,
        effective_parameters=float(len(inverse) - np.trace(inverse @ (basis.T @ (prior[:, None] * basis)))),
    )


def _free_directions(w: FloatArray, held: npt.NDArray[np.bool_]) -> FloatArray:
    """Columns [21, n_free]: what can move, parameters that are tied to each other as one."""
    columns: list[FloatArray] = []
    for k in np.flatnonzero(~held).tolist():
        tied = 0 < k < N_INITIAL_STABILITIES and not held[k - 1] and w[k] - w[k - 1] <= _AT_LIMIT * w[k]
        if not tied:
            columns.append(np.zeros(N_PARAMETERS))
        columns[-1][k] = 1.0
    return np.stack(columns, axis=1) if columns else np.zeros((N_PARAMETERS, 0))


def recall_band(recall: FloatArray, by_z: FloatArray, covariance: FloatArray, level: float = LEVEL) -> Band:
    """The band of predictions [n] whose derivatives by z are `by_z` [n, 21] (delta method).

    It is symmetric in the logit of recall, so that it never leaves 0..1.
    """
    r = np.clip(recall, R_MIN, 1 - R_MIN)
    by_z = by_z / (r * (1 - r))[:, None]
    sd = np.sqrt(np.maximum(0.0, np.einsum("ij,jk,ik->i", by_z, covariance, by_z)))
    reach = np.exp(NormalDist().inv_cdf((1 + level) / 2) * sd)
    odds = r / (1 - r)
    below = odds / reach
    # at R = 1 (delta_t 0) nothing is uncertain, and the clipped odds would fall short of it
    return Band(
        recall, np.minimum(recall, below / (1 + below)), np.maximum(recall, 1 / (1 + 1 / (odds * reach)))
    )


def predicted_recall(
    batch: WindowedBatch, which: npt.NDArray[np.integer], found: Posterior, level: float = LEVEL
) -> Band:
    """Predicted recall of the reviews `which` [n] of a batch, with its band.

    42 passes over the batch: give it only the cards that are needed (`reviews.history.subset`).
    """
    z = to_z(found.parameters)

    def recall_at(z: FloatArray) -> FloatArray:
        recall: FloatArray = batch.retrievability(to_w(z))[which]
        return recall

    by_z = np.zeros((len(which), N_PARAMETERS))
    for k in np.flatnonzero(np.diag(found.covariance) > 0).tolist():
        step = np.zeros(N_PARAMETERS)
        step[k] = _NUDGE
        by_z[:, k] = (recall_at(z + step) - recall_at(z - step)) / (2 * _NUDGE)
    return recall_band(recall_at(z), by_z, found.covariance, level)


def forgetting_curves(found: Posterior, longest: float = 365.0) -> tuple[ForgettingCurve, ...]:
    """The curves after the four first ratings, with their bands, at delta_t from 0 to `longest` days.

    The points lie closer together where the curves bend: delta_t = longest (i / (n - 1))^3.
    """
    delta_t = longest * np.linspace(0, 1, _CURVE_POINTS) ** 3
    w = found.parameters
    decay = -float(w[20])
    factor = float(np.expm1(np.log(0.9) / decay))
    factor_w20 = (factor + 1) * np.log(0.9) / decay**2
    by_z = w_by_z(w)
    curves = []
    for rating in range(1, 5):
        s = float(w[rating - 1])
        u = 1 + factor * delta_t / s
        recall = u**decay
        slopes = np.zeros((len(delta_t), N_PARAMETERS))
        slopes[:, rating - 1] = -recall * decay * factor * delta_t / (s * s * u)
        slopes[:, 20] = -recall * (np.log(u) + w[20] * factor_w20 * delta_t / (s * u))
        curves.append(ForgettingCurve(rating, delta_t, recall_band(recall, slopes * by_z, found.covariance)))
    return tuple(curves)

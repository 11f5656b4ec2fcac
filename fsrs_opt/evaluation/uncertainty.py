"""How sure the parameters are, and what they predict: the curvature of J at its minimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

LEVEL = 0.9


@dataclass(frozen=True)
class Posterior:
    """Normal approximation of the posterior around the fitted parameters [21].

    covariance: float64 [21, 21] in the solver's coordinates (ln w for w0..w3, (w - default) / sigma for the
    rest); zero rows for what is held (at an active limit). low, high: 90 % interval per parameter [21], in
    the parameter's own unit, inside its allowed range. data_share: float64 [21], percent of what is known
    about a parameter that comes from the reviews, the rest being the prior; NaN where it is held.
    held: bool [21]. effective_parameters: how many parameters the data determine (sum of the shares / 100).
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

"""What training minimizes: the loss of a batch plus the share of the prior that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from fsrs_opt.model.parameters import DEFAULTS, N_INITIAL_STABILITIES, SIGMA
from fsrs_opt.model.passes import PassResult, as_array

FloatArray = npt.NDArray[np.float64]

_SLOPE, _CURVATURE = 2 / SIGMA, 2 / SIGMA**2


class Batch(Protocol):
    """Anything that has a loss and a gradient at parameters `w` [21]: mini-batch, whole cards, objective."""

    def evaluate(self, w: Tensor, *, fisher: bool = False) -> PassResult: ...


class Prior(Protocol):
    """A penalty on the parameters, with its gradient [21] and the diagonal of its curvature [21]."""

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray, FloatArray]: ...


@dataclass(frozen=True)
class MapPrior:
    """The prior of J: `((w - default) / sigma)^2` for w4..w20, `(ln(w / default) / 2)^2` for w0..w3.

    Stabilities differ between people by factors, hence the logarithm. In the solver's coordinates
    (ln w and (w - default) / sigma) it is an exact parabola.
    """

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        n = N_INITIAL_STABILITIES
        z = (w - DEFAULTS) / SIGMA
        gradient = z * _SLOPE
        curvature = _CURVATURE.copy()
        z[:n] = np.log(w[:n] / DEFAULTS[:n]) / 2
        gradient[:n] = z[:n] / w[:n]
        curvature[:n] = 0.5 / w[:n] ** 2
        return float(z @ z), gradient, curvature


@dataclass(frozen=True)
class ClassicPrior:
    """fsrs-rs's prior: `gamma sum((w - centre)^2 / sigma^2)` around the pretrained start."""

    centre: FloatArray
    gamma: float = 1.0

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        off = w - self.centre
        value = float(self.gamma * (off**2 / SIGMA**2).sum())
        return value, 2 * self.gamma * off / SIGMA**2, 2 * self.gamma / SIGMA**2


@dataclass(frozen=True)
class Objective:
    """Loss of a batch plus `share` (its part of the training set, 1 for all of it) of the prior."""

    batch: Batch
    prior: Prior
    share: float = 1.0

    def evaluate(self, w: Tensor, *, fisher: bool = False) -> PassResult:
        """Objective, gradient and, if asked, Fisher matrix with the prior's curvature on its diagonal."""
        data = self.batch.evaluate(w, fisher=fisher)
        value, gradient, curvature = self.prior(as_array(w))
        # the batch made these tensors for this call: the prior goes straight into them
        gradient *= self.share
        data.gradient.numpy()[:] += gradient
        if data.fisher is not None:
            curvature *= self.share
            np.einsum("ii->i", data.fisher.numpy())[:] += curvature
        return PassResult(data.loss + self.share * value, data.gradient, data.fisher)


class LastPass:
    """A batch that remembers its last pass: finetune begins at the point where train ended."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._at = b""
        self._result: PassResult | None = None

    def evaluate(self, w: Tensor, *, fisher: bool = False) -> PassResult:
        at = as_array(w).tobytes()
        if self._result is None or at != self._at or (fisher and self._result.fisher is None):
            self._at, self._result = at, self._batch.evaluate(w, fisher=fisher)
        return self._result

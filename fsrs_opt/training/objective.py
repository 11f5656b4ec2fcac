"""What training minimizes: the loss of a batch plus the share of the prior that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from fsrs_opt.model import native
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import DEFAULTS, N_INITIAL_STABILITIES, SIGMA
from fsrs_opt.model.pass_result import PassResult

if TYPE_CHECKING:
    from fsrs_opt import _native

FloatArray = npt.NDArray[np.float64]

_INITIAL = DEFAULTS[:N_INITIAL_STABILITIES]
_SLOPE, _CURVATURE = 2 / SIGMA, 2 / SIGMA**2


class Batch(Protocol):
    """Anything that has a loss and a gradient at parameters `w` [21]: mini-batch, whole cards, objective."""

    def evaluate(self, w: FloatArray, *, fisher: bool = False) -> PassResult: ...


class Prior(Protocol):
    """A penalty on the parameters."""

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The penalty at `w` [21] and its gradient [21]."""
        ...

    def curvature(self, w: FloatArray) -> FloatArray:
        """The diagonal [21] of its second derivatives at `w` [21]."""
        ...


@dataclass(frozen=True)
class MapPrior:
    """The prior of J: `((w - default) / sigma)^2` for w4..w20, `(ln(w / default) / 2)^2` for w0..w3.

    Stabilities differ between people by factors, hence the logarithm. In the solver's coordinates
    (ln w and (w - default) / sigma) it is an exact parabola.
    """

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray]:
        initial = w[:N_INITIAL_STABILITIES]
        z = (w - DEFAULTS) / SIGMA
        gradient = z * _SLOPE
        z[:N_INITIAL_STABILITIES] = half = np.log(initial / _INITIAL) / 2
        gradient[:N_INITIAL_STABILITIES] = half / initial
        return float(z @ z), gradient

    def curvature(self, w: FloatArray) -> FloatArray:
        curvature = _CURVATURE.copy()
        curvature[:N_INITIAL_STABILITIES] = 0.5 / w[:N_INITIAL_STABILITIES] ** 2
        return curvature


@dataclass(frozen=True)
class ClassicPrior:
    """fsrs-rs's prior: `gamma sum((w - centre)^2 / sigma^2)` around the pretrained start."""

    centre: FloatArray
    gamma: float = 1.0

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray]:
        off = w - self.centre
        value = float(self.gamma * (off**2 / SIGMA**2).sum())
        return value, 2 * self.gamma * off / SIGMA**2

    def curvature(self, w: FloatArray) -> FloatArray:
        return 2 * self.gamma / SIGMA**2


@dataclass(frozen=True)
class Objective:
    """Loss of a batch plus `share` (its part of the training set, 1 for all of it) of the prior."""

    batch: Batch
    prior: Prior
    share: float = 1.0

    @cached_property
    def compiled(self) -> _native.Objective | None:
        """The same, compiled, where it is J over whole cards and the native kernels are in use."""
        packed = self.batch.packed if isinstance(self.batch, WindowedBatch) else None
        if packed is None or not isinstance(self.prior, MapPrior) or self.share != 1:
            return None
        return native.objective(packed)

    def evaluate(self, w: FloatArray, *, fisher: bool = False) -> PassResult:
        """Objective, gradient and, if asked, Fisher matrix with the prior's curvature on its diagonal."""
        if self.compiled is not None:
            return native.evaluate(self.compiled, w, fisher=fisher)
        data = self.batch.evaluate(w, fisher=fisher)
        value, by_w = self.prior(w)
        # the batch made these arrays for this call: the prior goes straight into them
        gradient, information = data.gradient, data.fisher
        gradient += self.share * by_w
        if information is not None:
            information.reshape(-1)[:: len(w) + 1] += self.share * self.prior.curvature(w)
        return PassResult(data.loss + self.share * value, gradient, information)


class LastPass:
    """An objective that remembers its last pass: finetune begins at the point where train ended.

    reused: how often a pass was asked for that was at hand.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._at = b""
        self._result: PassResult | None = None
        self.reused = 0

    def evaluate(self, w: FloatArray, *, fisher: bool = False) -> PassResult:
        at = w.tobytes()
        if self._result is None or at != self._at or (fisher and self._result.fisher is None):
            self._at, self._result = at, self._objective.evaluate(w, fisher=fisher)
        else:
            self.reused += 1
        return self._result

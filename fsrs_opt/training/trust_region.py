"""The solver's arithmetic: Fisher steps first, then SQP with damped BFGS, inside a trust region.

Its coordinates z are ln w for w0..w3 and (w - default) / sigma for the rest, in which the prior is a
parabola. Recipe and figures: docs/training.md. native/solver.cpp is the same in C++ with the same names, and
takes its place where the native kernels are in use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsrs_opt.model import parameters
from fsrs_opt.model.parameters import DEFAULTS, N_INITIAL_STABILITIES, N_PARAMETERS, SIGMA
from fsrs_opt.training.qp import solve_qp

FloatArray = npt.NDArray[np.float64]

PROMISE = 0.001  # nats: the solver stops when its model promises less...
PATIENCE = 2  # ...so many times running
MAX_PASSES = 60
FISHER_STEPS = 3  # at the start, where BFGS has nothing to learn from yet

_LOG = slice(0, N_INITIAL_STABILITIES)
_LINEAR = slice(N_INITIAL_STABILITIES, N_PARAMETERS)
_FIRST_RADIUS, _LARGEST_RADIUS, _SMALLEST_RADIUS = 4.0, 64.0, 1e-7
_FIRST_DAMPING, _SMALLEST_DAMPING = 1e-3, 1e-9


def to_z(w: FloatArray) -> FloatArray:
    """The solver's coordinates [21] of parameters `w` [21]."""
    return np.concatenate([np.log(w[_LOG]), (w[_LINEAR] - DEFAULTS[_LINEAR]) / SIGMA[_LINEAR]])


def to_w(z: FloatArray) -> FloatArray:
    """Parameters [21] at the solver's coordinates `z` [21]."""
    return np.concatenate([np.exp(z[_LOG]), DEFAULTS[_LINEAR] + SIGMA[_LINEAR] * z[_LINEAR]])


def w_by_z(w: FloatArray) -> FloatArray:
    """Derivative of each parameter by its coordinate [21]."""
    return np.concatenate([w[_LOG], SIGMA[_LINEAR]])


@dataclass
class _Point:
    """A point: coordinates, parameters, objective, and gradient by z."""

    z: FloatArray
    w: FloatArray
    objective: float
    gradient: FloatArray


class TrustRegion:
    """Where the solver stands.

    `advance` takes what came of the last point and gives the next. wants_fisher: whether it wants the Fisher
    matrix of that one. done: it has converged (`converged`: less than `promise` is promised `patience` times
    running, or nothing better lies however near, as at a kink), or has made `max_passes` passes; the next
    point is then the best one found.
    """

    def __init__(
        self,
        *,
        relearning_steps: int,
        short_term: bool,
        max_passes: int = MAX_PASSES,
        promise: float = PROMISE,
        fisher_steps: int = FISHER_STEPS,
        patience: int = PATIENCE,
    ) -> None:
        self.wants_fisher = True
        self.done = False
        self.converged = False
        self.passes = 0
        self._relearning_steps, self._short_term = relearning_steps, short_term
        self._low, self._high = parameters.bounds(short_term=short_term)
        self._max_passes = max_passes
        self._promise = promise
        self._patience = patience
        self._fisher_steps_left = fisher_steps
        self._best: _Point | None = None
        self._matrix = np.eye(N_PARAMETERS)
        self._damping = _FIRST_DAMPING
        self._radius = _FIRST_RADIUS
        self._promised = np.inf
        self._small_promises = 0

    @property
    def objective(self) -> float:
        """Objective at the best point so far."""
        return np.inf if self._best is None else self._best.objective

    def advance(
        self,
        w: FloatArray,
        objective: float,
        gradient: FloatArray,
        fisher: FloatArray | None,
        held: npt.NDArray[np.bool_],
    ) -> FloatArray:
        """Judge the point w [21] by its objective, gradient [21] and, if at hand, Fisher matrix [21, 21];
        the next point to try [21]. Entries that are held (bool [21]) do not move.

        Raises FloatingPointError for a first objective that is not finite.
        """
        self.passes += 1
        scale = w_by_z(w)
        trial = _Point(to_z(w), w.copy(), objective, gradient * scale)
        self._judge(trial, None if fisher is None else fisher * np.outer(scale, scale))
        return self._propose(held)

    def _judge(self, trial: _Point, fisher: FloatArray | None) -> None:
        """Keep the trial point if it is better; learn from it in any case."""
        finite = np.isfinite(trial.objective) and bool(np.isfinite(trial.gradient).all())
        if self._best is None:
            if not finite:
                raise FloatingPointError("the objective is not finite at the starting parameters")
            self._best = trial
            if fisher is not None:
                self._matrix = fisher
            return
        best = self._best
        better = finite and trial.objective < best.objective
        ratio = -1.0  # of what came to what was promised
        if finite and self._promised > 0:
            ratio = (best.objective - trial.objective) / self._promised
        if ratio > 0.5:
            self._damping = max(self._damping / 8, _SMALLEST_DAMPING)
        elif not better:
            self._damping *= 10
        length = float(np.abs(trial.z - best.z).max())
        if not better:
            self._radius = min(self._radius, length) / 4
        elif ratio < 0.25:
            self._radius = max(length / 2, _SMALLEST_RADIUS)
        elif ratio > 0.75:
            self._radius = min(max(self._radius, 2.5 * length), _LARGEST_RADIUS)
        if better and self.wants_fisher and fisher is not None:
            self._matrix = fisher
        elif finite and not self.wants_fisher:
            self._bfgs(trial.z - best.z, trial.gradient - best.gradient)
        if better:
            self._best = trial

    def _bfgs(self, moved: FloatArray, change: FloatArray) -> None:
        """Powell's damped update (Nocedal and Wright, procedure 18.2): the matrix stays positive definite."""
        through = self._matrix @ moved
        curvature = float(moved @ through)
        if curvature <= 0:
            return
        along = float(moved @ change)
        if along < 0.2 * curvature:
            theta = 0.8 * curvature / (curvature - along)
            change = theta * change + (1 - theta) * through
            along = float(moved @ change)
        self._matrix = (
            self._matrix - np.outer(through, through) / curvature + np.outer(change, change) / along
        )

    def _propose(self, held: npt.NDArray[np.bool_]) -> FloatArray:
        """The next point to try, or the best one when it is time to stop."""
        best = self._best
        assert best is not None
        if self._fisher_steps_left == 0:
            self.wants_fisher = False
        matrix = self._matrix
        if self.wants_fisher:
            self._fisher_steps_left -= 1
            matrix = matrix + self._damping * np.diag(np.diag(matrix))
        w = self._brought_in(best, self._minimizer(best, matrix, held))
        moved = np.where(w == best.w, 0.0, to_z(w) - best.z)
        self._promised = -float(best.gradient @ moved + moved @ self._matrix @ moved / 2)
        self._small_promises = self._small_promises + 1 if self._promised < self._promise else 0
        self.converged = self._small_promises >= self._patience or self._radius <= _SMALLEST_RADIUS
        self.done = self.converged or self.passes >= self._max_passes
        return best.w if self.done else w

    def _minimizer(self, best: _Point, matrix: FloatArray, held: npt.NDArray[np.bool_]) -> FloatArray:
        """The step that minimizes the quadratic model inside box, order, ceilings and trust region."""
        free = np.flatnonzero(~held)
        low_z, high_z = to_z(self._low), to_z(self._high)
        room_up = np.minimum(high_z - best.z, self._radius)
        room_down = np.minimum(best.z - low_z, self._radius)
        rows, room = _order_rows(best.z)
        ceiling_rows, ceiling_room = _ceiling_rows(best.w, self._relearning_steps)
        eye = np.eye(N_PARAMETERS)
        A = np.concatenate([eye, -eye, rows, ceiling_rows])[:, free]
        b = np.concatenate([room_up, room_down, room, ceiling_room])
        move = np.zeros(N_PARAMETERS)
        move[free] = solve_qp(matrix[np.ix_(free, free)], best.gradient[free], A, b)
        return move

    def _brought_in(self, best: _Point, move: FloatArray) -> FloatArray:
        """Parameters after a move: exact where nothing moves, inside every limit where rounding left it."""
        w = np.where(move == 0, best.w, to_w(best.z + move))
        w[_LOG] = np.where(move[_LOG] == 0, w[_LOG], np.maximum.accumulate(w[_LOG]))
        within = parameters.clip(w, relearning_steps=self._relearning_steps, short_term=self._short_term)
        return np.where(move == 0, best.w, within)


def _order_rows(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`rows @ move <= room` that keeps w0 <= w1 <= w2 <= w3."""
    rows = np.zeros((N_INITIAL_STABILITIES - 1, N_PARAMETERS))
    for k in range(N_INITIAL_STABILITIES - 1):
        rows[k, k], rows[k, k + 1] = 1.0, -1.0
    return rows, np.diff(z[_LOG])


def _ceiling_rows(w: FloatArray, relearning_steps: int) -> tuple[FloatArray, FloatArray]:
    """`rows @ move <= room`: w17 and w18 under their ceiling, which moves with w11, w13 and w14."""
    rows = np.zeros((2, N_PARAMETERS))
    if relearning_steps <= 1:
        return rows, np.ones(2)
    ceiling = parameters.same_day_ceiling(w, relearning_steps)
    by_w = np.zeros(N_PARAMETERS)
    for k in (11, 13, 14):
        nudged = w.copy()
        nudged[k] += 1e-6
        by_w[k] = (parameters.same_day_ceiling(nudged, relearning_steps) - ceiling) / 1e-6
    for row, k in enumerate((17, 18)):
        rows[row] = -by_w
        rows[row, k] = 1.0
    return rows * w_by_z(w), ceiling - w[17:19]

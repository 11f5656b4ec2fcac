"""A small convex quadratic program: the minimizer of the solver's model inside its limits.

Dual active-set method (Goldfarb and Idnani, Mathematical Programming 27, 1983), which starts from the
unlimited minimizer and takes in one violated limit after another. It does not mind limits that meet in
one point or repeat each other, as those of a weight that is held at a value do.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_MAX_ITERATIONS = 500
_TINY = 1e-11


def solve_qp(hessian: FloatArray, gradient: FloatArray, A: FloatArray, b: FloatArray) -> FloatArray:
    """x [n] that minimizes `gradient x + x hessian x / 2` with `A x <= b`.

    hessian [n, n] positive definite; A [m, n]; b [m], none negative, so that x = 0 is allowed. Limits hold up
    to rounding. Returns zeros if the iterations run out.
    """
    # Limits of one variable are rows of another length than limits of several: compare distances.
    lengths = np.sqrt((A * A).sum(axis=1))
    real = lengths > 0
    A, b = A[real] / lengths[real, None], b[real] / lengths[real]
    inverse = np.asarray(np.linalg.inv(hessian), dtype=np.float64)
    x = -inverse @ gradient
    active: list[int] = []
    implied: list[int] = []  # by the active ones: what they seem violated by is rounding
    multipliers = np.zeros(0)
    iterations = 0
    while True:
        excess = A @ x - b
        excess[active + implied] = 0.0
        worst = int(excess.argmax()) if len(excess) else -1
        if worst < 0 or excess[worst] <= _TINY * (1 + np.abs(x).max()):
            return x
        normal = A[worst]
        multiplier = 0.0
        while True:
            iterations += 1
            if iterations > _MAX_ITERATIONS:
                return np.zeros(len(gradient))
            # How x and the active multipliers answer to one more unit of the new limit's multiplier
            rows = A[active]
            through = rows @ inverse
            toward = inverse @ normal
            # never singular: a limit becomes active only where the active ones do not imply it
            answer = np.asarray(np.linalg.solve(through @ rows.T, rows @ toward), dtype=np.float64)
            direction = through.T @ answer - toward
            progress = -float(normal @ direction)
            shrinking = answer > _TINY
            until_release, released = np.inf, -1
            if shrinking.any():
                lasts = np.full(len(active), np.inf)
                lasts[shrinking] = multipliers[shrinking] / answer[shrinking]
                released = int(lasts.argmin())
                until_release = float(lasts[released])
            until_met = np.inf
            if progress > _TINY * float(normal @ toward):  # else the active limits imply this direction
                until_met = float(normal @ x - b[worst]) / progress
            length = min(until_release, until_met)
            if not np.isfinite(length):  # limits cannot contradict each other where x = 0 is allowed
                implied.append(worst)
                break
            multipliers = multipliers - length * answer
            multiplier += length
            if np.isfinite(until_met):
                x = x + length * direction
            if until_met <= until_release:
                active.append(worst)
                multipliers = np.append(multipliers, multiplier)
                break
            del active[released]
            implied.clear()
            multipliers = np.delete(multipliers, released)

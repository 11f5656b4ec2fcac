"""A small convex quadratic program: the minimizer of the solver's model inside its limits.

Active-set method (Nocedal and Wright, Numerical Optimization, 2nd ed., algorithm 16.3) for some
twenty variables, started from the origin, which is feasible by construction.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_MAX_ITERATIONS = 300
_TINY = 1e-12


def solve_qp(hessian: FloatArray, gradient: FloatArray, A: FloatArray, b: FloatArray) -> FloatArray:
    """x [n] that minimizes `gradient x + x hessian x / 2` with `A x <= b`.

    hessian [n, n] positive definite; A [m, n]; b [m], none negative (x = 0 is feasible). If the
    iterations run out the best feasible point so far is returned: it is never worse than x = 0.
    """
    n = len(gradient)
    x = np.zeros(n)
    inverse = np.asarray(np.linalg.inv(hessian), dtype=np.float64)
    # Limits of one variable are rows of different size than sums of two: compare distances.
    norms = np.sqrt((A * A).sum(axis=1))
    real = norms > 0
    A, b = A[real] / norms[real, None], np.maximum(b[real] / norms[real], 0.0)
    active: list[int] = []
    for _ in range(_MAX_ITERATIONS):
        slope = gradient + hessian @ x
        newton = -inverse @ slope
        multipliers = np.zeros(0)
        if active:
            rows = A[active]
            through = rows @ inverse
            found = np.linalg.lstsq(through @ rows.T, rows @ newton, rcond=None)[0]
            multipliers = np.asarray(found, dtype=np.float64)
            newton = newton - through.T @ multipliers
        if np.abs(newton).max(initial=0.0) <= _TINY * (1 + np.abs(x).max(initial=0.0)):
            if not active or multipliers.min() >= -_TINY * (1 + np.abs(slope).max()):
                return x
            del active[int(multipliers.argmin())]
            continue
        ahead = A @ newton
        ahead[active] = 0.0
        towards = ahead > _TINY * np.abs(newton).max()
        length, blocking = 1.0, -1
        if towards.any():
            room = np.full(len(b), np.inf)
            room[towards] = np.maximum(b - A @ x, 0.0)[towards] / ahead[towards]
            nearest = int(room.argmin())
            if room[nearest] < 1.0:
                length, blocking = float(room[nearest]), nearest
        x += length * newton
        if blocking >= 0:
            active.append(blocking)
    return x

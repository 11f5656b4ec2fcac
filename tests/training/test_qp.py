"""The quadratic program: optimality by the conditions of Karush, Kuhn and Tucker."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from fsrs_opt.model import native
from fsrs_opt.training import qp

Solve = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
SOLVERS: list[Solve] = [qp.solve_qp]
if native.available():
    from fsrs_opt import _native

    SOLVERS.append(_native.solve_qp)

every_solver = pytest.mark.parametrize("solve_qp", SOLVERS, ids=["python", "native"][: len(SOLVERS)])


@every_solver
def test_a_box_around_a_sphere_clips(solve_qp: Solve) -> None:
    gradient = np.array([-3.0, 0.5, 10.0])
    A = np.concatenate([np.eye(3), -np.eye(3)])
    x = solve_qp(np.eye(3), gradient, A, np.array([1.0, 1, 1, 1, 1, 2]))
    assert x == pytest.approx([1.0, -0.5, -2.0])


@every_solver
def test_without_limits_it_is_newtons_step(solve_qp: Solve) -> None:
    hessian = np.array([[2.0, 0.5], [0.5, 1.0]])
    gradient = np.array([1.0, -2.0])
    x = solve_qp(hessian, gradient, np.zeros((1, 2)), np.ones(1))
    assert x == pytest.approx(-np.linalg.solve(hessian, gradient))


@every_solver
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 21), st.booleans())
@example(0, 16, True)  # rounding makes two limits that meet look as if they contradicted each other
def test_optimality(solve_qp: Solve, seed: int, n: int, on_the_edge: bool) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, n)) * np.exp(rng.normal(size=n))
    hessian = factor @ factor.T + 0.1 * np.eye(n)
    gradient = rng.normal(size=n) * 10
    order = np.zeros((max(0, min(3, n - 1)), n))
    for k in range(len(order)):
        order[k, k], order[k, k + 1] = 1.0, -1.0
    A = np.concatenate([np.eye(n), -np.eye(n), order])
    b = rng.uniform(0, 1, len(A)) * (rng.uniform(size=len(A)) > 0.4 if on_the_edge else 1.0)
    x = solve_qp(hessian, gradient, A, b)
    assert (A @ x <= b + 1e-9).all()
    # the slope must be a combination of the touched limits' outward normals, none negative
    slope = gradient + hessian @ x
    touched = A @ x >= b - 1e-9
    if touched.any():
        _, residual = nnls(A[touched].T, -slope)
    else:
        residual = float(np.abs(slope).max())
    assert residual <= 1e-6 * (1 + np.abs(gradient).max() + np.abs(hessian @ x).max())


@pytest.mark.skipif(len(SOLVERS) == 1, reason="installed without the native kernels")
def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ValueError, match=r"n up to 21"):
        _native.solve_qp(np.eye(3), np.ones(2), np.ones((1, 3)), np.ones(1))
    with pytest.raises(ValueError, match=r"n up to 21"):
        _native.solve_qp(np.eye(22), np.ones(22), np.ones((1, 22)), np.ones(1))

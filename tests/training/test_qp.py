"""The quadratic program: optimality by the conditions of Karush, Kuhn and Tucker."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from fsrs_opt.training.qp import solve_qp


def test_a_box_around_a_sphere_clips() -> None:
    gradient = np.array([-3.0, 0.5, 10.0])
    A = np.concatenate([np.eye(3), -np.eye(3)])
    x = solve_qp(np.eye(3), gradient, A, np.array([1.0, 1, 1, 1, 1, 2]))
    assert x == pytest.approx([1.0, -0.5, -2.0])


def test_without_limits_it_is_newtons_step() -> None:
    hessian = np.array([[2.0, 0.5], [0.5, 1.0]])
    gradient = np.array([1.0, -2.0])
    x = solve_qp(hessian, gradient, np.zeros((1, 2)), np.ones(1))
    assert x == pytest.approx(-np.linalg.solve(hessian, gradient))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 21), st.booleans())
def test_optimality(seed: int, n: int, on_the_edge: bool) -> None:
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

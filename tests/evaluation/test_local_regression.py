"""The smooth curve, by hand and against statsmodels' lowess."""

from __future__ import annotations

import numpy as np
import pytest

from fsrs_opt.evaluation.local_regression import local_regression


def test_points_on_a_line_stay_on_it():
    x = np.linspace(0.3, 0.9, 50)
    np.testing.assert_allclose(local_regression(x, 2 * x - 0.4), 2 * x - 0.4, atol=1e-12)


def test_equal_x_give_their_mean():
    np.testing.assert_allclose(local_regression(np.full(4, 0.7), np.array([1, 0, 1, 1])), 0.75)


def test_nothing_gives_nothing():
    assert local_regression(np.array([]), np.array([])).shape == (0,)


def test_three_points_by_hand():
    # Two thirds of three items are two: at x = 0.5 the farthest of the nearest two is 0.2 away and has no
    # weight, so that the curve is the middle outcome; at x = 0.3 the same holds for the first outcome.
    curve = local_regression(np.array([0.3, 0.5, 0.9]), np.array([0.0, 1.0, 1.0]))
    np.testing.assert_allclose(curve[:2], [0, 1], atol=1e-12)


# 60 sorted predictions and outcomes; expected: statsmodels 0.15 lowess(y, p, it=0, delta=0.01 * range), as
# FSRS-Optimizer calls it
P = [
    49,
    53,
    63,
    66,
    67,
    69,
    69,
    69,
    71,
    72,
    72,
    72,
    73,
    74,
    74,
    74,
    75,
    75,
    76,
    76,
    77,
    77,
    79,
    79,
    79,
    79,
    79,
    80,
]
P += [
    81,
    82,
    83,
    83,
    83,
    84,
    85,
    85,
    87,
    87,
    87,
    87,
    88,
    88,
    89,
    90,
    91,
    92,
    92,
    93,
    93,
    94,
    95,
    96,
    96,
    96,
    96,
]
P += [97, 97, 97, 98, 98]
FORGOTTEN = (3, 4, 13, 17, 22, 25, 29, 35, 45, 51)


def test_curve_of_statsmodels():
    p = np.array(P) / 100
    y = np.ones(60)
    y[list(FORGOTTEN)] = 0
    curve = local_regression(p, y)
    expected = [0.912315, 0.765024, 0.819824, 0.902696, 0.913289]
    np.testing.assert_allclose(curve[[0, 10, 30, 50, 59]], expected, atol=5e-4)  # other points to fit at
    assert np.abs(curve - p).mean() == pytest.approx(0.048428, abs=3e-4)


def test_many_items_are_gathered_in_cells_without_harm():
    rng = np.random.default_rng(3)
    x = np.sort(rng.beta(9, 2, 4000))
    y = (rng.random(4000) < x).astype(float)
    few = local_regression(x, y)
    many = local_regression(np.repeat(x, 3), np.repeat(y, 3))  # above the number of cells
    np.testing.assert_allclose(many[::3], few, atol=2e-3)

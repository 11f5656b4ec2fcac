"""A smooth curve through outcomes: local linear regression (Cleveland's lowess without the robustness
steps)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

SPAN = 2 / 3
"""Share of the items that a local line is fitted to: lowess's usual value."""

_N_ANCHORS = 101  # lowess's `delta` of a hundredth of the range, as FSRS-Optimizer calls it
_MAX_CELLS = 4096


def local_regression(x: Array, y: Array, span: float = SPAN) -> FloatArray:
    """The smooth curve's height at each x [n], from outcomes y [n].

    At 101 points evenly between the smallest and the largest x, a line is fitted to the `span` of the items
    that are nearest, by least squares with the weights (1 - (distance / farthest)^3)^3, and read there; in
    between the curve is linear. Equal x are one point with their mean y; with more than 4096 items they
    are first gathered in 4096 cells of equal width, each standing at the mean of its x. Cleveland, Journal of
    the American Statistical Association 74 (1979), with no robustness iteration.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(x)
    if n == 0:
        return np.zeros(0)
    low, high = float(x.min()), float(x.max())
    if high - low <= 1e-12:
        return np.full(n, y.mean())
    if n > _MAX_CELLS:
        cell = np.minimum(((x - low) / (high - low) * _MAX_CELLS).astype(np.int64), _MAX_CELLS - 1)
    else:
        _, cell = np.unique(x, return_inverse=True)
    count = np.bincount(cell).astype(np.float64)
    there = count > 0
    count, place, height = (
        count[there],
        np.bincount(cell, weights=x)[there] / count[there],
        np.bincount(cell, weights=y)[there] / count[there],
    )

    anchors = np.linspace(low, high, _N_ANCHORS)
    distance = np.abs(place - anchors[:, None])
    nearest_first = np.argsort(distance, axis=1, kind="stable")
    within = np.cumsum(count[nearest_first], axis=1) >= max(1, int(span * n + 1e-10))
    last = np.take_along_axis(nearest_first, within.argmax(axis=1)[:, None], axis=1)
    farthest = np.take_along_axis(distance, last, axis=1)
    relative = np.divide(distance, farthest, out=np.where(distance > 0, 1.0, 0.0), where=farthest > 0)
    weight = count * np.clip(1 - relative**3, 0, None) ** 3
    # where all items within reach are equally far away, none of them has a weight: take them all
    weight = np.where(weight.sum(axis=1, keepdims=True) > 0, weight, count * (relative <= 1))
    total = weight.sum(axis=1)
    mean_x, mean_y = weight @ place / total, weight @ height / total
    off = place - mean_x[:, None]
    spread = (weight * off**2).sum(axis=1)
    covariance = (weight * off * (height - mean_y[:, None])).sum(axis=1)
    flat = spread <= (1e-3 * (high - low)) ** 2 * total  # all in one place, nearly: no slope to be had
    slope = np.where(flat, 0.0, covariance / np.where(flat, 1.0, spread))
    curve = mean_y + slope * (anchors - mean_x)
    at_x: FloatArray = np.interp(x, anchors, curve)
    return at_x

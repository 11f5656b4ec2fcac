"""The kernels' own exp, expm1, log and log1p against numpy's in float64."""

from __future__ import annotations

import numpy as np
import pytest

native = pytest.importorskip("fsrs_opt._native", reason="installed without the native kernels")

LARGEST_ERROR = 2.5e-7  # what native/math.hpp states: about two units in the last place

# Every argument that a formula can give them inside the parameters' ranges, and well beyond.
SMALL = np.geomspace(1e-30, 1, 20001)
ARGUMENTS = {
    "exp": np.linspace(-87, 88, 200001),
    "expm1": np.concatenate([np.linspace(-87, 88, 200001), SMALL, -SMALL, [0.0]]),
    "log": np.concatenate([np.geomspace(1.2e-38, 3e38, 200001), 1 + SMALL, 1 - SMALL[SMALL < 0.9]]),
    "log1p": np.concatenate([np.geomspace(1e-37, 1e30, 200001), [0.0]]),
}


@pytest.mark.parametrize("isa", native.isas())
@pytest.mark.parametrize("name", ARGUMENTS)
def test_relative_error(name: str, isa: str) -> None:
    x = ARGUMENTS[name].astype(np.float32)
    expected = getattr(np, name)(x.astype(np.float64))
    found = native.math(list(ARGUMENTS).index(name), x, isa)
    zero = expected == 0
    assert (found[zero] == 0).all()
    assert np.abs(found[~zero] / expected[~zero] - 1).max() < LARGEST_ERROR

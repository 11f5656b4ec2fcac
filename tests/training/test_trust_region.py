"""The compiled arithmetic of the solver takes the same steps as the readable one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.model.parameters import DEFAULTS, SIGMA, bounds, clip
from fsrs_opt.training.trust_region import (
    FISHER_STEPS,
    MAX_PASSES,
    PATIENCE,
    PROMISE,
    TrustRegion,
    to_w,
    to_z,
    w_by_z,
)

_native = pytest.importorskip("fsrs_opt._native", reason="installed without the native kernels")


def compiled(relearning_steps: int, short_term: bool) -> _native.TrustRegion:
    low, high = bounds(short_term=short_term)
    return _native.TrustRegion(
        low, high, DEFAULTS, SIGMA, 2.0, relearning_steps, MAX_PASSES, FISHER_STEPS, PROMISE, PATIENCE
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 4), st.booleans(), st.booleans(), st.floats(0.0, 1.0))
def test_the_twins_take_the_same_steps(
    seed: int, relearning_steps: int, short_term: bool, frozen: bool, distance: float
) -> None:
    rng = np.random.default_rng(seed)
    centre = to_z(DEFAULTS) + rng.normal(size=21) * 3 * distance
    factor = rng.normal(size=(21, 21))
    hessian = factor @ factor.T + 0.5 * np.eye(21)
    twins = [
        TrustRegion(relearning_steps=relearning_steps, short_term=short_term),
        compiled(relearning_steps, short_term),
    ]
    held = np.zeros(21, dtype=bool)
    held[:4] = frozen
    w = start = clip(DEFAULTS * 1.1, relearning_steps=relearning_steps, short_term=short_term)
    while not twins[0].done:
        off = to_z(w) - centre
        # a bowl with narrow valleys that the matrix knows nothing of, so that some steps are refused
        root = np.sqrt(off**2 + 1e-3)
        objective = float(off @ hessian @ off / 2 + 5 * root.sum())
        by_w = 1 / w_by_z(w)
        gradient = (hessian @ off + 5 * off / root) * by_w
        fisher = hessian * np.outer(by_w, by_w) if twins[0].wants_fisher else None
        w, twin = (state.advance(w, objective, gradient, fisher, held) for state in twins)
        np.testing.assert_allclose(twin, w, rtol=1e-6, atol=1e-9)
        for name in ("wants_fisher", "done", "converged", "passes", "objective"):
            assert getattr(twins[0], name) == getattr(twins[1], name), name
        limited = clip(w, relearning_steps=relearning_steps, short_term=short_term)
        np.testing.assert_allclose(w, limited, rtol=1e-12)
        assert (np.diff(w[:4]) >= 0).all()
        assert (w[held] == start[held]).all()


def test_what_does_not_fit_is_refused() -> None:
    state = compiled(1, True)
    w, held = DEFAULTS.copy(), np.zeros(21, dtype=bool)
    with pytest.raises(ValueError, match="21"):
        state.advance(w[:20], 1.0, w, None, held)
    with pytest.raises(ValueError, match="21"):
        state.advance(w, 1.0, w, np.eye(20), held)
    with pytest.raises(ValueError, match="21"):
        state.advance(w, 1.0, w, None, held[:20])
    with pytest.raises(FloatingPointError, match="not finite"):
        state.advance(w, float("nan"), w, None, held)
    assert to_w(to_z(w)) == pytest.approx(w)

"""The compiled arithmetic of the solver takes the same steps as the readable one."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.model import native
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.fsrs6 import FSRS6
from fsrs_opt.model.parameters import DEFAULTS, clip
from fsrs_opt.training.data import training_set
from fsrs_opt.training.objective import MapPrior, Objective
from fsrs_opt.training.recipes import map_objective
from fsrs_opt.training.solver import Solver
from fsrs_opt.training.trust_region import to_w, to_z, w_by_z
from tests.logs import real_log

if not native.available():
    pytest.skip("installed without the native kernels", allow_module_level=True)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 4), st.booleans(), st.booleans(), st.floats(0.0, 1.0))
def test_the_twins_take_the_same_steps(
    seed: int, relearning_steps: int, short_term: bool, frozen: bool, distance: float
) -> None:
    rng = np.random.default_rng(seed)
    centre = to_z(DEFAULTS) + rng.normal(size=21) * 3 * distance
    factor = rng.normal(size=(21, 21))
    hessian = factor @ factor.T + 0.5 * np.eye(21)
    model = FSRS6(relearning_steps=relearning_steps, short_term=short_term)
    twins = [Solver(model, kernel=kernel)._state for kernel in ("torch", "native")]
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
    state = Solver(FSRS6(), kernel="native")._state
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


def test_minimize_checks_its_first_pass_and_ends_once(shared_real: Path) -> None:
    objective = map_objective(training_set(real_log(shared_real, "real36"))).compiled
    assert objective is not None
    state = Solver(FSRS6(), kernel="native")._state
    held = np.zeros(21, dtype=bool)
    loss, gradient, fisher = objective.loss_gradient_fisher(DEFAULTS)
    with pytest.raises(ValueError, match="21"):
        state.minimize(objective, DEFAULTS, loss, gradient, fisher, held[:20])
    with pytest.raises(ValueError, match="21"):
        state.minimize(objective, DEFAULTS, loss, gradient, fisher[:20], held)
    with pytest.raises(FloatingPointError, match="not finite"):
        state.minimize(objective, DEFAULTS, float("nan"), gradient, fisher, held)
    best, at, last = state.minimize(objective, DEFAULTS, loss, gradient, fisher, held)
    assert state.done
    assert state.converged
    assert objective.loss_gradient(best)[0] == state.objective < loss
    assert last is not None
    assert last[0] == objective.loss_gradient(at)[0]
    with pytest.raises(ValueError, match="done"):
        state.minimize(objective, best, loss, gradient, fisher, held)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_ctrl_c_ends_it_between_two_passes() -> None:
    rng = np.random.default_rng(0)
    n_cards, n = 40_000, 12  # tens of milliseconds a pass
    batch = WindowedBatch(
        offsets=np.arange(n_cards + 1) * n,
        rating=rng.integers(1, 5, n_cards * n).astype(np.int8),
        delta_t=rng.integers(1, 500, n_cards * n).astype(np.int32),
        weight=np.ones(n_cards * n),
    )
    objective = Objective(batch, MapPrior()).compiled
    assert objective is not None
    state = Solver(FSRS6(), kernel="native")._state
    held = np.zeros(21, dtype=bool)
    first = objective.loss_gradient_fisher(DEFAULTS)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            state.minimize(objective, DEFAULTS, *first, held)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not state.done

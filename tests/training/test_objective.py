"""J: its prior by hand, its compiled twin, and the pass that is remembered between two stages."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.model import native
from fsrs_opt.model.parameters import DEFAULTS, SIGMA, clip
from fsrs_opt.model.pass_result import PassResult
from fsrs_opt.training.objective import ClassicPrior, LastPass, MapPrior, Objective
from tests.model.cases import reference_batch, windowed

CARDS = [[(0, k % 4 + 1), (1, 3), (3, k % 4 + 1), (0, 2), (9, 3), (20, k % 2 + 1)] for k in range(40)]


def test_the_prior_by_hand() -> None:
    w = DEFAULTS.copy()
    w[0], w[9] = DEFAULTS[0] * math.e, DEFAULTS[9] + 3 * SIGMA[9]
    value, gradient = MapPrior()(w)
    assert value == pytest.approx(1 / 4 + 9)
    expected = np.zeros(21)
    expected[0], expected[9] = 0.5 / w[0], 6 / SIGMA[9]
    assert gradient == pytest.approx(expected)
    curvature = MapPrior().curvature(w)
    assert curvature[[0, 9]] == pytest.approx([0.5 / w[0] ** 2, 2 / SIGMA[9] ** 2])


@pytest.mark.parametrize("prior", [MapPrior(), ClassicPrior(DEFAULTS * 1.1, gamma=2.0)])
def test_the_priors_gradient_is_its_slope(prior: MapPrior | ClassicPrior) -> None:
    w = DEFAULTS * 1.2
    for k in range(21):
        up, down = w.copy(), w.copy()
        up[k] *= 1 + 1e-6
        down[k] *= 1 - 1e-6
        slope = (prior(up)[0] - prior(down)[0]) / (up[k] - down[k])
        assert prior(w)[1][k] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_a_part_of_the_data_takes_its_part_of_the_prior() -> None:
    batch, w = windowed(CARDS), DEFAULTS * 1.1
    alone, whole = batch.evaluate(w, fisher=True), Objective(batch, MapPrior()).evaluate(w, fisher=True)
    third = Objective(batch, MapPrior(), share=1 / 3).evaluate(w, fisher=True)
    assert third.loss - alone.loss == pytest.approx((whole.loss - alone.loss) / 3)
    assert third.gradient - alone.gradient == pytest.approx((whole.gradient - alone.gradient) / 3)
    assert third.fisher is not None
    assert whole.fisher is not None
    assert alone.fisher is not None
    assert np.diag(third.fisher - alone.fisher) == pytest.approx(np.diag(whole.fisher - alone.fisher) / 3)


@pytest.mark.skipif(not native.available(), reason="installed without the native kernels")
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**9), st.booleans())
def test_the_compiled_twin(seed: int, fisher: bool) -> None:
    w = clip(DEFAULTS * np.exp(np.random.default_rng(seed).normal(size=21) / 3))
    batch = replace(windowed(CARDS), kernel="native")
    objective = Objective(batch, MapPrior())
    assert objective.compiled is not None
    compiled, data = objective.evaluate(w, fisher=fisher), batch.evaluate(w, fisher=fisher)
    value, gradient = MapPrior()(w)
    assert compiled.loss == pytest.approx(data.loss + value, rel=1e-14)
    np.testing.assert_allclose(compiled.gradient, data.gradient + gradient, atol=1e-9)
    assert (compiled.fisher is not None) == fisher
    if fisher:
        expected = data.fisher + np.diag(MapPrior().curvature(w))
        np.testing.assert_allclose(compiled.fisher, expected, atol=1e-9)


@pytest.mark.skipif(not native.available(), reason="installed without the native kernels")
def test_only_j_over_whole_cards_is_compiled() -> None:
    batch = replace(windowed(CARDS), kernel="native")
    assert Objective(batch, MapPrior()).compiled is not None
    assert Objective(replace(batch, kernel="torch"), MapPrior()).compiled is None
    assert Objective(reference_batch(), MapPrior()).compiled is None
    assert Objective(batch, ClassicPrior(DEFAULTS)).compiled is None
    assert Objective(batch, MapPrior(), share=0.5).compiled is None


def test_the_last_pass_is_remembered() -> None:
    made: list[bool] = []

    class Counted(Objective):
        def evaluate(self, w: np.ndarray, *, fisher: bool = False) -> PassResult:
            made.append(fisher)
            return super().evaluate(w, fisher=fisher)

    objective = LastPass(Counted(windowed(CARDS), MapPrior()))
    here, there = DEFAULTS.copy(), DEFAULTS * 1.1
    first = objective.evaluate(here)
    assert objective.evaluate(here) is first
    second = objective.evaluate(here, fisher=True)  # the first had no Fisher matrix
    assert objective.evaluate(here) is second
    objective.evaluate(there)
    objective.evaluate(here)
    assert made == [False, True, False, False]
    here[0] += 1  # the values count, not the array
    objective.evaluate(here)
    assert len(made) == 5

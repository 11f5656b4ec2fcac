"""The equations of FSRS-6 against the reference values and against fsrs-rs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.gradients import Gradients, GradientsParams, step
from fsrs_opt.model import fsrs6
from fsrs_opt.model.batch import FSRSBatch
from fsrs_opt.model.fsrs6 import FSRS6
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.training.objective import ClassicPrior
from fsrs_opt.training.step import training_step
from tests.model.cases import reference_batch

# Reference figures of the field's own test-suite (float32: good to about 1e-4 relative)
LOSS = [4.0466027, 3.767796]
GRADIENT = [
    [
        -0.095688485, -0.0051607806, -0.0012249565, 0.007462064, 0.03650761, -0.082112335,
        0.0593964, -2.1474836, 0.57626534, -2.8751316, 0.7154875, -0.028993709, 0.0099172965,
        -0.2189217, -0.0017800558, -0.089381434, 0.299141, 0.068104014, -0.011605468, -0.25398168,
        0.27700496,
    ],
    [
        -0.040530164, -0.0041278866, -0.0010157757, 0.007239434, 0.009321215, -0.120117955,
        0.039143264, -0.8628009, 0.5794302, -2.5713828, 0.7669307, -0.024242667, 0.0, -0.16912507,
        -0.0017008218, -0.061857328, 0.28093633, 0.064058185, 0.0063592787, -0.1903223, 0.6257775,
    ],
]  # fmt: skip
AFTER_STEP = [
    [
        0.252, 1.3331, 2.3465, 8.2556, 6.3733, 0.8734, 2.9794, 0.041, 1.8322, 0.2066, 0.756, 1.5235,
        0.0214, 0.3029, 1.6883, 0.6414, 1.8329, 0.5025, 0.1312, 0.1058, 0.1142,
    ],
    [
        0.2882918, 1.3726242, 2.3861322, 8.215636, 6.339965, 0.9130969, 2.940639, 0.07696985,
        1.7921946, 0.2464217, 0.71595186, 1.5631561, 0.001, 0.34230903, 1.7282416, 0.68038,
        1.7929853, 0.46258268, 0.14039303, 0.14509967, 0.1,
    ],
]  # fmt: skip


def test_forgetting_curve_values() -> None:
    t = torch.arange(4, dtype=torch.float64)
    w = torch.from_numpy(DEFAULTS.copy())
    r = fsrs6.forgetting_curve(t, torch.ones(4, dtype=torch.float64), w)
    expected = [1.0, 0.9, 0.8458846451494336, 0.8093881035731708]
    assert r.tolist() == pytest.approx(expected, abs=1e-14)


@given(st.floats(0.01, 1000), st.floats(0.7, 0.99), st.floats(0.1, 0.8))
def test_interval_inverts_the_forgetting_curve(stability: float, retention: float, decay: float) -> None:
    w = torch.from_numpy(DEFAULTS.copy())
    w[20] = decay
    s = torch.tensor(stability, dtype=torch.float64)
    days = fsrs6.interval(s, retention, w)
    assert fsrs6.forgetting_curve(days, s, w).item() == pytest.approx(retention, abs=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_two_adam_steps_give_the_reference_values(dtype: torch.dtype) -> None:
    model = FSRS6(dtype=dtype)
    batch = reference_batch(dtype)
    adam = torch.optim.Adam([model.w], lr=0.04, eps=1e-8)
    for loss, gradient, after in zip(LOSS, GRADIENT, AFTER_STEP, strict=True):
        output = model.forward_classification(batch)
        assert output.loss.item() == pytest.approx(loss, rel=1e-5)
        by_autograd = Gradients.from_backward(output.loss, model)
        np.testing.assert_allclose(by_autograd.grad(model.w), gradient, rtol=1e-4, atol=1e-6)
        out = training_step(model, batch, adam)
        assert out.loss == pytest.approx(loss, rel=1e-5)
        np.testing.assert_allclose(out.gradients.grad(model.w), gradient, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(model.parameters_array(), after, rtol=1e-4)


def test_stepping_by_autograd_gradients_is_the_same() -> None:
    model = FSRS6()
    adam = torch.optim.Adam([model.w], lr=0.04, eps=1e-8)
    for after in AFTER_STEP:
        loss = model.forward_classification(reference_batch()).loss
        grads = Gradients.from_backward(loss, model)
        step(adam, model, GradientsParams.from_grads(grads, model))
        model.clip_()
        np.testing.assert_allclose(model.parameters_array(), after, rtol=1e-4)


def test_prior_penalty_has_the_reference_value() -> None:
    value, _ = ClassicPrior(centre=DEFAULTS, gamma=2.0)(np.array(AFTER_STEP[0]))
    assert value * 512 / 1000 == pytest.approx(0.67711145, rel=1e-4)


histories = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from([0, 0, 1, 2, 5, 13, 40, 200, 1000])), min_size=1, max_size=12
)


@settings(max_examples=60)
@given(histories)
def test_memory_states_equal_fsrs_rs(history: list[tuple[int, int]]) -> None:
    fsrs_rs = pytest.importorskip("fsrs_rs_python")
    history = [(history[0][0], 0), *history[1:]]
    item = fsrs_rs.FSRSItem([fsrs_rs.FSRSReview(rating, t) for rating, t in history])
    theirs = fsrs_rs.FSRS(DEFAULTS.tolist()).memory_state(item)
    column = torch.tensor(history, dtype=torch.float64)
    stability, difficulty = FSRS6().memory_state(column[:, 1:], column[:, :1])
    assert stability.item() == pytest.approx(theirs.stability, rel=2e-4)
    assert difficulty.item() == pytest.approx(theirs.difficulty, rel=1e-4)


def test_padding_leaves_the_state_alone() -> None:
    whole = reference_batch()
    padded = FSRSBatch(
        t_historys=torch.cat([whole.t_historys, torch.zeros(3, 4, dtype=torch.float64)]),
        r_historys=torch.cat([whole.r_historys, torch.zeros(3, 4, dtype=torch.float64)]),
        delta_ts=whole.delta_ts,
        labels=whole.labels,
        weights=whole.weights,
    )
    model = FSRS6()
    assert model.forward_classification(padded).loss.item() == model.forward_classification(whole).loss.item()
    assert padded.evaluate(DEFAULTS).loss == whole.evaluate(DEFAULTS).loss


def test_a_same_day_good_at_a_tie_takes_the_raw_side() -> None:
    w = torch.from_numpy(DEFAULTS.copy())
    w[17:20] = 0.0
    w.requires_grad_()
    stability = torch.tensor([5.0], dtype=torch.float64)
    new = fsrs6.same_day_stability(stability, torch.tensor([3.0], dtype=torch.float64), w)
    new.sum().backward()
    # raw: d(S exp(w17 w18) S^-w19) by w19 = -S ln S at w17..w19 = 0
    assert new.item() == 5.0
    assert w.grad is not None
    assert w.grad[19].item() == pytest.approx(-5 * np.log(5))


def test_model_refuses_other_than_21_finite_numbers() -> None:
    with pytest.raises(ValueError, match="21"):
        FSRS6([1.0] * 19)
    with pytest.raises(ValueError, match="finite"):
        FSRS6([*DEFAULTS[:20], float("nan")])


def test_given_parameters_are_brought_into_their_ranges() -> None:
    w = DEFAULTS.copy()
    w[0], w[3], w[19], w[20] = -1.0, 1e9, 0.0, 5.0
    model = FSRS6(w)
    assert model.parameters_array()[[0, 3, 19, 20]].tolist() == [0.001, 100.0, 0.0, 0.8]

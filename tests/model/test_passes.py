"""The hand-written passes against autograd of the readable equations, in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from fsrs_opt.model.batch import FSRSBatch, WindowedBatch
from fsrs_opt.model.fsrs6 import FSRS6
from fsrs_opt.model.parameters import DEFAULTS
from tests.model.cases import (
    autograd_pass,
    cards,
    item_retrievabilities,
    reference_batch,
    relative_error,
    weights,
    windowed,
)


def evaluate(batch: WindowedBatch, w: np.ndarray, *, fisher: bool = False):
    return batch.evaluate(w, fisher=fisher)


@settings(max_examples=120, deadline=None)
@given(cards, weights())
def test_gradient_and_fisher_equal_autograd(cards, w) -> None:
    batch = windowed(cards)
    loss, gradient, fisher = autograd_pass(batch, w)
    reverse, forward = evaluate(batch, w), evaluate(batch, w, fisher=True)
    assert reverse.loss == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert forward.loss == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert relative_error(reverse.gradient, gradient) < 1e-9
    assert relative_error(forward.gradient, gradient) < 1e-9
    assert relative_error(forward.fisher, fisher) < 1e-9


ODD = {
    "one review": [[(0, 3)]],
    "same day only": [[(0, 1)] + [(0, k % 4 + 1) for k in range(70)]],
    "many same-day steps before a later review": [[(0, 1)] + [(0, 3)] * 70 + [(2, 3), (4, 1)]],
    "ninety daily reviews": [[(0, 3)] + [(1, 3 if k % 9 else 1) for k in range(90)]],
    "always Again": [[(0, 1)] + [(1, 1)] * 30],
    "always Easy, far apart": [[(0, 4)] + [(20000, 4)] * 12],
    "different lengths": [[(0, 2)], [(0, 3), (5, 3)], [(0, 1), (0, 3), (1, 1), (9, 4)], [(0, 4), (30, 2)]],
}


def test_a_delay_beyond_whole_numbers_of_32_bits_is_no_negative_one() -> None:
    zeros, ones = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    for days in (2.0**31, 3e9):
        mini = FSRSBatch(zeros, zeros + 3, days * ones, ones, ones)
        s = DEFAULTS[2]  # after a first Good
        r = (1 + (0.9 ** (-1 / DEFAULTS[20]) - 1) * days / s) ** -DEFAULTS[20]
        assert mini.evaluate(DEFAULTS).loss == pytest.approx(-np.log(r), rel=1e-9)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("short_term", [True, False])
def test_odd_histories(name: str, short_term: bool) -> None:
    w = DEFAULTS.copy()
    if not short_term:
        w[17:20] = 0.0
    batch = windowed(ODD[name])
    loss, gradient, fisher = autograd_pass(batch, w)
    found = evaluate(batch, w, fisher=True)
    assert found.loss == pytest.approx(loss, rel=1e-9)
    assert relative_error(found.gradient, gradient) < 1e-9
    assert relative_error(evaluate(batch, w).gradient, gradient) < 1e-9
    assert relative_error(found.fisher, fisher) < 1e-9


def test_mini_batch_pass_equals_autograd_of_the_module() -> None:
    model = FSRS6()
    batch = reference_batch()
    output = model.forward_classification(batch)
    output.loss.backward()
    for fisher in (False, True):
        found = batch.evaluate(model.parameters_array(), fisher=fisher)
        assert found.loss == pytest.approx(output.loss.item(), rel=1e-12)
        np.testing.assert_allclose(found.gradient, model.w.grad, atol=1e-12)


def test_windowed_form_equals_the_sum_over_items() -> None:
    batch = windowed(ODD["different lengths"] + ODD["ninety daily reviews"])
    items = []
    for start, end in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        items += [(start, i) for i in range(start + 1, end) if batch.weight[i] > 0]
    longest = max(i - start for start, i in items)
    t, r = np.zeros((longest, len(items))), np.zeros((longest, len(items)))
    for column, (start, i) in enumerate(items):
        t[: i - start, column], r[: i - start, column] = batch.delta_t[start:i], batch.rating[start:i]
    scored = [i for _, i in items]
    mini = FSRSBatch(
        torch.from_numpy(t),
        torch.from_numpy(r),
        torch.from_numpy(batch.delta_t[scored].astype(float)),
        torch.from_numpy((batch.rating[scored] > 1).astype(float)),
        torch.from_numpy(batch.weight[scored]),
    )
    whole, parts = (
        evaluate(batch, DEFAULTS, fisher=True),
        mini.evaluate(DEFAULTS, fisher=True),
    )
    assert whole.loss == pytest.approx(parts.loss, rel=1e-12)
    np.testing.assert_allclose(whole.gradient, parts.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole.fisher, parts.fisher, rtol=1e-9, atol=1e-12)


def test_predictions_are_in_the_order_of_the_reviews() -> None:
    batch = windowed(ODD["different lengths"])
    expected, where = item_retrievabilities(batch, torch.tensor(DEFAULTS))
    found = batch.retrievability(DEFAULTS)
    np.testing.assert_allclose(found[where], expected, rtol=1e-12)
    assert np.isnan(found[batch.offsets[:-1]]).all()


def test_thread_count_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    delta_t, rating = rng.integers(0, 9, (40000, 6)).tolist(), rng.integers(1, 5, (40000, 6)).tolist()
    batch = windowed([[(0, 3), *zip(*card, strict=True)] for card in zip(delta_t, rating, strict=True)])
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(evaluate(batch, DEFAULTS, fisher=True))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert results[0].loss == results[1].loss
    assert (results[0].gradient == results[1].gradient).all()
    assert (results[0].fisher == results[1].fisher).all()


def test_nothing_to_score() -> None:
    none = np.zeros(0)
    empty = WindowedBatch(
        np.zeros(1, np.int64), none.astype(np.int8), none.astype(np.int32), none, kernel="torch"
    )
    found = evaluate(empty, DEFAULTS, fisher=True)
    assert found.loss == 0.0
    assert not found.gradient.any()
    assert not found.fisher.any()


def test_mini_batch_shapes_are_checked() -> None:
    whole = reference_batch()
    with pytest.raises(ValueError, match="seq_len"):
        FSRSBatch(whole.t_historys, whole.r_historys[:3], whole.delta_ts, whole.labels, whole.weights)
    with pytest.raises(ValueError, match="batch"):
        FSRSBatch(whole.t_historys, whole.r_historys, whole.delta_ts[:2], whole.labels, whole.weights)
    holes = whole.r_historys.clone()
    holes[2, 1] = 0
    with pytest.raises(ValueError, match="padding"):
        FSRSBatch(whole.t_historys, holes, whole.delta_ts, whole.labels, whole.weights).evaluate(DEFAULTS)

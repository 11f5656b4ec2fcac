"""The native passes against float64 autograd of the readable equations, on every instruction set at hand.

The error of a gradient entry is taken relative to the sum of the absolute contributions of the reviews to it:
float32 can be no better where contributions cancel. An error that changes the loss by less than 1e-7 of
itself over the whole range of the parameter is none, and so is information of less than 1e-4 nats over that
range. On real logs the plain relative error is tested.

Difficulty is a float32 near 10 for hard cards, so 10 - D has few digits: in contrived histories w4..w7 are
allowed five times the error.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.errors import UsageError
from fsrs_opt.model import fsrs6, native
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.kernel import choose
from fsrs_opt.model.parameters import DEFAULTS, LOWER, S_MAX, S_MIN, UPPER
from tests.model.cases import cards, random_batch, weights, windowed

if not native.available():
    pytest.skip("installed without the native kernels", allow_module_level=True)

import fsrs_opt.model.operator  # noqa: F401  (the torch operator)
from fsrs_opt import _native

ISAS = _native.isas()
GRADIENT, FISHER = 1e-5, 1e-4  # largest errors that the kernels promise
CONTRIVED = np.where((np.arange(21) >= 4) & (np.arange(21) <= 7), 5.0, 1.0)


class Reference:
    """Float64 autograd (forward mode) of `fsrs6`, all cards side by side."""

    def __init__(self, batch: WindowedBatch, w: np.ndarray) -> None:
        w_ = torch.tensor(w, dtype=torch.float64)
        steps = batch.steps

        def retrievabilities(w: torch.Tensor) -> torch.Tensor:
            state, values = fsrs6.initial_state(steps.step(0)[1], w), []
            for k in range(1, len(steps)):
                t, rating, _ = steps.step(k)
                state = state[0][: len(t)], state[1][: len(t)]
                values.append(fsrs6.forgetting_curve(t, state[0].clamp(S_MIN, S_MAX), w))
                state = fsrs6.next_state(*state, t, rating, w)
            return torch.cat(values) if values else torch.zeros(0, dtype=torch.float64)

        first = steps.starts[1] if len(steps) else 0
        R = retrievabilities(w_).numpy() if len(steps) else np.zeros(0)
        by_w = torch.func.jacfwd(retrievabilities)(w_).numpy() if len(R) else np.zeros((0, 21))
        weight, recalled = steps.weight[first:].numpy(), steps.rating[first:].numpy() > 1
        r = np.clip(R, fsrs6.R_CLAMP, 1 - fsrs6.R_CLAMP)
        weight_inside = weight * (r == R)
        self.loss = -(weight * np.where(recalled, np.log(r), np.log1p(-r))).sum()
        by_R = weight_inside * np.where(recalled, -1 / r, 1 / (1 - r))
        information = weight_inside / (r * (1 - r))
        contributions = by_R[:, None] * by_w
        self.gradient = contributions.sum(axis=0)
        self.scale = np.abs(contributions).sum(axis=0)
        self.fisher = by_w.T @ (information[:, None] * by_w)
        self.root = np.sqrt(np.diag(self.fisher))
        # Where t is near S, every decay predicts 0.9: the derivative by w20 is the difference of two terms,
        # of which R ln R / w20 is one.
        term = r * np.log(r) / w[20]
        self.scale[20] += np.abs(by_R * term).sum()
        self.root[20] += np.sqrt((information * term**2).sum())


def pack(batch: WindowedBatch) -> _native.Pack:
    return native.pack(batch.offsets, batch.rating, batch.delta_t, batch.weight)


def check(batch: WindowedBatch, w: np.ndarray) -> None:
    if np.diff(batch.offsets).max(initial=0) < 200:
        expected = Reference(batch, w)
        onward = GRADIENT
    else:  # the hand-written pass, which has its own tests against autograd; here contributions hardly cancel
        onward = 1e-4  # what thousands of steps of one card add up to in the derivatives carried along
        expected = batch.evaluate(w, fisher=True)
        gradient, fisher = expected.gradient, expected.fisher
        expected = SimpleNamespace(
            loss=expected.loss,
            gradient=gradient,
            scale=np.abs(gradient),
            fisher=fisher,
            root=np.sqrt(np.diag(fisher)),
        )
    tiny = 1e-7 * expected.loss / (UPPER - LOWER)
    root = np.sqrt(CONTRIVED) * (expected.root + 1e-2 / (UPPER - LOWER))
    packed = pack(batch)
    for isa in ISAS:
        loss, gradient = packed.loss_gradient(w, 1, isa)
        also_loss, also_gradient, fisher = packed.loss_gradient_fisher(w, 1, isa)
        for value in (loss, also_loss, packed.loss(w, 1, isa)):
            assert value == pytest.approx(expected.loss, rel=1e-5, abs=1e-12)
        for values, largest in ((gradient, GRADIENT), (also_gradient, onward)):
            assert (np.abs(values - expected.gradient) <= largest * CONTRIVED * expected.scale + tiny).all()
        assert (np.abs(fisher - expected.fisher) <= max(FISHER, 2 * onward) * np.outer(root, root)).all()
        assert (fisher == fisher.T).all()


@settings(max_examples=80, deadline=None)
@given(cards, weights())
def test_gradient_and_fisher_equal_autograd(cards, w) -> None:
    check(windowed(cards), w)


long_review = st.tuples(st.sampled_from([0, 0, 0, 1, 2, 5, 20, 100, 1000, 36500, 80000]), st.integers(1, 4))
long_card = st.tuples(st.integers(1, 4), st.lists(long_review, max_size=25)).map(lambda c: [(0, c[0]), *c[1]])


@settings(max_examples=25, deadline=None)
@given(st.lists(long_card, min_size=1, max_size=20), weights())
def test_long_histories(cards, w) -> None:
    check(windowed(cards), w)


@st.composite
def related_cards(draw) -> list[list[tuple[int, int]]]:
    """Cards that begin alike and part somewhere, some of them the same to the end."""
    trunk = draw(long_card)
    branches = draw(st.lists(st.tuples(st.integers(0, 26), st.lists(long_review, max_size=4)), max_size=30))
    cards = [trunk] + [trunk[: max(1, at)] + tail for at, tail in branches]
    return cards + draw(st.lists(st.sampled_from(cards), max_size=10))


@settings(max_examples=60, deadline=None)
@given(related_cards(), weights())
def test_histories_that_share_their_beginnings(cards, w) -> None:
    batch = windowed(cards)
    check(batch, w)
    seen = native.predict(pack(batch), w)
    for ours, reference in zip(seen, batch.memory_states(w), strict=True):
        np.testing.assert_allclose(ours, reference, rtol=2e-4, atol=1e-6)


def test_equal_histories_are_computed_once() -> None:
    history = [(0, 3), (1, 3), (3, 1), (0, 3), (2, 4), (9, 2)]
    one, many = (pack(windowed([history] * n)) for n in (1, 1000))
    assert many.n_slots == one.n_slots
    # the weights of `windowed` have a period of 7 reviews, so 7 cards of 6 reviews have all that there are
    loss, gradient = pack(windowed([history] * 7)).loss_gradient(DEFAULTS)
    loss_of_many, gradient_of_many = pack(windowed([history] * 7000)).loss_gradient(DEFAULTS)
    assert loss_of_many == pytest.approx(1000 * loss, rel=1e-6)
    np.testing.assert_allclose(gradient_of_many, 1000 * gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("low", [True, False])
@pytest.mark.parametrize("k", range(21))
def test_every_face_of_the_box(k: int, low: bool) -> None:
    rng = np.random.default_rng(k)
    cards = [
        [
            (0, rng.integers(1, 5)),
            *zip(rng.choice([0, 1, 4, 30, 300], 12), rng.integers(1, 5, 12), strict=True),
        ]
        for _ in range(40)
    ]
    w = DEFAULTS.copy()
    w[k] = LOWER[k] if low else UPPER[k]
    check(windowed(cards), w)


ODD = {
    "one review": [[(0, 3)]],
    "one review each": [[(0, g)] for g in (1, 2, 3, 4)] * 20,
    "same day only": [[(0, 1)] + [(0, k % 4 + 1) for k in range(70)]],
    "3000 same-day Good": [[(0, 1)] + [(0, 3)] * 3000 + [(2, 3), (4, 1)]],
    "3000 same-day reviews": [[(0, 3)] + [(0, 1 + k * 7 % 4) for k in range(3000)] + [(2, 3), (40, 1)]],
    "3000 same-day reviews beside normal cards": [
        [(0, 3)] + [(0, 1 + k * 7 % 4) for k in range(3000)] + [(2, 3)],
        *[[(0, 3), (0, 3), (1, 3), (5, 1), (9, 3)]] * 50,
    ],
    "ninety daily reviews": [[(0, 3)] + [(1, 3 if k % 9 else 1) for k in range(90)]],
    "always Again": [[(0, 1)] + [(1, 1)] * 30],
    "stability at its ceiling": [[(0, 4)] + [(20000, 4)] * 12 + [(36500, 3), (90000, 1), (1, 3)]],
    "stability at its floor": [[(0, 1)] + [(0, 1)] * 40 + [(30000, 1)] * 5],
    "different lengths": [[(0, 2)], [(0, 3), (5, 3)], [(0, 1), (0, 3), (1, 1), (9, 4)], [(0, 4), (30, 2)]],
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("short_term", [True, False])
def test_odd_histories(name: str, short_term: bool) -> None:
    w = DEFAULTS.copy()
    if not short_term:
        w[17:20] = 0.0
    check(windowed(ODD[name]), w)


def real_batch(path) -> WindowedBatch:
    import pandas as pd

    from fsrs_opt.reviews.history import histories

    rows = pd.read_parquet(path)
    names = {"id": "review_time", "cid": "card_id", "ease": "rating", "type": "kind", "factor": "factor"}
    kinds = {"review_time": "int64", "card_id": "int64", "rating": "int8", "kind": "int8", "factor": "int32"}
    h = histories(rows[list(names)].rename(columns=names).astype(kinds), lambda ms: ms // 86_400_000)
    return WindowedBatch(h.offsets, h.rating, h.delta_t, np.where(h.delta_t > 0, 1.0, 0.0))


@pytest.mark.parametrize("name", ["real02", "real11"])
def test_plain_relative_error_on_real_logs(shared_real, name: str) -> None:
    batch = real_batch(shared_real / f"{name}.parquet")
    expected, packed = Reference(batch, DEFAULTS), pack(batch)
    for isa in ISAS:
        loss, gradient, fisher = packed.loss_gradient_fisher(DEFAULTS, 1, isa)
        assert loss == pytest.approx(expected.loss, rel=1e-7)
        np.testing.assert_allclose(gradient, expected.gradient, rtol=GRADIENT)
        np.testing.assert_allclose(
            packed.loss_gradient(DEFAULTS, 1, isa)[1], expected.gradient, rtol=GRADIENT
        )
        np.testing.assert_allclose(fisher, expected.fisher, rtol=FISHER, atol=1e-9 * np.abs(fisher).max())


def test_predictions_and_states_are_those_of_the_reference_in_its_order() -> None:
    batch = windowed(ODD["different lengths"] + ODD["ninety daily reviews"] + ODD["stability at its ceiling"])
    expected = batch.memory_states(DEFAULTS)
    for isa in ISAS:
        for found, value in zip(pack(batch).forward(DEFAULTS, 1, isa), expected, strict=True):
            np.testing.assert_allclose(found, value, rtol=2e-6)
    assert np.isnan(native.predict(pack(batch), DEFAULTS)[0][batch.offsets[:-1]]).all()


def test_first_reviews_are_never_scored() -> None:
    batch = windowed([[(0, 3), (5, 3)], [(0, 1), (2, 1)]])
    everywhere = WindowedBatch(batch.offsets, batch.rating, batch.delta_t, batch.weight + 0.0)
    everywhere.weight[batch.offsets[:-1]] = 7.0
    assert pack(everywhere).loss(DEFAULTS) == pack(batch).loss(DEFAULTS)


def test_a_scored_same_day_review_counts_at_the_clamp() -> None:
    offsets, rating = np.array([0, 3]), np.array([3, 3, 1], dtype=np.int8)
    found = native.evaluate(
        native.pack(offsets, rating, np.zeros(3, np.int32), np.ones(3)), DEFAULTS, fisher=True
    )
    assert found.loss == pytest.approx(1e-7 - np.log(1e-7), rel=1e-6)
    assert not found.gradient.any()
    assert not found.fisher.any()


def test_no_cards_and_empty_cards() -> None:
    none = np.zeros(0)
    for offsets in ([0], [0, 0, 0]):
        packed = native.pack(offsets, none, none, none)
        loss, gradient, fisher = packed.loss_gradient_fisher(DEFAULTS)
        assert loss == 0.0
        assert not gradient.any()
        assert not fisher.any()
        assert all(len(a) == 0 for a in packed.forward(DEFAULTS))
    with_gap = native.pack([0, 2, 2, 4], [3, 3, 3, 1], [0, 5, 0, 2], np.ones(4))
    without = native.pack([0, 2, 4], [3, 3, 3, 1], [0, 5, 0, 2], np.ones(4))
    assert with_gap.loss(DEFAULTS) == without.loss(DEFAULTS)


GOOD = {"offsets": [0, 2, 3], "rating": [3, 1, 4], "delta_t": [0, 2, 0], "weight": [0.0, 1.0, 0.0]}
BAD = {
    "no offsets": {"offsets": []},
    "offsets from 1": {"offsets": [1, 2, 3]},
    "offsets too short": {"offsets": [0, 2]},
    "offsets too far": {"offsets": [0, 2, 4]},
    "offsets back": {"offsets": [0, 2**62, 3]},
    "offsets negative": {"offsets": [0, -(2**62), 3]},
    "offsets two-dimensional": {"offsets": [[0, 2, 3]]},
    "rating 0": {"rating": [3, 0, 4]},
    "first rating 5": {"rating": [5, 1, 4]},
    "rating 259, which is 3 in int8": {"rating": [3, 259, 4]},
    "rating 2.5": {"rating": [3, 2.5, 4]},
    "delta_t negative": {"delta_t": [0, -1, 0]},
    "delta_t beyond int32": {"delta_t": [0, 2**33, 0]},
    "delta_t NaN": {"delta_t": [0, np.nan, 0]},
    "weight NaN": {"weight": [0, np.nan, 0]},
    "weight infinite": {"weight": [0, np.inf, 0]},
    "weight negative": {"weight": [0, -1, 0]},
    "weight short": {"weight": [0, 1]},
    "weight text": {"weight": ["a", "b", "c"]},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arrays_are_refused(name: str) -> None:
    native.pack(**GOOD)
    with pytest.raises(ValueError, match=r"."):
        native.pack(**{**GOOD, **BAD[name]})


arrays = st.lists(st.one_of(st.integers(-3, 6), st.sampled_from([2**31 - 1, -(2**31), 100])), max_size=6)


@settings(max_examples=300, deadline=None)
@given(arrays, arrays, arrays, arrays)
def test_no_array_crashes_the_interpreter(offsets, rating, delta_t, weight) -> None:
    types = np.int64, np.int8, np.int32, np.float64
    given = [
        np.array(a).clip(-128, 127) if t is np.int8 else a
        for a, t in zip((offsets, rating, delta_t, weight), types, strict=True)
    ]
    try:
        packed = _native.Pack(*(np.array(a, dtype=t) for a, t in zip(given, types, strict=True)))
    except ValueError:
        return
    assert np.isfinite(packed.loss(DEFAULTS))
    packed.forward(DEFAULTS)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e9, -1e9])
@pytest.mark.parametrize("k", range(21))
def test_parameters_far_outside_their_ranges_are_refused(k: int, value: float) -> None:
    w = DEFAULTS.copy()
    w[k] = value
    packed = native.pack(**GOOD)
    for call in (packed.loss, packed.loss_gradient, packed.loss_gradient_fisher, packed.forward):
        with pytest.raises(ValueError, match=rf"w\[{k}\]"):
            call(w)


def test_wrong_number_of_parameters_is_refused() -> None:
    with pytest.raises(ValueError, match="21"):
        native.pack(**GOOD).loss(DEFAULTS[:20].copy())


def test_instruction_set_can_be_chosen(monkeypatch) -> None:
    assert _native.isa(ISAS[-1]) == ISAS[-1]
    monkeypatch.setenv("FSRS_OPT_ISA", "baseline")
    assert _native.isa() == "baseline"
    monkeypatch.setenv("FSRS_OPT_ISA", "mmx")
    with pytest.raises(ValueError, match="mmx"):
        _native.isa()
    with pytest.raises(UsageError, match=r"mmx.*FSRS_OPT_ISA"):
        choose(None)
    assert choose("torch") == "torch"


def tensors(batch: WindowedBatch) -> tuple[torch.Tensor, ...]:
    return tuple(
        torch.from_numpy(np.asarray(a)) for a in (batch.offsets, batch.rating, batch.delta_t, batch.weight)
    )


@pytest.mark.parametrize("requires_grad", [True, False])
def test_operator_passes_opcheck(requires_grad: bool) -> None:
    w = torch.tensor(DEFAULTS, requires_grad=requires_grad)
    arguments = (w, *tensors(windowed(ODD["different lengths"])))
    torch.library.opcheck(torch.ops.fsrs_opt.loss.default, arguments)
    torch.library.opcheck(torch.ops.fsrs_opt.loss_gradient.default, (w.detach(), *arguments[1:]))


def test_operator_has_the_gradient_of_the_pass() -> None:
    batch = random_batch(200)
    w = torch.tensor(DEFAULTS, requires_grad=True)
    (2 * torch.ops.fsrs_opt.loss(w, *tensors(batch))).backward()
    expected = native.evaluate(pack(batch), DEFAULTS)
    assert w.grad.tolist() == (2 * expected.gradient).tolist()


def test_operator_notices_a_write_into_its_histories() -> None:
    histories = tensors(random_batch(200))
    w = torch.tensor(DEFAULTS)
    before = torch.ops.fsrs_opt.loss(w, *histories)
    histories[3].mul_(2)
    assert torch.ops.fsrs_opt.loss(w, *histories).item() == pytest.approx(2 * before.item(), rel=1e-6)

"""Zero entries of a replaced gradient: the step moves them, and the optimizer's state for them, by no bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn, optim

from fsrs_opt.gradients.gradients import Gradients, GradientsParams
from fsrs_opt.gradients.stepping import step

from .test_stepping import Make, all_of, bits, every_optimizer, ordinary_step

N_HELD = 4


class Weights(nn.Module):
    def __init__(self, w: Tensor | None = None) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.w = nn.Parameter(torch.randn(21) if w is None else w)

    def forward(self) -> Tensor:
        return ((self.w - torch.linspace(-1, 1, self.w.numel(), dtype=self.w.dtype)) ** 4).sum()


def without_first(gradient: Tensor, n: int = N_HELD) -> Tensor:
    gradient = gradient.clone()
    gradient[:n] = 0
    return gradient


def frozen_step(optimizer: optim.Optimizer, model: Weights, lr: float | None = None) -> None:
    grads = Gradients.from_backward(model(), model)
    grads.grad_replace(model.w, without_first(grads.grad(model.w)))
    step(optimizer, model, GradientsParams.from_grads(grads, model), lr=lr)


def per_entry(optimizer: optim.Optimizer, model: Weights) -> dict[str, Tensor]:
    found = optimizer.state.get(model.w, {})
    return {k: v for k, v in found.items() if isinstance(v, Tensor) and v.shape == model.w.shape}


def clip_by_norm(optimizer: optim.Optimizer, *_: Any) -> None:
    nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 0.1)


@pytest.mark.parametrize("clipped", [False, True])
@every_optimizer
def test_held_entries_and_their_state_keep_every_bit(make: Make, clipped: bool) -> None:
    model = Weights()
    optimizer = make(model.parameters())
    if clipped:
        optimizer.register_step_pre_hook(clip_by_norm)
    for _ in range(3):  # momentum and other state from before
        ordinary_step(optimizer, model)
    before = bits(model.w)
    state = {key: bits(value) for key, value in per_entry(optimizer, model).items()}
    assert all(any(value[:N_HELD]) for value in state.values())  # there is something to keep
    for _ in range(4):
        frozen_step(optimizer, model, lr=0.05)
    after = bits(model.w)
    assert after[:N_HELD] == before[:N_HELD]
    assert all(new != old for new, old in zip(after[N_HELD:], before[N_HELD:], strict=True))
    for key, value in per_entry(optimizer, model).items():
        assert bits(value)[:N_HELD] == state[key][:N_HELD], key


@every_optimizer
def test_holding_changes_nothing_for_the_other_entries(make: Make) -> None:
    ours, theirs = Weights(), Weights()
    optimizer, reference = make(ours.parameters()), make(theirs.parameters())
    for _ in range(2):
        ordinary_step(optimizer, ours)
        ordinary_step(reference, theirs)
    for _ in range(3):
        frozen_step(optimizer, ours)
        theirs().backward()
        theirs.w.grad = without_first(theirs.w.grad)  # the field's way: a zero gradient, and hope
        reference.step()
        reference.zero_grad()
    assert bits(ours.w)[N_HELD:] == bits(theirs.w)[N_HELD:]
    for key, value in per_entry(optimizer, ours).items():
        assert bits(value)[N_HELD:] == bits(per_entry(reference, theirs)[key])[N_HELD:], key


@every_optimizer
def test_a_state_born_while_held_is_that_of_an_entry_at_rest(make: Make) -> None:
    """As for an entry whose gradient and value are zero: neither L2 decay nor the value has left a trace."""
    model, resting = Weights(), Weights()
    with torch.no_grad():
        resting.w[:N_HELD] = 0
    optimizer, reference = make(model.parameters()), make(resting.parameters())
    frozen_step(optimizer, model)
    frozen_step(reference, resting)
    for key, value in per_entry(optimizer, model).items():
        assert bits(value)[:N_HELD] == bits(per_entry(reference, resting)[key])[:N_HELD], key


def test_state_born_while_held_by_hand() -> None:
    model = Weights()
    sgd = optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=0.1)
    frozen_step(sgd, model)
    assert sgd.state[model.w]["momentum_buffer"][:N_HELD].tolist() == [0.0] * N_HELD  # not 0.1 w
    rprop = optim.Rprop(model.parameters(), lr=0.01)
    frozen_step(rprop, model)
    assert rprop.state[model.w]["step_size"][:N_HELD].tolist() == pytest.approx([0.01] * N_HELD)  # not 0


def test_a_zero_that_was_not_put_there_follows_the_optimizer() -> None:
    model = Weights()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    ordinary_step(optimizer, model)
    before = bits(model.w)
    grads = Gradients.from_named(model, {"w": torch.zeros(21)})
    step(optimizer, model, GradientsParams.from_grads(grads, model))
    assert all(new != old for new, old in zip(bits(model.w), before, strict=True))  # momentum


def test_holding_ends_with_the_step() -> None:
    model = Weights()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    frozen_step(optimizer, model)
    before = bits(model.w)
    step(optimizer, model, all_of(model))
    assert all(new != old for new, old in zip(bits(model.w), before, strict=True))


def test_hooks_cannot_move_held_entries() -> None:
    """A penalty added to `.grad` before, and a clamp of the allowed range after the optimizer."""
    model = Weights(torch.linspace(-3, 3, 21))
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def penalty(*_: Any) -> None:
        assert model.w.grad is not None
        model.w.grad.add_(model.w.detach())

    @torch.no_grad()
    def clamp(*_: Any) -> None:
        model.w.clamp_(-1, 1)

    optimizer.register_step_pre_hook(penalty)
    optimizer.register_step_post_hook(clamp)
    before = bits(model.w)
    frozen_step(optimizer, model)
    assert bits(model.w)[:N_HELD] == before[:N_HELD]
    assert model.w[N_HELD:].abs().max() <= 1
    assert optimizer.state[model.w]["exp_avg"][:N_HELD].tolist() == [0.0] * N_HELD


def test_a_norm_that_is_not_finite_does_not_reach_held_entries() -> None:
    model = Weights()
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    optimizer.register_step_pre_hook(clip_by_norm)
    gradient = torch.full((21,), float("inf"))
    grads = Gradients.from_named(model, {"w": gradient})
    grads.grad_replace(model.w, without_first(gradient))
    before = bits(model.w)
    step(optimizer, model, GradientsParams.from_grads(grads, model))
    assert bits(model.w)[:N_HELD] == before[:N_HELD]
    assert optimizer.state[model.w]["momentum_buffer"][:N_HELD].tolist() == [0.0] * N_HELD
    assert model.w[N_HELD:].isnan().all()  # what is not held shows the trouble


def test_the_mask_travels_through_a_split() -> None:
    model = nn.ModuleDict({"a": Weights(), "b": Weights()})
    optimizer = optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        (model["a"]() + model["b"]()).backward()
        optimizer.step()
    before = bits(model["a"].w), bits(model["b"].w)
    grads = Gradients.from_backward(model["a"]() + model["b"](), model)
    grads.grad_replace(model["b"].w, without_first(grads.grad(model["b"].w)))
    step(optimizer, model, GradientsParams.from_params(grads, model, [model["a"].w]), lr=0.1)
    step(optimizer, model, GradientsParams.from_module(grads, model), lr=0.2)
    assert all(new != old for new, old in zip(bits(model["a"].w), before[0], strict=True))
    assert bits(model["b"].w)[:N_HELD] == before[1][:N_HELD]
    assert all(new != old for new, old in zip(bits(model["b"].w)[N_HELD:], before[1][N_HELD:], strict=True))


def test_a_single_number_can_be_held_and_its_step_count_goes_on() -> None:
    model = nn.ParameterDict({"s": nn.Parameter(torch.tensor(2.0))})
    optimizer = optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5)
    for value in (1.0, 0.0):
        grads = Gradients.from_named(model, {"s": torch.tensor(1.0)})
        grads.grad_replace(model["s"], torch.tensor(value))
        before = bits(model["s"]), bits(optimizer.state[model["s"]].get("exp_avg", torch.tensor(0.0)))
        step(optimizer, model, GradientsParams.from_grads(grads, model))
    assert (bits(model["s"]), bits(optimizer.state[model["s"]]["exp_avg"])) == before
    assert optimizer.state[model["s"]]["step"].item() == 2


@settings(max_examples=60, deadline=None)
@given(
    w=st.lists(st.floats(width=32, allow_nan=False), min_size=3, max_size=3),
    gradient=st.lists(st.floats(-10, 10, width=32), min_size=3, max_size=3),
    held=st.lists(st.booleans(), min_size=3, max_size=3),
    double=st.booleans(),
)
def test_any_value_is_held_to_the_last_bit(
    w: list[float], gradient: list[float], held: list[bool], double: bool
) -> None:
    dtype = torch.float64 if double else torch.float32
    model = nn.ParameterDict({"w": nn.Parameter(torch.tensor(w, dtype=dtype))})
    optimizer = optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5)
    full = torch.tensor(gradient, dtype=dtype)
    first = Gradients.from_named(model, {"w": full})
    step(optimizer, model, GradientsParams.from_grads(first, model))
    before = bits(model["w"])
    grads = Gradients.from_named(model, {"w": full})
    grads.grad_replace(model["w"], torch.where(torch.tensor(held), 0, full))
    step(optimizer, model, GradientsParams.from_grads(grads, model))
    after = bits(model["w"])
    assert [new for new, h in zip(after, held, strict=True) if h] == [
        old for old, h in zip(before, held, strict=True) if h
    ]

"""One step on gradients as a value: exactly those parameters, at that learning rate, and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim

from fsrs_opt.gradients.gradients import Gradients, GradientsParams
from fsrs_opt.gradients.identity import ids
from fsrs_opt.gradients.param_id import ParamId
from fsrs_opt.gradients.stepping import step

Make = Callable[[Any], optim.Optimizer]

OPTIMIZERS: dict[str, Make] = {
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "adam with L2": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.3, amsgrad=True),
    "adam foreach": lambda p: optim.Adam(p, lr=0.01, foreach=True, weight_decay=0.3),
    "adam fused": lambda p: optim.Adam(p, lr=0.01, fused=True, weight_decay=0.3),
    "adamw": lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.5),
    "sgd": lambda p: optim.SGD(p, lr=0.01),
    "sgd nesterov": lambda p: optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.9, centered=True, weight_decay=0.1),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.01, weight_decay=0.1, initial_accumulator_value=0.2),
    "adadelta": lambda p: optim.Adadelta(p, lr=0.5, weight_decay=0.1),
    "adamax": lambda p: optim.Adamax(p, lr=0.01, weight_decay=0.1),
    "nadam": lambda p: optim.NAdam(p, lr=0.01, weight_decay=0.1),
    "radam": lambda p: optim.RAdam(p, lr=0.01, weight_decay=0.1),
    "rprop": lambda p: optim.Rprop(p, lr=0.01),
}
every_optimizer = pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS.keys())


class Model(nn.Module):
    """Two parameters that a loss depends on together, and one that it does not."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Parameter(torch.randn(6))
        self.b = nn.Parameter(torch.randn(2, 3))
        self.idle = nn.Parameter(torch.randn(2))

    def forward(self) -> Tensor:
        return ((self.w.reshape(2, 3) * self.b - 1) ** 2).sum()


def all_of(model: nn.Module) -> GradientsParams:
    return GradientsParams.from_grads(Gradients.from_backward(model(), model), model)


def bits(tensor: Tensor) -> list[int]:
    whole = {torch.float32: torch.int32, torch.float64: torch.int64}[tensor.dtype]
    return tensor.detach().contiguous().view(whole).flatten().tolist()


def state_bits(optimizer: optim.Optimizer, parameter: Tensor) -> dict[str, Any]:
    found = optimizer.state.get(parameter, {})
    return {key: bits(value) if isinstance(value, Tensor) else value for key, value in found.items()}


def ordinary_step(optimizer: optim.Optimizer, model: nn.Module) -> None:
    optimizer.zero_grad()
    model().backward()
    optimizer.step()
    optimizer.zero_grad()


@every_optimizer
def test_two_learning_rates_equal_param_groups_of_torch(make: Make) -> None:
    ours, theirs = Model(), Model()
    optimizer = make(ours.parameters())
    reference = make([{"params": [theirs.w], "lr": 0.02}, {"params": [theirs.b], "lr": 0.003}])
    for _ in range(6):
        grads = Gradients.from_backward(ours(), ours)
        fast = GradientsParams.from_params(grads, ours, [ours.w])
        slow = GradientsParams.from_module(grads, ours)
        step(optimizer, ours, fast, lr=0.02)
        step(optimizer, ours, slow, lr=0.003)
        ordinary_step(reference, theirs)
    assert bits(ours.w) == bits(theirs.w)
    assert bits(ours.b) == bits(theirs.b)
    assert state_bits(optimizer, ours.w) == state_bits(reference, theirs.w)
    assert state_bits(optimizer, ours.b) == state_bits(reference, theirs.b)


@every_optimizer
def test_what_has_no_gradient_there_does_not_move(make: Make) -> None:
    model = Model()
    optimizer = make(model.parameters())
    for _ in range(3):  # moments that would carry b on
        ordinary_step(optimizer, model)
    model.b.grad, model.idle.grad = torch.ones(2, 3), torch.ones(2)
    before = (
        bits(model.b),
        bits(model.idle),
        state_bits(optimizer, model.b),
        state_bits(optimizer, model.idle),
    )
    w = bits(model.w)
    mine = GradientsParams.from_params(Gradients.from_backward(model(), model), model, [model.w])
    step(optimizer, model, mine, lr=0.1)
    assert before == (
        bits(model.b),
        bits(model.idle),
        state_bits(optimizer, model.b),
        state_bits(optimizer, model.idle),
    )
    assert bits(model.w) != w


def test_state_is_not_created_for_what_does_not_move() -> None:
    model = Model()
    optimizer = optim.Adam(model.parameters())
    step(
        optimizer,
        model,
        GradientsParams.from_params(Gradients.from_backward(model(), model), model, [model.w]),
    )
    assert list(optimizer.state) == [model.w]


# Two Adam steps on the reference batch of the FSRS-6 description, in float32: gradients, then parameters
# after each step and the clamp (only w12 >= 0.001 and w20 >= 0.1 clamp here).
DEFAULTS = [
    *(0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796),
    *(1.4835, 0.0614, 0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542),
]
GRADIENTS = [
    [
        *(-0.095688485, -0.0051607806, -0.0012249565, 0.007462064, 0.03650761, -0.082112335, 0.0593964),
        *(-2.1474836, 0.57626534, -2.8751316, 0.7154875, -0.028993709, 0.0099172965, -0.2189217),
        *(-0.0017800558, -0.089381434, 0.299141, 0.068104014, -0.011605468, -0.25398168, 0.27700496),
    ],
    [
        *(-0.040530164, -0.0041278866, -0.0010157757, 0.007239434, 0.009321215, -0.120117955, 0.039143264),
        *(-0.8628009, 0.5794302, -2.5713828, 0.7669307, -0.024242667, 0.0, -0.16912507, -0.0017008218),
        *(-0.061857328, 0.28093633, 0.064058185, 0.0063592787, -0.1903223, 0.6257775),
    ],
]
AFTER = [
    [
        *(0.252, 1.3331, 2.3465, 8.2556, 6.3733, 0.8734, 2.9794, 0.041, 1.8322, 0.2066, 0.756),
        *(1.5235, 0.0214, 0.3029, 1.6883, 0.6414, 1.8329, 0.5025, 0.1312, 0.1058, 0.1142),
    ],
    [
        *(0.2882918, 1.3726242, 2.3861322, 8.215636, 6.339965, 0.9130969, 2.940639, 0.07696985, 1.7921946),
        *(0.2464217, 0.71595186, 1.5631561, 0.001, 0.34230903, 1.7282416, 0.68038, 1.7929853, 0.46258268),
        *(0.14039303, 0.14509967, 0.1),
    ],
]


def test_adam_on_the_reference_gradients_of_fsrs6() -> None:
    model = nn.ParameterDict({"w": nn.Parameter(torch.tensor(DEFAULTS))})
    optimizer = optim.Adam(model.parameters(), lr=1.0)
    for gradient, expected in zip(GRADIENTS, AFTER, strict=True):
        grads = Gradients.from_named(model, {"w": torch.tensor(gradient)})
        step(optimizer, model, GradientsParams.from_grads(grads, model), lr=0.04)
        with torch.no_grad():
            model["w"][12].clamp_(min=0.001)
            model["w"][20].clamp_(min=0.1)
        torch.testing.assert_close(model["w"].detach(), torch.tensor(expected), rtol=1e-4, atol=0)


def test_lr_and_grad_are_afterwards_what_they_were() -> None:
    model = Model()
    own = torch.tensor(0.5)
    optimizer = optim.Adam([{"params": [model.w], "lr": own}, {"params": [model.b, model.idle], "lr": 0.1}])
    kept = torch.full((6,), 7.0)
    model.w.grad = kept
    step(optimizer, model, all_of(model), lr=0.02)
    assert [group["lr"] for group in optimizer.param_groups] == [own, 0.1]
    assert optimizer.param_groups[0]["lr"] is own
    assert model.w.grad is kept
    assert kept.tolist() == [7.0] * 6
    assert model.b.grad is None


def test_without_lr_each_group_moves_at_its_own() -> None:
    model = Model()
    optimizer = optim.SGD([{"params": [model.w], "lr": 0.5}, {"params": [model.b, model.idle], "lr": 0.25}])
    grads = all_of(model)
    expected = model.w - 0.5 * grads.get(model.w), model.b - 0.25 * grads.get(model.b)
    step(optimizer, model, grads)
    torch.testing.assert_close((model.w, model.b), expected)


def test_a_step_that_fails_leaves_everything_as_it_was() -> None:
    model = Model()
    optimizer = optim.Adam(model.parameters(), lr=0.5)
    grads = all_of(model)
    before = copy.deepcopy(model.state_dict())

    def closure() -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        step(optimizer, model, grads, lr=0.02, closure=closure)
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert len(grads) == 2  # not used: the step can be tried again
    assert not optimizer._optimizer_step_pre_hooks
    step(optimizer, model, grads)


def test_a_step_uses_the_gradients_up() -> None:
    model = Model()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    grads = all_of(model)
    step(optimizer, model, grads)
    assert len(grads) == 0
    with pytest.raises(ValueError, match="used by a step already"):
        step(optimizer, model, grads)
    with pytest.raises(ValueError, match="used by a step already"):
        grads.register(model.w, torch.ones(6))


def test_no_gradients_left_is_a_step_that_moves_nothing() -> None:
    model = Model()
    before = copy.deepcopy(model.state_dict())
    step(optim.AdamW(model.parameters(), weight_decay=0.5), model, GradientsParams())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_closure_is_passed_on_for_its_loss_only() -> None:
    model, plain = Model(), Model()
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    step(optim.Adam(plain.parameters(), lr=0.1), plain, all_of(plain))
    grads = all_of(model)
    calls = []

    def closure() -> Tensor:
        calls.append(torch.is_grad_enabled())
        loss = 100 * model() + model.idle.sum()  # other gradients, one of them for a parameter that must rest
        loss.backward()
        return loss

    expected = 100 * model().item() + model.idle.sum().item()
    assert step(optimizer, model, grads, closure=closure).item() == pytest.approx(expected)
    assert calls == [True]
    assert all(bits(a) == bits(b) for a, b in zip(model.parameters(), plain.parameters(), strict=True))
    assert all(p.grad is None for p in model.parameters())


def test_without_closure_the_optimizer_gets_none() -> None:
    class NoClosure(optim.Optimizer):
        def step(self) -> str:  # type: ignore[override]
            return "done"

    model = Model()
    assert step(NoClosure(model.parameters(), {"lr": 0.1}), model, all_of(model)) == "done"


def test_optimizers_that_ask_for_new_gradients_are_refused() -> None:
    class Twice(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            return closure() + closure()

    model = Model()
    with pytest.raises(ValueError, match="L-BFGS"):
        step(optim.LBFGS(model.parameters()), model, all_of(model), closure=lambda: 1.0)
    with pytest.raises(ValueError, match="new gradients within a step"):
        step(Twice(model.parameters(), lr=0.1), model, all_of(model), closure=lambda: 1.0)


def test_clipping_hooks_scale_the_step_but_not_the_value() -> None:
    model = Model()
    optimizer = optim.SGD(model.parameters(), lr=1.0)

    def clip(*_: Any) -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)

    optimizer.register_step_pre_hook(clip)
    model.idle.grad = torch.full((2,), 1e6)  # left from elsewhere: no part of this step's norm
    grads = all_of(model)
    w, b = grads.get(model.w), grads.get(model.b)
    copies = w.clone(), b.clone()
    norm = torch.sqrt((w**2).sum() + (b**2).sum())
    assert norm > 0.5
    expected = model.w - w * 0.5 / norm
    step(optimizer, model, grads)
    torch.testing.assert_close(model.w.detach(), expected.detach())
    assert torch.equal(w, copies[0])
    assert torch.equal(b, copies[1])


def test_a_hook_cannot_move_what_has_no_gradient_there() -> None:
    model = Model()
    optimizer = optim.SGD(model.parameters(), lr=1.0)

    def noise(*_: Any) -> None:
        model.b.grad = torch.ones(2, 3)

    optimizer.register_step_pre_hook(noise)
    before = bits(model.b)
    step(
        optimizer,
        model,
        GradientsParams.from_params(Gradients.from_backward(model(), model), model, [model.w]),
    )
    assert bits(model.b) == before


@pytest.mark.parametrize("lr", [float("nan"), float("inf"), -0.1])
def test_a_learning_rate_that_is_none_is_refused(lr: float) -> None:
    model = Model()
    with pytest.raises(ValueError, match="learning rate"):
        step(optim.Adam(model.parameters()), model, all_of(model), lr=lr)


def test_an_optimizer_without_learning_rate_refuses_one() -> None:
    class Bare(optim.Optimizer):
        def step(self) -> None:  # type: ignore[override]
            pass

    model = Model()
    with pytest.raises(ValueError, match="Bare has no learning rate"):
        step(Bare(model.parameters(), {}), model, all_of(model), lr=0.1)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda g, m: g.register(ParamId(5), torch.ones(1)), "module has no parameter with the id"),
        (lambda g, m: g.register(m.idle, torch.ones(3)), r"has shape \(3,\), the parameter has \(2,\)"),
        (lambda g, m: g.register(m.idle, torch.ones(2, dtype=torch.float64)), "dtype"),
        (lambda g, m: g.register(m.idle, torch.ones(2, device="meta")), "device"),
    ],
)
def test_one_bad_gradient_is_an_error_and_nothing_moves(spoil: Any, message: str) -> None:
    model = Model()
    ids(model)
    grads = all_of(model)
    spoil(grads, model)
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(ValueError, match=message):
        step(optim.Adam(model.parameters()), model, grads)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_parameter_that_the_optimizer_does_not_hold_is_an_error() -> None:
    model = Model()
    before = bits(model.b)
    with pytest.raises(ValueError, match="optimizer does not hold"):
        step(optim.Adam([model.b]), model, all_of(model))
    assert bits(model.b) == before


def test_gradients_of_a_module_step_its_submodule_and_not_another() -> None:
    both = nn.ModuleDict({"one": Model(), "two": Model()})
    optimizer = optim.SGD(both.parameters(), lr=0.1)
    grads = Gradients.from_backward(both["one"]() + both["two"](), both)
    one = GradientsParams.from_module(grads, both["one"])
    before = bits(both["one"].w), bits(both["two"].w)
    with pytest.raises(ValueError, match="module has no parameter"):
        step(optimizer, both["two"], one)
    step(optimizer, both["one"], one)
    assert bits(both["one"].w) != before[0]
    assert bits(both["two"].w) == before[1]

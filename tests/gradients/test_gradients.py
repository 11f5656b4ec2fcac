"""Gradients as a value: looking, removing, replacing, and splitting so that each is used exactly once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from fsrs_opt.gradients import gradients as module_under_test
from fsrs_opt.gradients.gradients import Gradients, GradientsParams
from fsrs_opt.gradients.identity import ids
from fsrs_opt.gradients.param_id import ParamId


class Line(nn.Module):
    """loss = sum(w * x) + b, so that the gradient of w is x and that of b is 1."""

    def __init__(self, x: list[float]) -> None:
        super().__init__()
        self.x = torch.tensor(x)
        self.w = nn.Parameter(torch.ones(len(x)))
        self.b = nn.Parameter(torch.zeros(()))
        self.idle = nn.Parameter(torch.zeros(2))

    def forward(self) -> torch.Tensor:
        return (self.w * self.x).sum() + self.b


@pytest.fixture
def line() -> Line:
    return Line([2.0, 0.0, -3.0])


@pytest.fixture
def grads(line: Line) -> Gradients:
    return Gradients.from_backward(line(), line)


def test_from_backward_gives_each_gradient_once_and_leaves_grad_alone(line: Line) -> None:
    line.w.grad = torch.full((3,), 9.0)
    grads = Gradients.from_backward(line(), line)
    assert grads.grad(line.w).tolist() == [2.0, 0.0, -3.0]
    assert grads.grad(ids(line)["b"]).item() == 1.0
    assert line.w.grad.tolist() == [9.0, 9.0, 9.0]
    assert line.b.grad is None
    assert len(grads) == 2
    assert line.idle not in grads
    assert sorted(grads) == sorted([ids(line)["w"], ids(line)["b"]])


def test_from_backward_of_a_parameter_that_requires_no_gradient(line: Line) -> None:
    line.b.requires_grad_(False)
    assert list(Gradients.from_backward(line(), line)) == [ids(line)["w"]]


def test_from_backward_can_keep_the_graph(line: Line) -> None:
    loss = line().exp()
    first = Gradients.from_backward(loss, line, retain_graph=True)
    again = Gradients.from_backward(loss, line)
    assert torch.equal(first.grad(line.w), again.grad(line.w))


@pytest.mark.parametrize("loss", [torch.tensor(1.0), torch.tensor(1.0, requires_grad=True) * 2])
def test_a_loss_of_something_else_is_refused(line: Line, loss: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="depends on no parameter"):
        Gradients.from_backward(loss, line)


def test_a_loss_that_is_not_one_number_is_refused(line: Line) -> None:
    with pytest.raises(ValueError, match=r"not a tensor of shape \(3,\)"):
        Gradients.from_backward(line.w * 2, line)


def test_from_named_takes_fused_gradients(line: Line) -> None:
    given_tensor = torch.tensor([1.0, 2.0, 3.0])
    grads = Gradients.from_named(line, {"w": given_tensor})
    assert len(grads) == 1
    assert grads.grad(line.w).data_ptr() == given_tensor.data_ptr()


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("v", torch.zeros(3), "no parameter 'v'"),
        ("w", torch.zeros(4), r"gradient of 'w' has shape \(4,\), the parameter has \(3,\)"),
        ("w", torch.zeros(3, dtype=torch.float64), "dtype"),
        ("w", torch.zeros(3, device="meta"), "device"),
    ],
)
def test_from_named_refuses(line: Line, name: str, tensor: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Gradients.from_named(line, {name: tensor})


def test_grad_remove_takes_out(line: Line, grads: Gradients) -> None:
    assert grads.grad_remove(line.w).tolist() == [2.0, 0.0, -3.0]
    assert line.w not in grads
    for ask in (grads.grad, grads.grad_remove, grads.held, lambda p: grads.grad_replace(p, torch.zeros(3))):
        with pytest.raises(ValueError, match="no gradient of parameter"):
            ask(line.w)
    assert len(grads) == 1


def test_a_parameter_of_no_module_is_an_error(grads: Gradients) -> None:
    stranger = nn.Parameter(torch.zeros(3))
    assert stranger not in grads
    with pytest.raises(ValueError, match="has no parameter id"):
        grads.grad(stranger)
    with pytest.raises(TypeError):
        grads.grad("w")  # type: ignore[arg-type]


def test_replacing_notes_which_entries_are_zero(line: Line, grads: Gradients) -> None:
    assert grads.held(line.w) is None  # the zero of the backward pass holds nothing
    replacement = torch.tensor([0.0, -0.0, 1e-45])
    grads.grad_replace(line.w, replacement)
    held = grads.held(line.w)
    assert held is not None
    assert held.tolist() == [True, True, False]
    replacement[2] = 0.0  # a later change parts neither value nor mask
    assert grads.grad(line.w)[2] != 0
    grads.grad_replace(line.w, torch.tensor([1.0, 2.0, 0.0]))
    assert grads.held(line.w).tolist() == [False, False, True]  # type: ignore[union-attr]


def test_a_mask_says_which_entries_are_held(line: Line, grads: Gradients) -> None:
    mask = torch.tensor([True, False, False])
    grads.grad_replace(line.w, torch.tensor([0.0, 0.0, 1.0]), held=mask)
    mask[1] = True  # a later change has no say
    assert grads.held(line.w).tolist() == [True, False, False]  # type: ignore[union-attr]
    assert grads.grad(line.w).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (torch.tensor([True, False, True]), "must be zero in the entries that are held"),
        (torch.tensor([True, False]), "must be a bool tensor of the gradient's shape"),
        (torch.tensor([1, 0, 0]), "must be a bool tensor"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(
    line: Line, grads: Gradients, held: torch.Tensor, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        grads.grad_replace(line.w, torch.tensor([0.0, 0.0, 1.0]), held=held)
    assert grads.grad(line.w).tolist() == [2.0, 0.0, -3.0]
    assert grads.held(line.w) is None


def test_a_replacement_is_no_part_of_a_graph(line: Line, grads: Gradients) -> None:
    grads.grad_replace(line.w, line.w * 2)
    assert not grads.grad(line.w).requires_grad


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.zeros(2), r"replacement has shape \(2,\), the gradient has \(3,\)"),
        (torch.zeros(1, 3), "shape"),
        (torch.zeros(()), "shape"),
        (torch.zeros(3, dtype=torch.float64), "dtype torch.float64, the gradient has torch.float32"),
        (torch.zeros(3, device="meta"), "device meta, the gradient has cpu"),
        (torch.zeros(3).to_sparse(), "dense"),
    ],
)
def test_a_replacement_of_another_kind_is_refused(
    line: Line, grads: Gradients, tensor: torch.Tensor, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        grads.grad_replace(line.w, tensor)
    assert grads.grad(line.w).tolist() == [2.0, 0.0, -3.0]
    assert grads.held(line.w) is None


def test_from_params_moves_only_those_and_from_module_the_rest(line: Line, grads: Gradients) -> None:
    grads.grad_replace(line.w, torch.tensor([0.0, 1.0, 1.0]))
    mine = GradientsParams.from_params(grads, line, [line.w])
    assert list(mine) == [ids(line)["w"]]
    assert mine.held(line.w).tolist() == [True, False, False]  # type: ignore[union-attr]
    assert line.w not in grads
    rest = GradientsParams.from_module(grads, line)
    assert list(rest) == [ids(line)["b"]]
    assert rest.held(line.b) is None
    assert (len(grads), len(mine), len(rest)) == (0, 1, 1)
    assert len(GradientsParams.from_module(grads, line)) == 0


def test_from_module_of_a_submodule() -> None:
    both = nn.ModuleDict({"one": Line([1.0]), "two": Line([2.0])})
    grads = Gradients.from_backward(both["one"]() * both["two"](), both)
    two = GradientsParams.from_module(grads, both["two"])
    assert sorted(two) == sorted([ids(both)["two.w"], ids(both)["two.b"]])
    assert sorted(grads) == sorted([ids(both)["one.w"], ids(both)["one.b"]])


@pytest.mark.parametrize("wrong", ["unknown", "twice", "none there", "stranger"])
def test_from_params_refuses_and_moves_nothing(line: Line, grads: Gradients, wrong: str) -> None:
    bad: Any = {
        "unknown": ParamId(1),
        "twice": line.w,
        "none there": line.idle,
        "stranger": nn.Parameter(torch.ones(1)),
    }[wrong]
    with pytest.raises(ValueError, match=r"no parameter|twice|no gradient"):
        GradientsParams.from_params(grads, line, [line.w, bad])
    assert len(grads) == 2


def test_from_grads_takes_everything_or_nothing(line: Line) -> None:
    both = nn.ModuleDict({"one": line, "two": Line([2.0])})
    grads = Gradients.from_backward(both["one"]() + both["two"](), both)
    with pytest.raises(ValueError, match="which the module does not have"):
        GradientsParams.from_grads(grads, line)
    assert len(grads) == 4
    assert len(GradientsParams.from_grads(grads, both)) == 4
    assert len(grads) == 0


def test_register_get_remove_len(line: Line) -> None:
    known = ids(line)
    mine = GradientsParams()
    mine.register(line.w, torch.ones(3), held=torch.tensor([True, False, False]))
    mine.register(known["b"], torch.tensor(2.0))
    assert len(mine) == 2
    assert mine.get(line.b).item() == 2.0
    assert mine.held(known["w"]).tolist() == [True, False, False]  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="already"):
        mine.register(line.w, torch.ones(3))
    assert mine.remove(known["w"]).tolist() == [1.0, 1.0, 1.0]
    assert len(mine) == 1
    for ask in (mine.get, mine.remove, mine.held):
        with pytest.raises(ValueError, match="no gradient"):
            ask(line.w)
    mine.register(line.w, torch.ones(3))
    assert mine.held(line.w) is None  # the old mask went with the old gradient


@pytest.mark.parametrize("held", [torch.ones(3), torch.tensor([True])])
def test_register_refuses_a_mask_that_does_not_fit(line: Line, held: torch.Tensor) -> None:
    ids(line)
    with pytest.raises(ValueError, match="must be bool of shape"):
        GradientsParams().register(line.w, torch.ones(3), held=held)


class Wide(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.w = nn.ParameterList([nn.Parameter(torch.tensor(float(i))) for i in range(n)])

    def forward(self) -> torch.Tensor:
        return torch.stack(list(self.w)).sum()


@settings(max_examples=50)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_any_split_uses_each_gradient_exactly_once(group_of: list[int]) -> None:
    model = Wide(len(group_of))
    grads = Gradients.from_backward(model(), model)
    groups = [
        GradientsParams.from_params(
            grads, model, [p for p, g in zip(model.w, group_of, strict=True) if g == k]
        )
        for k in range(4)
    ]
    groups.append(GradientsParams.from_module(grads, model))
    assert len(grads) == 0
    used = Counter(param_id for group in groups for param_id in group)
    assert used == Counter(ids(model).values())


class CountingDict(dict):  # type: ignore[type-arg]
    touched = 0

    def __contains__(self, key: object) -> bool:
        self.touched += 1
        return super().__contains__(key)

    def pop(self, *args: Any) -> Any:
        self.touched += 1
        return super().pop(*args)


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_splitting_costs_one_walk_per_group(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    n = 200
    model = Wide(n)
    grads = Gradients.from_backward(model(), model)
    visited = 0
    walk = module_under_test.parameters_by_id

    def counted(module: nn.Module) -> dict[ParamId, nn.Parameter]:
        nonlocal visited
        found = walk(module)
        visited += len(found)
        return found

    monkeypatch.setattr(module_under_test, "parameters_by_id", counted)
    grads._tensors = CountingDict(grads._tensors)
    for group in range(k):
        GradientsParams.from_params(grads, model, list(model.w)[group::k])
    assert visited == k * n
    assert grads._tensors.touched == 2 * n  # looked up once, taken out once; not once more per group
    assert len(grads) == 0

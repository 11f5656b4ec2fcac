"""One step, on gradients given as a value, of any torch optimizer, or of one that takes the value itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from .gradients import GradientsParams, check_like
from .identity import parameters_by_id
from .param_id import ParamId

# Entries of an optimizer's state that count for the whole parameter. By shape alone they could not be told
# from the moments of a parameter that is a single number.
_STATE_OF_WHOLE_PARAMETER = frozenset({"step", "mu_product", "eta", "mu"})


class TakesGradients(Protocol):
    """An optimizer that takes gradients as a value, not from `.grad`, and itself keeps held entries still."""

    param_groups: list[dict[str, Any]]

    def take(
        self,
        gradients: Sequence[tuple[nn.Parameter, Tensor, Tensor | None]],
        closure: Callable[[], Any] | None,
    ) -> Any:
        """One step on (parameter, gradient, mask of held entries or None); changes none of the tensors."""
        ...


def step(
    optimizer: torch.optim.Optimizer | TakesGradients,
    module: nn.Module,
    grads_params: GradientsParams,
    lr: float | None = None,
    closure: Callable[[], Any] | None = None,
) -> Any:
    """Update exactly the parameters in `grads_params` and use it up; returns what `optimizer.step` returns.

    - `lr`: the learning rate of this step; None takes the optimizer's own. Its own is back in place
      afterwards.
    - Moments and other state are kept per parameter by the optimizer. A parameter without a gradient here
      does not move, nor does its state: no decay of moments, no weight decay, whatever its `.grad` holds.
    - Held entries (those zero in a replaced gradient, see gradients.py) keep their value to the last bit,
      and the optimizer's per-entry state keeps its own, whatever the optimizer and its hooks do: momentum
      from before, weight decay, clipping. State that this very step creates holds there what a zero
      gradient gives.
    - Hooks of the optimizer see the gradients as the parameters' `.grad`, and may scale them. The tensors in
      `grads_params` are never changed, and every `.grad` is afterwards what it was before.
    - `closure` is passed on to `optimizer.step`, for its loss. Gradients that it leaves in `.grad` are put
      aside: those in `grads_params` count. An optimizer that calls it again, for new gradients, is refused
      (L-BFGS).
    - An optimizer with a method `take` (see `TakesGradients`) is handed the gradients as they are.

    Raises ValueError, before anything has moved, for gradients that were used before, an id that is not in
    the module, a parameter that the optimizer does not hold, a gradient that does not fit its parameter, a
    learning rate that is not finite and >= 0, or an L-BFGS optimizer.
    """
    pairs = _checked(optimizer, module, grads_params, lr)
    held = {key: grads_params.held(key) for key in pairs}
    if isinstance(optimizer, torch.optim.Optimizer):
        holds = [(pairs[key][0], mask) for key, mask in held.items() if mask is not None]
        result = _step_by_grad(optimizer, module, pairs, holds, lr, closure)
    else:
        result = optimizer.take([(*pair, held[key]) for key, pair in pairs.items()], closure)
    grads_params.use_up()
    return result


def _step_by_grad(
    optimizer: torch.optim.Optimizer,
    module: nn.Module,
    pairs: dict[ParamId, tuple[nn.Parameter, Tensor]],
    holds: list[tuple[nn.Parameter, Tensor]],
    lr: float | None,
    closure: Callable[[], Any] | None,
) -> Any:
    """The step of an optimizer that finds its gradients in `.grad`, as all of torch's do."""
    with ExitStack() as afterwards:
        everything = [*module.parameters(), *(p for group in optimizer.param_groups for p in group["params"])]
        afterwards.enter_context(_grads_as(everything, pairs))
        if lr is not None:
            afterwards.enter_context(_learning_rate(optimizer, lr))
        afterwards.enter_context(_held_still(optimizer, holds))
        moving = {id(parameter) for parameter, _ in pairs.values()}
        afterwards.enter_context(_after_other_hooks(optimizer, lambda: _only(everything, moving, holds)))
        guarded = () if closure is None else (_loss_only(closure, everything),)
        return optimizer.step(*guarded)


def _checked(
    optimizer: torch.optim.Optimizer | TakesGradients,
    module: nn.Module,
    grads_params: GradientsParams,
    lr: float | None,
) -> dict[ParamId, tuple[nn.Parameter, Tensor]]:
    """Parameter and gradient by id, or the ValueError that `step` documents."""
    if grads_params.used:
        raise ValueError("these gradients have been used by a step already: each is used once")
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError(
            "L-BFGS asks for new gradients within a step and moves all parameters together: it takes no value"
        )
    if lr is not None and not (math.isfinite(lr) and lr >= 0):
        raise ValueError(f"a learning rate is finite and not negative, which {lr} is not")
    if lr is not None and any("lr" not in group for group in optimizer.param_groups):
        raise ValueError(f"{type(optimizer).__name__} has no learning rate to set")
    known = parameters_by_id(module)
    optimized = {id(p) for group in optimizer.param_groups for p in group["params"]}
    pairs: dict[ParamId, tuple[nn.Parameter, Tensor]] = {}
    for param_id in grads_params:
        parameter, gradient = known.get(param_id), grads_params.get(param_id)
        if parameter is None:
            raise ValueError(f"the module has no parameter with the id {param_id}")
        if id(parameter) not in optimized:
            raise ValueError(f"the optimizer does not hold the parameter with the id {param_id}")
        check_like(gradient, parameter, "the gradient of ", "the parameter", of=param_id)
        pairs[param_id] = parameter, gradient
    return pairs


@contextmanager
def _grads_as(
    everything: Iterable[Tensor], pairs: dict[ParamId, tuple[nn.Parameter, Tensor]]
) -> Iterator[None]:
    """Copies of the given gradients as `.grad`, None on all other parameters; afterwards what was there."""
    before = {id(p): (p, p.grad) for p in everything}
    try:
        for p, _ in before.values():
            p.grad = None
        for parameter, gradient in pairs.values():
            parameter.grad = gradient.clone()  # a copy: clipping works in place
        yield
    finally:
        for p, grad in before.values():
            p.grad = grad


@contextmanager
def _learning_rate(optimizer: torch.optim.Optimizer, lr: float) -> Iterator[None]:
    before = [group["lr"] for group in optimizer.param_groups]
    try:
        for group in optimizer.param_groups:
            group["lr"] = lr
        yield
    finally:
        for group, own in zip(optimizer.param_groups, before, strict=True):
            group["lr"] = own


@contextmanager
def _held_still(optimizer: torch.optim.Optimizer, holds: list[tuple[nn.Parameter, Tensor]]) -> Iterator[None]:
    """Put back the held entries of parameters and of their per-entry state afterwards, bit by bit."""
    before = [
        (p.detach().clone(), {key: value.clone() for key, value in _per_entry_state(optimizer, p)})
        for p, _ in holds
    ]
    decays = {id(p) for group in optimizer.param_groups if group.get("weight_decay") for p in group["params"]}
    try:
        yield
    finally:
        with torch.no_grad():
            for (p, held), (value, state) in zip(holds, before, strict=True):
                p.copy_(torch.where(held, value, p))
                for key, now in _per_entry_state(optimizer, p):
                    if key in state:
                        now.copy_(torch.where(held, state[key], now))
                    elif id(p) in decays:
                        # New in this step. The gradient was zero, but L2 decay may have been added to it.
                        # Without decay it is what a zero gradient gives, not always zero (the step sizes of
                        # Rprop).
                        now.masked_fill_(held, 0)


def _per_entry_state(optimizer: torch.optim.Optimizer, p: nn.Parameter) -> list[tuple[str, Tensor]]:
    """The state tensors that have an entry for each entry of the parameter (moments, momentum buffers)."""
    return [
        (key, value)
        for key, value in optimizer.state.get(p, {}).items()
        if isinstance(value, Tensor) and value.shape == p.shape and key not in _STATE_OF_WHOLE_PARAMETER
    ]


@contextmanager
def _after_other_hooks(optimizer: torch.optim.Optimizer, action: Callable[[], None]) -> Iterator[None]:
    handle = optimizer.register_step_pre_hook(lambda *_: action())  # hooks run in the order of registration
    try:
        yield
    finally:
        handle.remove()


def _only(everything: Iterable[Tensor], moving: set[int], holds: list[tuple[nn.Parameter, Tensor]]) -> None:
    """Undo what hooks did to `.grad` (noise, penalties, a norm that is not finite) where nothing may move."""
    for p in everything:
        if id(p) not in moving:
            p.grad = None
    for p, held in holds:
        if p.grad is not None:
            p.grad.masked_fill_(held, 0)


def _loss_only(closure: Callable[[], Any], everything: list[Tensor]) -> Callable[[], Any]:
    """The closure for its return value: it neither sees nor changes the gradients of this step."""
    calls = 0

    def guarded() -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise ValueError("this optimizer asks for new gradients within a step; it cannot take a value")
        gradients = [p.grad for p in everything]
        for p in everything:
            p.grad = None
        try:
            return closure()
        finally:
            for p, gradient in zip(everything, gradients, strict=True):
                p.grad = gradient

    return guarded

"""Gradients as a value: `Gradients` is what a backward pass gives, `GradientsParams` what a step takes.

Each gradient exists once: it is moved, never copied, from the first to the second, and a step uses it up.
Nothing is silently ignored: every request that cannot be met is a ValueError, and then nothing has changed.

**Held entries.** `grad_replace` notes which entries of the replacement are exactly zero. The step leaves
those entries of the parameter, and of the optimizer's state, as they are to the last bit (stepping.py). A
zero in a gradient that was not replaced is only a small gradient: momentum and weight decay move its entry
as usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor, nn

from .identity import id_of, parameters_by_id, walk
from .param_id import ParamId

Key = nn.Parameter | ParamId
"""A parameter, or its id."""


class _ById:
    """Gradients by ParamId, each with its mask of held entries where there is one."""

    def __init__(self) -> None:
        self._tensors: dict[ParamId, Tensor] = {}
        self._held: dict[ParamId, Tensor] = {}

    def __len__(self) -> int:
        return len(self._tensors)

    def __iter__(self) -> Iterator[ParamId]:
        return iter(self._tensors)

    def __contains__(self, param: object) -> bool:
        # A parameter that was never given an id has no gradient here either.
        return isinstance(param, nn.Parameter | ParamId) and _id_or_none(param) in self._tensors

    def held(self, param: Key) -> Tensor | None:
        """The mask of held entries (bool, the gradient's shape, True = does not move) of a replaced gradient.

        None for a gradient that was not replaced. ValueError when there is no gradient of this parameter
        here.
        """
        return self._held.get(self._require(param))

    def _require(self, param: Key) -> ParamId:
        param_id = id_of(param)
        if param_id not in self._tensors:
            raise ValueError(f"there is no gradient of parameter {param_id} here (any more)")
        return param_id

    def _pop(self, param_id: ParamId) -> tuple[Tensor, Tensor | None]:
        return self._tensors.pop(param_id), self._held.pop(param_id, None)


class Gradients(_ById):
    """The gradients of one backward pass, by ParamId. `len`, `in` and iteration over ids as for a dict."""

    @classmethod
    def from_backward(cls, loss: Tensor, module: nn.Module, *, retain_graph: bool = False) -> Gradients:
        """The gradients of a scalar loss with respect to the parameters of a module that require one.

        The `.grad` of the parameters stays as it is. A parameter that the loss does not depend on has no
        gradient here (it is not zero: no momentum will move it). Raises ValueError for a loss that is not one
        number or depends on no parameter of the module, or a module that holds one id twice.
        """
        if loss.numel() != 1:
            raise ValueError(
                f"a loss is one number, not a tensor of shape {tuple(loss.shape)}: sum or mean it first"
            )
        wanted = {key: p for key, p in parameters_by_id(module).items() if p.requires_grad}
        gradients = cls()
        if wanted and loss.requires_grad:
            found = torch.autograd.grad(
                loss, list(wanted.values()), retain_graph=retain_graph, allow_unused=True
            )
            for param_id, tensor in zip(wanted, found, strict=True):
                if tensor is not None:
                    gradients._tensors[param_id] = tensor
        if not gradients._tensors:
            raise ValueError("the loss depends on no parameter of the module that requires a gradient")
        return gradients

    @classmethod
    def from_named(cls, module: nn.Module, tensors: Mapping[str, Tensor]) -> Gradients:
        """Gradients that a fused loss-and-gradient call computed, by the names of the module's parameters.

        The tensors are taken over, not copied. Raises ValueError for a name that is not in the module, or a
        tensor whose shape, dtype or device is not the parameter's.
        """
        known = {name: (param_id, parameter) for name, param_id, parameter in walk(module)}
        gradients = cls()
        for name, tensor in tensors.items():
            if name not in known:
                raise ValueError(f"the module has no parameter {name!r}")
            param_id, parameter = known[name]
            check_like(tensor, parameter, "the gradient of ", "the parameter", of=repr(name))
            gradients._tensors[param_id] = tensor.detach()
        return gradients

    def copy(self) -> Gradients:
        """Another value over the same tensors, to look at after a step has used this one up."""
        copied = Gradients()
        copied._tensors, copied._held = self._tensors.copy(), self._held.copy()
        return copied

    def grad(self, param: Key) -> Tensor:
        """The gradient of a parameter. ValueError where there is none; `param in gradients` asks first.

        Changing the tensor in place changes the gradient but holds nothing: to freeze entries, change a
        copy and give it to `grad_replace`.
        """
        return self._tensors[self._require(param)]

    def grad_remove(self, param: Key) -> Tensor:
        """Take the gradient of a parameter out. ValueError where there is none."""
        return self._pop(self._require(param))[0]

    def grad_replace(self, param: Key, tensor: Tensor, *, held: Tensor | None = None) -> None:
        """Put another gradient in the place of a parameter's.

        Entries of `tensor` that are exactly zero (of either sign) are held: the step will not move them,
        nor the optimizer's state for them. held: a mask, bool, of the entries to hold in place of these;
        `tensor` must be zero there, and may be so elsewhere by chance. The last replacement counts. The
        values are copied, so that a later change of `tensor` cannot part them from what is held.

        Raises ValueError where the parameter has no gradient here, the shape, dtype, device or layout of the
        replacement is another one, or `held` is no such mask.
        """
        param_id = self._require(param)
        check_like(tensor, self._tensors[param_id], "the replacement", "the gradient")
        if tensor.layout != torch.strided:
            raise ValueError(f"the replacement must be a dense tensor, not one of layout {tensor.layout}")
        zero = tensor.detach().logical_not()
        if held is not None:
            if held.dtype != torch.bool or held.shape != zero.shape or held.device != zero.device:
                raise ValueError("held must be a bool tensor of the gradient's shape and device")
            if not bool(zero[held].all()):
                raise ValueError("the replacement must be zero in the entries that are held")
            zero = held.clone()
        self._tensors[param_id] = tensor.detach().clone()
        self._held[param_id] = zero


class GradientsParams(_ById):
    """The gradients that one optimizer step takes, by ParamId. A step leaves it used up (see stepping.py)."""

    def __init__(self) -> None:
        super().__init__()
        self.used = False

    @classmethod
    def from_params(cls, grads: Gradients, module: nn.Module, ids: Iterable[Key]) -> GradientsParams:
        """Move the gradients of the given parameters of a module out of `grads`, and only those.

        `ids` holds ids or Parameters. Costs one walk over the module and one look-up per id. Raises
        ValueError, and moves nothing, for a parameter that is not in the module, is named twice, or has no
        gradient left.
        """
        known = parameters_by_id(module)
        wanted: dict[ParamId, None] = {}
        for param_id in map(id_of, ids):
            if param_id not in known:
                raise ValueError(f"the module has no parameter with the id {param_id}")
            if param_id in wanted:
                raise ValueError(f"the parameter {param_id} is named twice")
            wanted[grads._require(param_id)] = None
        return cls._moved(grads, wanted)

    @classmethod
    def from_module(cls, grads: Gradients, module: nn.Module) -> GradientsParams:
        """Move all gradients of a module (which may be a submodule) that are left in `grads`; maybe none."""
        return cls._moved(grads, [key for key in parameters_by_id(module) if key in grads._tensors])

    @classmethod
    def from_grads(cls, grads: Gradients, module: nn.Module) -> GradientsParams:
        """Move everything that is left in `grads`, all of it gradients of the module.

        Raises ValueError, and moves nothing, where `grads` holds a gradient of a parameter outside the
        module.
        """
        known = parameters_by_id(module)
        for param_id in grads:
            if param_id not in known:
                raise ValueError(
                    f"there is a gradient of parameter {param_id}, which the module does not have"
                )
        return cls._moved(grads, list(grads))

    def register(self, param: Key, tensor: Tensor, held: Tensor | None = None) -> None:
        """Add a gradient, with the mask of its held entries if it has any (bool, the gradient's shape).

        ValueError where the parameter has a gradient here already, or the mask does not fit.
        """
        param_id = id_of(param)
        if param_id in self._tensors:
            raise ValueError(f"there is a gradient of parameter {param_id} here already")
        if self.used:
            raise ValueError("these gradients have been used by a step already: start with new ones")
        if held is not None and (held.dtype != torch.bool or held.shape != tensor.shape):
            raise ValueError(
                f"the mask of held entries must be bool of shape {tuple(tensor.shape)},"
                f" not {held.dtype} of shape {tuple(held.shape)}"
            )
        self._tensors[param_id] = tensor.detach()
        if held is not None:
            self._held[param_id] = held

    def get(self, param: Key) -> Tensor:
        """The gradient of a parameter. ValueError where there is none; `param in grads_params` asks first."""
        return self._tensors[self._require(param)]

    def remove(self, param: Key) -> Tensor:
        """Take the gradient of a parameter out; the step will not move it. ValueError where there is none."""
        return self._pop(self._require(param))[0]

    def use_up(self) -> None:
        """Called by the step that has applied these gradients."""
        self._tensors.clear()
        self._held.clear()
        self.used = True

    @classmethod
    def _moved(cls, grads: Gradients, wanted: Iterable[ParamId]) -> GradientsParams:
        moved = cls()
        for param_id in wanted:
            tensor, held = grads._pop(param_id)
            moved._tensors[param_id] = tensor
            if held is not None:
                moved._held[param_id] = held
        return moved


def check_like(tensor: Tensor, other: Tensor, what: str, than: str, of: object = "") -> None:
    """ValueError where a tensor's shape, dtype or device is not that of another. of: put after `what`."""
    if tensor.shape == other.shape and tensor.dtype == other.dtype and tensor.device == other.device:
        return
    for name in ("shape", "dtype", "device"):
        ours, theirs = getattr(tensor, name), getattr(other, name)
        if ours != theirs:
            if name == "shape":
                ours, theirs = tuple(ours), tuple(theirs)
            raise ValueError(f"{what}{of} has {name} {ours}, {than} has {theirs}")


def _id_or_none(param: Key) -> ParamId | None:
    try:
        return id_of(param)
    except ValueError:
        return None

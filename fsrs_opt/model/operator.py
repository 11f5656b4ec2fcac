"""`torch.ops.fsrs_opt.loss`: the compiled loss as an operator that autograd and torch.compile know.

It is there once this module has been imported.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from fsrs_opt.model import native
from fsrs_opt.model.fsrs6 import as_array
from fsrs_opt.model.parameters import N_PARAMETERS, FloatArray

if TYPE_CHECKING:
    from fsrs_opt._native import Pack

# The operator takes plain tensors, so their packed form is remembered: the last few sets, for as long as
# nobody writes into them. Holding the tensors keeps their ids from being used again.
_REMEMBERED = 4
_packs: OrderedDict[tuple[tuple[int, int], ...], tuple[tuple[Tensor, ...], Pack]] = OrderedDict()


def _packed(*histories: Tensor) -> Pack:
    if any(t.is_inference() for t in histories):  # they do not count writes
        return native.pack(*(t.numpy() for t in histories))
    key = tuple((id(t), t._version) for t in histories)
    if key not in _packs:
        _packs[key] = histories, native.pack(*(t.numpy() for t in histories))
        while len(_packs) > _REMEMBERED:
            _packs.popitem(last=False)
    _packs.move_to_end(key)
    return _packs[key][1]


def _parameters(w: Tensor) -> FloatArray:
    return as_array(w.contiguous())


@torch.library.custom_op("fsrs_opt::loss", mutates_args=(), device_types="cpu")
def loss(w: Tensor, offsets: Tensor, rating: Tensor, delta_t: Tensor, weight: Tensor) -> Tensor:
    """Weighted sum of the binary cross-entropy (scalar of w's dtype) over histories as `pack` takes them."""
    value = _packed(offsets, rating, delta_t, weight).loss(_parameters(w), native.threads())
    return torch.tensor(value, dtype=w.dtype)


@loss.register_fake
def _(w: Tensor, offsets: Tensor, rating: Tensor, delta_t: Tensor, weight: Tensor) -> Tensor:
    if w.shape != (N_PARAMETERS,):
        raise ValueError("w must hold 21 parameters")
    return w.new_empty(())


@torch.library.custom_op("fsrs_opt::loss_gradient", mutates_args=(), device_types="cpu")
def loss_gradient(w: Tensor, offsets: Tensor, rating: Tensor, delta_t: Tensor, weight: Tensor) -> Tensor:
    """Gradient [21] of `loss` with respect to w."""
    _, gradient = _packed(offsets, rating, delta_t, weight).loss_gradient(_parameters(w), native.threads())
    return torch.from_numpy(gradient).to(w.dtype)


@loss_gradient.register_fake
def _(w: Tensor, offsets: Tensor, rating: Tensor, delta_t: Tensor, weight: Tensor) -> Tensor:
    return torch.empty_like(w)


def _save(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return grad * loss_gradient(*ctx.saved_tensors), None, None, None, None


loss.register_autograd(_backward, setup_context=_save)

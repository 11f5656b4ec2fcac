"""Which id belongs to which parameter of a module.

An id is kept in two places, and no registry outside the module keeps anything alive:

- on the Parameter, so that it travels with the object (tied parameters have one id, `grads.grad(model.w)`
  needs no search, a parameter handed to another module keeps its id);
- on the module that owns the Parameter, by name, because torch makes new Parameter objects without
  attributes in `copy.deepcopy`, in `.to("meta")` and in `load_state_dict(assign=True)`.

Both are plain integers and dicts, so that pickling and `torch.load(weights_only=True)` need nothing of ours.
A state dict holds values only; records (records.py) hold values and ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import torch
from torch import nn

from .param_id import ParamId

_ON_PARAMETER = "_fsrs_opt_param_id"
_ON_MODULE = "_fsrs_opt_param_ids"


def ids(module: nn.Module) -> dict[str, ParamId]:
    """The ids of a module's parameters, by the names and in the order of `module.named_parameters()`.

    A parameter without an id gets a fresh one; a new Parameter object under an old name takes over the
    name's id. Raises ValueError where two parameters have the same id, which happens when a module holds a
    submodule together with its deep copy: see `renew_ids`.
    """
    return {name: param_id for name, param_id, _ in walk(module)}


def parameters_by_id(module: nn.Module) -> dict[ParamId, nn.Parameter]:
    """The parameters of a module by id, in one walk. Raises ValueError as `ids` does."""
    return {param_id: parameter for _, param_id, parameter in walk(module)}


def walk(module: nn.Module) -> Iterator[tuple[str, ParamId, nn.Parameter]]:
    """Name, id and parameter of each distinct parameter. Gives out ids and raises as `ids` does."""
    found: dict[ParamId, tuple[str, nn.Parameter]] = {}
    for name, owner, key, parameter in _owned(module):
        value = getattr(parameter, _ON_PARAMETER, None)
        if value is not None and owner.__dict__.get(_ON_MODULE, {}).get(key) == value:
            param_id = _of_value(value)
        else:
            param_id = _known_id(owner, key, parameter) or ParamId.new()
            _bind(owner, key, parameter, param_id)
        first = found.setdefault(param_id, (name, parameter))
        if first[1] is not parameter:
            raise ValueError(
                f"the parameters {first[0]!r} and {name!r} have the same id {param_id}: one is a deep"
                " copy of the other; call renew_ids on the copy"
            )
        if first[0] == name:  # tied: listed once, under its first name
            yield name, param_id, parameter


def id_of(parameter: nn.Parameter | ParamId) -> ParamId:
    """The id of a parameter (an id stands for itself).

    Raises ValueError for a Parameter that has none yet; it gets one when its module is first walked (`ids`,
    `Gradients.from_backward`). TypeError for anything else.
    """
    if isinstance(parameter, ParamId):
        return parameter
    if not isinstance(parameter, torch.Tensor):
        raise TypeError(f"expected a Parameter or a ParamId, not {type(parameter).__name__}")
    value = getattr(parameter, _ON_PARAMETER, None)
    if value is None:
        raise ValueError(
            f"this tensor of shape {tuple(parameter.shape)} has no parameter id: call ids(module) on the"
            " module that it is a parameter of"
        )
    return _of_value(value)


def set_ids(module: nn.Module, new_ids: Mapping[str, ParamId]) -> None:
    """Give parameters, by name, the ids they had elsewhere (in a record, in another process).

    Raises ValueError, and changes nothing, for a name that is not in the module or an id that would then
    belong to two of its parameters.
    """
    named = {name: (owner, key, parameter) for name, owner, key, parameter in _owned(module)}
    for name in new_ids:
        if name not in named:
            raise ValueError(f"the module has no parameter {name!r}")
    chosen: dict[int, ParamId] = {}  # by object: a tied parameter has several names
    for name, param_id in new_ids.items():
        if chosen.setdefault(id(named[name][2]), param_id) != param_id:
            raise ValueError(f"the tied parameter {name!r} would have two ids, one of them {param_id}")
    holders: dict[ParamId, nn.Parameter] = {}
    for name, (owner, key, parameter) in named.items():
        kept = chosen.get(id(parameter)) or _known_id(owner, key, parameter)
        if kept is not None and holders.setdefault(kept, parameter) is not parameter:
            raise ValueError(f"the id {kept} would belong to two parameters, one of them {name!r}")
    for owner, key, parameter in named.values():
        if id(parameter) in chosen:
            _bind(owner, key, parameter, chosen[id(parameter)])


def renew_ids(module: nn.Module) -> None:
    """Give every parameter of a module a fresh id, for instance to a deep copy placed beside its original."""
    fresh: dict[int, ParamId] = {}  # by object, so that tied parameters stay one
    for _, owner, key, parameter in _owned(module):
        _bind(owner, key, parameter, fresh.setdefault(id(parameter), ParamId.new()))


_of_value = lru_cache(maxsize=1024, typed=True)(ParamId)  # a step looks an id up a dozen times


def _owned(module: nn.Module) -> Iterator[tuple[str, nn.Module, str, nn.Parameter]]:
    """Full name, owning module, name there, parameter; a tied parameter once per owner."""
    # a step walks its module several times: one without submodules is spared the search for them
    for prefix, owner in module.named_modules() if module._modules else (("", module),):
        for key, parameter in owner._parameters.items():
            if parameter is not None:
                yield f"{prefix}.{key}" if prefix else key, owner, key, parameter


def _known_id(owner: nn.Module, key: str, parameter: nn.Parameter) -> ParamId | None:
    value = getattr(parameter, _ON_PARAMETER, None)
    if value is None:
        value = owner.__dict__.get(_ON_MODULE, {}).get(key)
    return None if value is None else _of_value(value)


def _bind(owner: nn.Module, key: str, parameter: nn.Parameter, param_id: ParamId) -> None:
    setattr(parameter, _ON_PARAMETER, param_id.value)
    owner.__dict__.setdefault(_ON_MODULE, {})[key] = param_id.value

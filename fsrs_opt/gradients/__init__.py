"""Gradients as values: split them, replace them, then step. The guide is docs/gradients.md.

The names below load on first use, so that importing the package does not import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .gradients import Gradients, GradientsParams
    from .identity import id_of, ids, renew_ids, set_ids
    from .param_id import ParamId
    from .records import Record, load_record, record_of, restore, save_record
    from .stepping import step

__all__ = [
    "Gradients",
    "GradientsParams",
    "ParamId",
    "Record",
    "id_of",
    "ids",
    "load_record",
    "record_of",
    "renew_ids",
    "restore",
    "save_record",
    "set_ids",
    "step",
]

_HOME = {
    "Gradients": "gradients",
    "GradientsParams": "gradients",
    "ParamId": "param_id",
    "Record": "records",
    "ids": "identity",
    "load_record": "records",
    "id_of": "identity",
    "record_of": "records",
    "renew_ids": "identity",
    "restore": "records",
    "save_record": "records",
    "set_ids": "identity",
    "step": "stepping",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)

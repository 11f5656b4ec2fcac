"""Records: the parameters of a module, with their ids, in a JSON or safetensors file.

The layout (version 3), as JSON:

    {"format": "fsrs-opt-record", "version": 3, "metadata": {...},
     "parameters": {NAME: {"id": "0123456789abc", "dtype": "float32", "shape": [21], "values": [...]}}}

`values` are in row-major order, each written so that it reads back as the same bits. A safetensors file
holds the tensors under their names and, in its metadata under the key `fsrs-opt-record`, the same object as
JSON text with only the ids: {"format", "version", "metadata", "parameters": {NAME: {"id": ...}}}.

Versions 1 and 2 differ in their ids (UUIDs, then 6 bytes) and may hold FSRS parameter lists of 17 or 19
values. A record holds what the file says; `restore` converts a list of another length with a function that
the caller gives, because what 17 numbers mean is the model's knowledge and this package knows no model.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from fsrs_opt.errors import FsrsOptError

from .files import replace_file
from .identity import ids, set_ids, walk
from .param_id import ParamId

FORMAT = "fsrs-opt-record"
FORMAT_VERSION = 3

_DTYPES = {"float32": torch.float32, "float64": torch.float64}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}

Convert = Callable[[list[float]], Iterable[float]]


@dataclass(frozen=True, eq=False)
class Record:
    """Parameters as saved: `tensors` (on the CPU, float32 or float64) and `ids`, both by name in one order.

    `metadata` is the caller's own, anything that strict JSON holds. `source` names the file, for messages.
    """

    tensors: Mapping[str, Tensor]
    ids: Mapping[str, ParamId]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str = "the record"

    def __post_init__(self) -> None:
        if self.tensors.keys() != self.ids.keys():
            raise ValueError("its tensors and its ids are not of the same parameters")
        if len(set(self.ids.values())) < len(self.ids):
            raise ValueError("two of its parameters have one id")


def record_of(module: nn.Module, metadata: Mapping[str, Any] | None = None) -> Record:
    """A copy of a module's parameters and ids, a tied parameter once, without buffers."""
    tensors = {name: parameter.detach().cpu().clone() for name, _, parameter in walk(module)}
    return Record(tensors, ids(module), dict(metadata or {}))


def save_record(
    path: str | os.PathLike[str], what: nn.Module | Record, metadata: Mapping[str, Any] | None = None
) -> None:
    """Write a module's parameters, or a record: as safetensors where the suffix says so, else as JSON.

    `metadata` goes with a module; a record has its own. The file is whole or not there: it is written
    beside its place and then moved. Raises FsrsOptError, with any older file as it was, for values that are
    not finite, a dtype other than float32 and float64, metadata that is not JSON, or a place that cannot be
    written; ValueError for metadata given with a record.
    """
    path = Path(path)
    if isinstance(what, Record) and metadata is not None:
        raise ValueError("a record has its own metadata: give metadata only with a module")
    record = record_of(what, metadata) if isinstance(what, nn.Module) else what
    for name, tensor in record.tensors.items():
        if tensor.dtype not in _NAMES:
            raise FsrsOptError(f"{path} was not written: {name} is {tensor.dtype}, save float32 or float64")
        if not bool(torch.isfinite(tensor).all()):
            raise FsrsOptError(f"{path} was not written: {name} holds values that are not finite numbers")
    as_safetensors = path.suffix.lower() == ".safetensors"
    header: dict[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION, "metadata": dict(record.metadata)}
    header["parameters"] = {
        name: {"id": str(record.ids[name])} | ({} if as_safetensors else _described(tensor))
        for name, tensor in record.tensors.items()
    }
    try:
        text = json.dumps(header, allow_nan=False, indent=None if as_safetensors else 1)
    except (TypeError, ValueError, RecursionError) as error:
        raise FsrsOptError(f"{path} was not written: its metadata is not plain JSON ({error})") from error
    if as_safetensors:
        # Row-major copies, because safetensors refuses tensors that share memory or are not contiguous.
        tensors = {name: t.clone(memory_format=torch.contiguous_format) for name, t in record.tensors.items()}
        content: bytes = _safetensors(path).save(tensors, {FORMAT: text})
    else:
        content = (text + "\n").encode()
    replace_file(path, content)


def load_record(path: str | os.PathLike[str]) -> Record:
    """Read a record of this or an older version, JSON or safetensors by content.

    Raises FsrsOptError, one sentence that names the file, where it is missing, damaged, no record, of a newer
    version, or holds values that are not finite.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FsrsOptError(f"{path} cannot be read: {error.strerror or error}") from error
    with _damage_named(path):
        if _is_safetensors(content):
            found = _safetensors_header(content)
            header = _header(path, _strict_json(found) if found is not None else {})
            tensors = _safetensors(path).load(content)
        else:
            header = _header(path, _strict_json(content.decode("utf-8")))
            tensors = {name: _tensor(name, entry) for name, entry in header["parameters"].items()}
        return _record(path, header, tensors)


def restore(module: nn.Module, record: Record, convert: Convert | None = None) -> None:
    """Put a record's values and ids into a module that has the same parameters by name.

    `convert` (for FSRS: `fsrs_opt.model.parameters.convert`) is called for values whose number is not the
    parameter's, with a list of floats, and gives the values that the parameter takes. Values that fit are
    taken bit by bit. Raises FsrsOptError, and changes nothing, where names, dtypes or shapes differ,
    `convert` refuses the values, or the ids would not stay distinct.
    """
    parameters = {name: parameter for name, _, parameter in walk(module)}
    if parameters.keys() != record.tensors.keys():
        raise FsrsOptError(
            f"{record.source} holds the parameters {', '.join(sorted(record.tensors)) or 'none'}, the model"
            f" has {', '.join(sorted(parameters)) or 'none'}: this is not the model that was saved"
        )
    values: dict[str, Tensor] = {}
    for name, parameter in parameters.items():
        saved = record.tensors[name]
        if saved.dtype != parameter.dtype:
            raise FsrsOptError(
                f"{record.source} holds {name} as {saved.dtype}, the model as {parameter.dtype}: call"
                f" model.to({saved.dtype}) first"
            )
        if saved.shape != parameter.shape and saved.ndim == parameter.ndim == 1 and convert is not None:
            try:
                saved = torch.tensor([float(v) for v in convert(saved.flatten().tolist())], dtype=saved.dtype)
            except (ValueError, FsrsOptError) as error:
                raise FsrsOptError(
                    f"the values of {name} in {record.source} do not convert: {error}"
                ) from error
        if saved.shape != parameter.shape:
            raise FsrsOptError(
                f"{record.source} holds {name} with shape {tuple(saved.shape)}, the model with"
                f" {tuple(parameter.shape)}: this is not the model that was saved"
            )
        values[name] = saved
    try:
        set_ids(module, record.ids)
    except ValueError as error:
        raise FsrsOptError(f"the ids in {record.source} cannot be used: {error}") from error
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(values[name])


def _described(tensor: Tensor) -> dict[str, Any]:
    # A Python float holds every float32 exactly, and JSON writes the digits that give the same float back.
    return {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "values": tensor.flatten().tolist()}


def _header(path: Path, header: Any) -> dict[str, Any]:
    """The header object after the checks that come before any look at its contents."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FsrsOptError(f"{path} is no record of fsrs-opt: give a file that save_record wrote")
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise _DamagedError(f"its version is {version!r}")
    if version > FORMAT_VERSION:
        raise FsrsOptError(
            f"{path} is a record of format version {version}, newer than the {FORMAT_VERSION} that this"
            " fsrs-opt reads: update fsrs-opt"
        )
    if not isinstance(header.get("parameters"), dict) or not isinstance(header.get("metadata", {}), dict):
        raise _DamagedError("it has no table of parameters")
    return header


def _record(path: Path, header: dict[str, Any], tensors: Mapping[str, Tensor]) -> Record:
    found = {name: ParamId.parse(entry["id"]) for name, entry in header["parameters"].items()}
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES:
            raise _DamagedError(f"{name} is {tensor.dtype}")
        if not bool(torch.isfinite(tensor).all()):
            raise _DamagedError(f"{name} holds values that are not finite")
    in_order = {name: tensors[name] for name in found if name in tensors}
    if len(in_order) < len(tensors):
        raise _DamagedError("it holds a tensor without an id")
    return Record(in_order, found, header.get("metadata", {}), str(path))


def _tensor(name: str, entry: Any) -> Tensor:
    shape, values, dtype = entry["shape"], entry["values"], entry["dtype"]
    if dtype not in _DTYPES:
        raise _DamagedError(f"{name} has the unknown dtype {dtype!r}")
    if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) != len(values):
        raise _DamagedError(f"{name} has {len(values)} values for the shape {shape}")
    if any(type(value) not in (int, float) for value in values):
        raise _DamagedError(f"{name} has a value that is not a number")
    return torch.tensor([float(value) for value in values], dtype=_DTYPES[dtype]).reshape(shape)


def _strict_json(text: str) -> Any:
    """JSON without NaN, Infinity and doubled keys, which Python's parser would let through."""

    def no_constant(text: str) -> NoReturn:
        raise _DamagedError(f"it holds {text}, which is not a finite number")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise _DamagedError("a key comes twice")
        return dict(pairs)

    return json.loads(text, parse_constant=no_constant, object_pairs_hook=once)


def _is_safetensors(content: bytes) -> bool:
    """A safetensors file starts with its header's length (8 bytes, little-endian) and the header's brace."""
    return content[8:9] == b"{" and int.from_bytes(content[:8], "little") <= len(content) - 8


def _safetensors_header(content: bytes) -> str | None:
    """Our own object in the `__metadata__` of a safetensors file; its loader for bytes leaves that out."""
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    found: str | None = metadata.get(FORMAT)
    return found


def _safetensors(path: Path) -> Any:
    try:
        import safetensors.torch
    except ImportError as error:
        raise FsrsOptError(
            f"{path} needs the package safetensors: run pip install safetensors, or use a .json file"
        ) from error
    return safetensors.torch


class _DamagedError(Exception):
    """What is wrong inside a file."""


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Any way in which untrusted content fails to be a record, as one sentence that names the file."""
    try:
        yield
    except FsrsOptError:
        raise
    except Exception as error:  # parsers of damaged files raise nearly anything, SafetensorError among them
        detail = f"it lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise FsrsOptError(
            f"{path} is damaged or no record of fsrs-opt ({detail or type(error).__name__}):"
            " save it again or restore a copy"
        ) from error

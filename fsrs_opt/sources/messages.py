"""The few fields of Anki's protobuf messages that matter here, declared at run time.

Google's library does the parsing. The messages are declared as descriptors instead of compiled from a
`.proto` file, so that neither a compiler nor generated code (which is tied to a version of the library) is
needed. Fields that are not declared are skipped.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

_Field = descriptor_pb2.FieldDescriptorProto
_INT64, _FLOAT, _STRING, _MESSAGE = (
    _Field.TYPE_INT64,
    _Field.TYPE_FLOAT,
    _Field.TYPE_STRING,
    _Field.TYPE_MESSAGE,
)
_ONE, _MANY = _Field.LABEL_OPTIONAL, _Field.LABEL_REPEATED

# message -> (field name, number, type, label, message type); repeated floats are accepted packed or not.
_MESSAGES: Final[dict[str, list[tuple[str, int, Any, Any, str]]]] = {
    "PackageMeta": [("version", 1, _INT64, _ONE, "")],
    "NormalDeck": [
        ("preset_id", 1, _INT64, _ONE, ""),
        ("desired_retention", 10, _FLOAT, _ONE, ""),
    ],
    "FilteredDeck": [],
    "DeckKind": [
        ("normal", 1, _MESSAGE, _ONE, "NormalDeck"),
        ("filtered", 2, _MESSAGE, _ONE, "FilteredDeck"),
    ],
    "PresetConfig": [
        ("relearn_steps", 2, _FLOAT, _MANY, ""),
        ("parameters_4", 3, _FLOAT, _MANY, ""),
        ("parameters_5", 5, _FLOAT, _MANY, ""),
        ("parameters_6", 6, _FLOAT, _MANY, ""),
        ("desired_retention", 37, _FLOAT, _ONE, ""),
        ("historical_retention", 40, _FLOAT, _ONE, ""),
        ("search", 45, _STRING, _ONE, ""),
        ("ignore_before", 46, _STRING, _ONE, ""),
    ],
}
_PACKAGE: Final = "fsrs_opt.anki"


class MessageError(ValueError):
    """Bytes that are not the message they should be."""


def parse(name: str, raw: bytes) -> Any:
    """The message `name` (a key of `_MESSAGES`) in `raw`; MessageError if it is none."""
    message = _classes()[name]()
    try:
        message.ParseFromString(raw)
    except (DecodeError, ValueError, TypeError) as error:
        raise MessageError(f"not a {name} message") from error
    return message


@cache
def _classes() -> dict[str, Any]:
    # proto2 syntax: a field that is absent can be told from one that is 0 (`HasField`).
    file = descriptor_pb2.FileDescriptorProto(name="fsrs_opt/anki.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, label, of in fields:
            type_name = f".{_PACKAGE}.{of}" if of else None
            message.field.add(name=field, number=number, type=kind, label=label, type_name=type_name)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }

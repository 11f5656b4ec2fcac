"""Decks, presets and settings of a collection database, for Anki's schemas 11 to 18.

Up to schema 14 they are JSON in the columns of `col`, in part already in tables of their own; from 15 on all
are in tables, decks and presets as protobuf. What is there decides, not the version number. A part that
cannot be read is replaced by Anki's defaults and noted: the reviews are worth more than their deck's name.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fsrs_opt.sources.collection import DEFAULT_PRESET, DEFAULT_RETENTION, Deck, Preset
from fsrs_opt.sources.messages import MessageError, parse

NEWEST_SCHEMA: Final = 18
_FIRST_PROTOBUF_SCHEMA: Final = 15
_JSON_PARAMETERS: Final = ("fsrsParams6", "fsrsParams5", "fsrsWeights")
_JSON_RELEARNING_STEPS: Final = (10.0,)  # Anki's default where the JSON does not say
_JSON_DEFAULT_PRESET: Final = 1

Json = dict[str, Any]


@dataclass(frozen=True)
class Knowledge:
    """schema, created (s since 1970 UTC), settings (as stored), decks and presets by id, notes."""

    schema: int
    created: int
    settings: Json
    decks: dict[int, Deck]
    presets: dict[int, Preset]
    notes: tuple[str, ...]


def tables(connection: sqlite3.Connection) -> set[str]:
    """Names of the real tables (a view of that name could run anything)."""
    return {
        str(name) for (name,) in connection.execute("select name from sqlite_master where type = 'table'")
    }


def knowledge(connection: sqlite3.Connection) -> Knowledge:
    """All that is known of the collection beside its reviews and cards; sqlite3.Error if that is bad."""
    row = connection.execute("select ver, crt, conf, decks, dconf from col limit 1").fetchone()
    if row is None:
        raise sqlite3.DatabaseError("its table col is empty")
    schema, created = _integer(row[0]), _integer(row[1])
    present, notes = tables(connection), []
    if schema > NEWEST_SCHEMA:
        notes.append(f"The collection has schema {schema}, which is newer than the known {NEWEST_SCHEMA}.")
    protobuf = schema >= _FIRST_PROTOBUF_SCHEMA

    settings = _json(row[2], "The collection's settings", notes)
    if "config" in present:
        settings = _config_table(connection, notes)

    if "deck_config" in present:
        presets = _preset_table(connection, protobuf=protobuf, notes=notes)
    else:
        stored = _json(row[4], "The presets", notes)
        presets = [_json_preset(_integer(key), _dict(value)) for key, value in stored.items()]
    by_id = {preset.id: preset for preset in presets}

    if "decks" in present:
        decks = _deck_table(connection, notes)
    else:
        stored = _json(row[3], "The decks", notes)
        decks = [_json_deck(_integer(key), _dict(value)) for key, value in stored.items()]
    return Knowledge(schema, created, settings, _resolved(decks, by_id), by_id, tuple(notes))


def _resolved(decks: Iterable[Deck], presets: dict[int, Preset]) -> dict[int, Deck]:
    """Decks by id; one whose preset no longer exists uses the preset Default."""
    resolved = {}
    for deck in decks:
        gone = deck.preset_id is not None and deck.preset_id not in presets
        preset_id = DEFAULT_PRESET if gone else deck.preset_id
        resolved[deck.id] = Deck(deck.id, deck.name, preset_id, deck.filtered, deck.desired_retention)
    return resolved


def _config_table(connection: sqlite3.Connection, notes: list[str]) -> Json:
    wanted = ("schedVer", "rollover", "localOffset", "creationOffset")
    marks = ",".join("?" * len(wanted))
    rows = connection.execute(f"select key, val from config where key in ({marks})", wanted)
    settings = {}
    for key, value in rows:
        try:
            settings[str(key)] = json.loads(value)
        except (ValueError, TypeError, RecursionError):
            notes.append(f"The collection's setting {key} is unreadable and was ignored.")
    return settings


def _preset_table(connection: sqlite3.Connection, *, protobuf: bool, notes: list[str]) -> list[Preset]:
    presets = []
    for id_, name, config in connection.execute("select id, name, config from deck_config"):
        what = f"The options of the preset {name!r}"
        if protobuf:
            try:
                presets.append(_protobuf_preset(id_, str(name), _raw(config)))
            except MessageError:
                presets.append(Preset(id_, str(name)))
                notes.append(f"{what} are unreadable; Anki's defaults were taken.")
        else:
            presets.append(_json_preset(id_, {**_json(config, what, notes), "name": str(name)}))
    return presets


def _deck_table(connection: sqlite3.Connection, notes: list[str]) -> list[Deck]:
    decks = []
    for id_, stored_name, kind in connection.execute("select id, name, kind from decks"):
        name = str(stored_name).replace("\x1f", "::")
        try:
            message = parse("DeckKind", _raw(kind))
        except MessageError:
            decks.append(Deck(id_, name, DEFAULT_PRESET))
            notes.append(f"The options of the deck {name!r} are unreadable; the preset Default was taken.")
            continue
        if message.HasField("filtered"):
            decks.append(Deck(id_, name, None, filtered=True))
            continue
        own = (
            _short(message.normal.desired_retention) if message.normal.HasField("desired_retention") else None
        )
        decks.append(Deck(id_, name, int(message.normal.preset_id), False, own))
    return decks


def _protobuf_preset(id_: int, name: str, config: bytes) -> Preset:
    message = parse("PresetConfig", config)
    versions = (message.parameters_6, message.parameters_5, message.parameters_4)
    return Preset(
        id=id_,
        name=name,
        parameters=next((tuple(_short(value) for value in values) for values in versions if values), ()),
        relearning_steps=tuple(_short(step) for step in message.relearn_steps),
        # proto3 does not store a 0, and 0 is not a retention
        desired_retention=_short(message.desired_retention) or DEFAULT_RETENTION,
        historical_retention=_short(message.historical_retention) or DEFAULT_RETENTION,
        search=message.search,
        ignore_before=message.ignore_before,
    )


def _json_preset(id_: int, config: Json) -> Preset:
    versions = (_numbers(config.get(key)) for key in _JSON_PARAMETERS)
    steps = _dict(config.get("lapse")).get("delays", _JSON_RELEARNING_STEPS)
    return Preset(
        id=id_,
        name=str(config.get("name", "")),
        parameters=next((values for values in versions if values), ()),
        relearning_steps=_numbers(steps),
        desired_retention=_number(config.get("desiredRetention")) or DEFAULT_RETENTION,
        historical_retention=_number(config.get("sm2Retention")) or DEFAULT_RETENTION,
        search=_string(config.get("weightSearch")),
        ignore_before=_string(config.get("ignoreRevlogsBeforeDate")),
    )


def _json_deck(id_: int, deck: Json) -> Deck:
    name = str(deck.get("name", ""))
    if deck.get("dyn"):
        return Deck(id_, name, None, filtered=True)
    percent = _number(deck.get("desiredRetention"))
    own = percent / 100 if percent else None
    return Deck(id_, name, _integer(deck.get("conf", _JSON_DEFAULT_PRESET)), False, own)


def _json(text: object, what: str, notes: list[str]) -> Json:
    """A JSON object; {} where there is none, with a note where there is something else."""
    if not text:
        return {}
    try:
        value = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    notes.append(f"{what} are unreadable; Anki's defaults were taken.")
    return {}


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _raw(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode() if value else b""


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _integer(value: object) -> int:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (ValueError, TypeError, OverflowError):
        return 0


def _number(value: object) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None  # type: ignore[arg-type]


def _numbers(value: object) -> tuple[float, ...]:
    """A list of numbers; () for anything else. Nonsense inside stays visible as NaN."""
    if not isinstance(value, list | tuple):
        return ()
    return tuple(math.nan if (number := _number(item)) is None else number for item in value)


def _short(value: float) -> float:
    """The shortest decimal that is the same single-precision number: 0.91, not 0.9100000262260437."""
    return float(str(np.float32(value)))

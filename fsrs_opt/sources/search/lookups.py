"""What searches ask of a collection beside its cards and notes, for Anki's schemas 11 to 18."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Final

from fsrs_opt.sources.schemas import tables

_LEARN_AHEAD_SECONDS: Final = 1200  # Anki's default


@dataclass(frozen=True)
class NoteType:
    """templates: name by number, as `cards.ord` counts them; those of a cloze type have one template."""

    id: int
    name: str
    templates: dict[int, str]


def note_types(connection: sqlite3.Connection) -> list[NoteType]:
    """All note types; sqlite3.Error where the tables are damaged."""
    if "notetypes" in tables(connection):
        names = connection.execute("select id, name from notetypes").fetchall()
        templates: dict[int, dict[int, str]] = {int(id_): {} for id_, _ in names}
        for id_, order, name in connection.execute("select ntid, ord, name from templates"):
            templates.setdefault(int(id_), {})[int(order)] = str(name)
        return [NoteType(int(id_), str(name), templates[int(id_)]) for id_, name in names]
    row = connection.execute("select models from col limit 1").fetchone()
    try:
        stored = json.loads(row[0])
        return [
            NoteType(
                int(id_),
                str(one["name"]),
                {int(each["ord"]): str(each["name"]) for each in one["tmpls"]},
            )
            for id_, one in stored.items()
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise sqlite3.DatabaseError("its note types are unreadable") from None


def learn_ahead_seconds(connection: sqlite3.Connection) -> int:
    """Anki's learn ahead limit: how long before its time a learning card may be shown."""
    try:
        if "config" in tables(connection):
            found = connection.execute("select val from config where key = 'collapseTime'").fetchone()
            return _LEARN_AHEAD_SECONDS if found is None else int(json.loads(found[0]))
        stored = json.loads(connection.execute("select conf from col limit 1").fetchone()[0])
        return int(stored.get("collapseTime", _LEARN_AHEAD_SECONDS))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return _LEARN_AHEAD_SECONDS

"""Names of a collection's note types and of their card templates, for Anki's schemas 11 to 18."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from fsrs_opt.sources.schemas import tables


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

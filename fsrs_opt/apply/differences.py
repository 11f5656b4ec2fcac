"""Two states of one collection, compared row by row: only what was asked for may differ."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np

from fsrs_opt.apply import anki_package
from fsrs_opt.errors import RefusedError
from fsrs_opt.sources.database import open_still
from fsrs_opt.sources.schemas import tables

Row = Mapping[str, Any]

_WAITS_FOR_SYNC: Final = -1
"""The update sequence number of a row that Anki's next sync sends."""

_SAVE_IT: Final = (
    "open that preset's options in Anki, save them there (starting ease with two decimals),"
    " close Anki and try again"
)
_OTHER: Final = "other"  # the preset's field for what Anki does not know: JSON, in no certain order


def only_parameters(
    before: Path, after: Path, parameters: Mapping[int, Sequence[float]], cards: frozenset[int] | None = None
) -> int:
    """How many cards differ between two databases at rest that may differ only in presets' parameters.

    parameters: the new ones by preset id. cards: ids of the cards whose memory states and due dates may
    differ too, and that may have new rows in the review log; None: no card may. RefusedError for any other
    difference.
    """
    named = after
    with open_still(before, named=named) as old, open_still(after, named=named) as new:
        if _schema(old.connection) != _schema(new.connection):
            raise _unexpected("the layout of the tables")
        n_cards = 0
        for table in sorted(tables(old.connection)):
            for was, now in _changes(old.connection, new.connection, table):
                _check(table, was, now, parameters, cards)
                n_cards += table == "cards"
    return n_cards


def _check(
    table: str,
    was: Row | None,
    now: Row | None,
    parameters: Mapping[int, Sequence[float]],
    cards: frozenset[int] | None,
) -> None:
    """RefusedError unless the row `was` may have become `now`."""
    if now is None:
        raise _unexpected(f"the table {table}")
    if table == "deck_config" and was is not None and now["id"] in parameters:
        _check_preset(was, now, parameters[now["id"]])
        return
    if table == "col" and was is not None and _changed(was, now) == {"mod"}:
        return
    if cards is not None:
        if table == "cards" and was is not None and now["id"] in cards:
            if _changed(was, now) <= {"mod", "usn", "due", "odue", "ivl", "factor", "data"}:
                return
        elif table == "revlog" and was is None and now["cid"] in cards:
            return  # a card that was given a new due date
        elif table == "config" and was is not None and now["KEY"] == "localOffset":
            return  # this machine's time zone, which Anki notes whenever it counts days
    raise _unexpected(f"the table {table}")


def _check_preset(was: Row, now: Row, parameters: Sequence[float]) -> None:
    if not _changed(was, now) <= {"config", "mtime_secs", "usn"} or now["usn"] != _WAITS_FOR_SYNC:
        raise _unexpected(f"the preset “{was['name']}”")
    old, new = (anki_package.preset_message(row["config"]) for row in (was, now))
    if not np.array_equal(
        np.array(getattr(new, anki_package.FIELD), dtype=np.float32), np.array(parameters, dtype=np.float32)
    ):
        raise _unexpected(f"the parameters of the preset “{was['name']}”")
    names = [field.name for field in new.DESCRIPTOR.fields if field.name != anki_package.FIELD]
    changed = [name for name in names if _value(old, name) != _value(new, name)]
    if changed:
        raise RefusedError(
            f"Anki's own code would also change {' and '.join(changed)} of the preset"
            f" “{was['name']}”: {_SAVE_IT}."
        )


def _value(message: Any, name: str) -> Any:
    value = getattr(message, name)
    if name == _OTHER and value:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _changes(
    old: sqlite3.Connection, new: sqlite3.Connection, table: str
) -> Iterator[tuple[Row | None, Row | None]]:
    """The rows of a table that differ, as (old, new); None where there is no row of that id."""
    quoted = '"' + table.replace('"', '""') + '"'
    columns = [row[1] for row in old.execute(f"pragma table_info({quoted})")]
    if "id" in columns:
        yield from _by_id(old, new, f"select * from {quoted} order by id", columns)
        return
    a, b = (connection.execute(f"select * from {quoted}") for connection in (old, new))
    for was, now in zip_longest(a, b):
        if was != now:
            yield _row(columns, was), _row(columns, now)


def _by_id(
    old: sqlite3.Connection, new: sqlite3.Connection, query: str, columns: Sequence[str]
) -> Iterator[tuple[Row | None, Row | None]]:
    place = list(columns).index("id")
    a, b = old.execute(query), new.execute(query)
    was, now = next(a, None), next(b, None)
    while was is not None or now is not None:
        if was == now:
            was, now = next(a, None), next(b, None)
        elif now is None or (was is not None and was[place] < now[place]):
            yield _row(columns, was), None
            was = next(a, None)
        elif was is None or now[place] < was[place]:
            yield None, _row(columns, now)
            now = next(b, None)
        else:
            yield _row(columns, was), _row(columns, now)
            was, now = next(a, None), next(b, None)


def _row(columns: Sequence[str], values: Sequence[Any] | None) -> Row | None:
    return None if values is None else dict(zip(columns, values, strict=True))


def _changed(was: Row, now: Row) -> set[str]:
    return {name for name in now if was[name] != now[name]}


def _schema(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute("select type, name, tbl_name, sql from sqlite_master order by name").fetchall()


def _unexpected(what: str) -> RefusedError:
    return RefusedError(
        f"Anki's own code would change more than was asked for ({what}), so nothing was written:"
        " open the collection once in Anki, close Anki and try again."
    )

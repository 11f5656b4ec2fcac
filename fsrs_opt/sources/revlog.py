"""The revlog and cards tables as columns.

They are decoded from the database's pages (`pages`), which takes a fraction of the time of any interface that
makes an object of every value. A table with odd values in it (NULL, fractions, text: SQLite allows them), or
laid out in another way, is read with the standard library, which lets SQLite cast them.
"""

from __future__ import annotations

import sqlite3
from itertools import chain
from typing import Any, Final

import numpy as np
import pandas as pd

from fsrs_opt.reviews import log
from fsrs_opt.sources.database import Database
from fsrs_opt.sources.pages import Columns, UnusualError, clipped, read_columns

# the revlog's column -> the log's
TRAINING_COLUMNS: Final = {
    "id": "review_time",
    "cid": "card_id",
    "ease": "rating",
    "type": "kind",
    "factor": "factor",
}
ALL_COLUMNS: Final = {**TRAINING_COLUMNS, "time": "duration", "ivl": "interval", "lastIvl": "last_interval"}


def read_log(database: Database, columns: str) -> pd.DataFrame:
    """The review log, rows ascending by review_time. columns: "training" or "all"."""
    wanted = TRAINING_COLUMNS if columns == "training" else ALL_COLUMNS
    dtypes = {column: log.DTYPES[name] for column, name in wanted.items()}
    values = _read(database, "revlog", dtypes)
    return log.make({name: values[column] for column, name in wanted.items()})


def read_cards(database: Database) -> pd.DataFrame:
    """One row a card, ascending by card_id; columns as in `collection.Collection`."""
    names = ("id", "did", "odid", "queue", "flags")
    values = _read(database, "cards", dict.fromkeys(names, np.int64))
    away = values["odid"] != 0  # the card is in a filtered deck; odid is its home
    frame = {
        "card_id": values["id"],
        "deck_id": np.where(away, values["odid"], values["did"]),
        "filtered_deck_id": np.where(away, values["did"], 0),
        "suspended": values["queue"] == -1,
        "flag": (values["flags"] & 7).astype(np.int8),
    }
    return pd.DataFrame(frame, copy=False)


def _read(database: Database, table: str, dtypes: dict[str, Any]) -> Columns:
    try:
        return read_columns(database.connection, database.content, table, dtypes)
    except (UnusualError, OSError):
        # What is truly bad fails again, in SQLite's words.
        return _read_cast(database.connection, table, dtypes)


def _read_cast(connection: sqlite3.Connection, table: str, dtypes: dict[str, Any]) -> Columns:
    """The same with the standard library; NULL and text become 0, fractions lose their digits."""
    cast = ", ".join(f"cast(ifnull({name}, 0) as integer)" for name in dtypes)
    rows: sqlite3.Cursor = connection.execute(f"select {cast} from {table} not indexed order by id")
    flat = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, len(dtypes))
    return {name: clipped(flat[:, index].copy(), dtype) for index, (name, dtype) in enumerate(dtypes.items())}

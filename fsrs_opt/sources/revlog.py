"""The revlog and cards tables as columns.

The tables are read through Arrow (ADBC's SQLite driver), which fills columns in C: a million rows take less
than half the time of the standard library's cursor, which makes a Python object of every value. ADBC fixes a
column's type by its first rows, so a table with odd values in it (NULL, fractions, text: SQLite allows them)
is read again with the standard library, which lets SQLite cast them. (ADBC's DB-API and Arrow's own way to
numpy would load pyarrow.dataset and pandas: more than all the rest of a command.)
"""

from __future__ import annotations

import sqlite3
from itertools import chain
from typing import Any, Final

import adbc_driver_manager
import adbc_driver_sqlite
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fsrs_opt.reviews import log
from fsrs_opt.reviews.columns import Columns
from fsrs_opt.sources.database import Database, uri

# the revlog's column -> the log's
TRAINING_COLUMNS: Final = {
    "id": "review_time",
    "cid": "card_id",
    "ease": "rating",
    "type": "kind",
    "factor": "factor",
}
ALL_COLUMNS: Final = {**TRAINING_COLUMNS, "time": "duration", "ivl": "interval", "lastIvl": "last_interval"}
_BATCH_ROWS: Final = 4_096  # the first batch, from which ADBC takes the types, costs twice as much a row


class _OddValuesError(Exception):
    """Values that ADBC would not give as integers."""


def read_log(database: Database, columns: str) -> log.ReviewLog:
    """The review log, rows ascending by review_time. columns: "training" or "all"."""
    wanted = TRAINING_COLUMNS if columns == "training" else ALL_COLUMNS
    dtypes = {column: log.DTYPES[name] for column, name in wanted.items()}
    values = _read(database, "revlog", dtypes)
    return log.make({name: values[column] for column, name in wanted.items()})


def read_cards(database: Database) -> Columns:
    """One row a card, ascending by card_id; columns as in `collection.Collection`."""
    names = ("id", "did", "odid", "queue", "flags")
    values = _read(database, "cards", dict.fromkeys(names, np.int64))
    away = values["odid"] != 0  # the card is in a filtered deck; odid is its home
    return Columns(
        {
            "card_id": values["id"],
            "deck_id": np.where(away, values["odid"], values["did"]),
            "filtered_deck_id": np.where(away, values["did"], 0),
            "suspended": values["queue"] == -1,
            "flag": (values["flags"] & 7).astype(np.int8),
        }
    )


def _read(database: Database, table: str, dtypes: dict[str, Any]) -> dict[str, NDArray[Any]]:
    try:
        return _read_arrow(database, table, dtypes)
    except (adbc_driver_manager.Error, pa.ArrowException, OSError, _OddValuesError):
        # Arrow reports late surprises as OSError; a file that is truly bad fails again, in SQLite's words.
        return _read_cast(database, table, dtypes)


def _read_arrow(database: Database, table: str, dtypes: dict[str, Any]) -> dict[str, NDArray[Any]]:
    parts: dict[str, list[NDArray[Any]]] = {name: [np.empty(0, dtype)] for name, dtype in dtypes.items()}
    with (
        adbc_driver_sqlite.connect(uri(database.file)) as driver,
        adbc_driver_manager.AdbcConnection(driver) as connection,
        adbc_driver_manager.AdbcStatement(connection) as statement,
    ):
        statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_BATCH_ROWS)})
        statement.set_sql_query(f"select {', '.join(dtypes)} from {table} not indexed order by id")
        stream, _ = statement.execute_query()
        with pa.RecordBatchReader.from_stream(stream) as batches:
            for batch in batches:
                for name, column in zip(dtypes, batch.columns, strict=True):
                    if column.type != pa.int64() or column.null_count:
                        raise _OddValuesError(name)
                    parts[name].append(_clipped(np.from_dlpack(column), dtypes[name]))
    return {name: np.concatenate(parts.pop(name)) for name in dtypes}


def _read_cast(database: Database, table: str, dtypes: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The same with the standard library; NULL and text become 0, fractions lose their digits."""
    cast = ", ".join(f"cast(ifnull({name}, 0) as integer)" for name in dtypes)
    rows: sqlite3.Cursor = database.connection.execute(f"select {cast} from {table} not indexed order by id")
    flat = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, len(dtypes))
    return {name: _clipped(flat[:, index], dtype) for index, (name, dtype) in enumerate(dtypes.items())}


def _clipped(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """In the dtype, values beyond it at its ends."""
    if dtype is np.int64:
        return values.astype(np.int64)
    ends = np.iinfo(dtype)
    small: NDArray[Any] = values.astype(dtype)
    if len(values) and (values.min() < ends.min or values.max() > ends.max):
        small = np.clip(values, ends.min, ends.max).astype(dtype)
    return small

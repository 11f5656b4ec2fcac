"""Whole numbers out of a raw column, and the value that stands in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    RawColumn = NDArray[np.int64] | pd.Series
    """int64 [n], or text [n] without blanks around it ("" = blank)."""

Int64 = NDArray[np.int64]

_MOST_EXACT = 2.0**63


class BadValueError(ValueError):
    """A value that cannot be read. row: counted from 0; column: its name in the file; what: what is wrong."""

    def __init__(self, row: int, column: str, what: str) -> None:
        super().__init__(f"row {row}, column {column}: {what}")
        self.row = row
        self.column = column
        self.what = what


def shown(value: object) -> str:
    """A value in a message: on one line, and not too long."""
    text = repr(str(value))
    return text if len(text) <= 42 else f"{text[:38]}...'"


def from_arrow(column: pa.ChunkedArray) -> Int64:
    """int64 [n] of an Arrow column of integers; ValueError where it has nulls. (Arrow's own way there would
    load pandas.)"""
    import pyarrow as pa

    if column.null_count:
        raise ValueError("a number is missing")
    whole = column if column.type == pa.int64() else column.cast(pa.int64())
    return np.concatenate([np.empty(0, np.int64), *(np.from_dlpack(chunk) for chunk in whole.chunks)])


def blanks(column: RawColumn) -> NDArray[np.bool_]:
    """bool [n]: which values are blank."""
    if isinstance(column, np.ndarray):
        return np.zeros(len(column), dtype=bool)
    blank: NDArray[np.bool_] = (column == "").to_numpy(dtype=bool)
    return blank


def numbers(column: pd.Series) -> NDArray[np.float64]:
    """float64 [n], NaN for what is no finite number."""
    import pandas as pd

    values: NDArray[Any] = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def whole_numbers(column: RawColumn, name: str, *, blank: int | None = None) -> Int64:
    """int64 [n]; `3.0` counts as whole. blank: stands for a blank value, None = refuse it.

    BadValueError for the first value that is no whole number.
    """
    if isinstance(column, np.ndarray):
        return column
    empty = blanks(column)
    if blank is None and empty.any():
        raise BadValueError(int(np.argmax(empty)), name, "the value is blank")
    values = numbers(column)
    bad = ~empty & ~_whole(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise BadValueError(row, name, f"{shown(column.iloc[row])} is no whole number")
    return np.where(empty, float(blank or 0), values).astype(np.int64)


def optional_integers(column: RawColumn, name: str, notes: list[str]) -> Int64:
    """int64 [n]; fractions are rounded, what is blank is 0, what cannot be read is 0 and noted."""
    if isinstance(column, np.ndarray):
        return column
    values = np.round(numbers(column))
    bad = ~_whole(values)
    unreadable = int(np.count_nonzero(bad & ~blanks(column)))
    if unreadable:
        notes.append(f"{unreadable} values of {name} are no numbers and were taken as 0.")
    return np.where(bad, 0.0, values).astype(np.int64)


def _whole(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    whole: NDArray[np.bool_] = (np.abs(values) < _MOST_EXACT) & (values == np.floor(values))
    return whole

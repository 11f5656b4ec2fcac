"""Review times of any common writing -> milliseconds since 1970 UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from fsrs_opt.sources.values import BadValueError, Int64, blanks, numbers, shown

if TYPE_CHECKING:
    import pandas as pd

    from fsrs_opt.sources.values import RawColumn

# Numbers in one of these ranges are times between 1973 and 5138 in that unit; the ranges do not overlap.
_EARLIEST_S: Final = 1e8
_LATEST_S: Final = 1e11
_UNITS: Final = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000}
_OFFSET: Final = r"(?:[zZ]|[+-]\d\d(?::?\d\d)?)$"


def to_milliseconds(column: RawColumn, name: str, notes: list[str], *, any_time: bool) -> Int64:
    """int64 [n] from numbers (seconds, milliseconds or microseconds: one unit for all) or ISO 8601 text.

    any_time: take numbers outside the years 1973 to 5138 too (a revlog's own rows are never refused). What
    was recognized is noted. BadValueError for the first value that is no time.
    """
    if isinstance(column, np.ndarray):
        return _from_numbers(column, column, name, notes, any_time=any_time)
    blank = blanks(column)
    if blank.any():
        raise BadValueError(int(np.argmax(blank)), name, "the time is blank")
    if np.isnan(numbers(column.iloc[:1])).any():
        return _from_text(column, name, notes)
    values = numbers(column)
    bad = np.isnan(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise BadValueError(row, name, f"{shown(column.iloc[row])} is no time like those before it")
    return _from_numbers(values, column, name, notes, any_time=any_time)


def _from_numbers(
    values: NDArray[np.float64] | Int64, written: RawColumn, name: str, notes: list[str], *, any_time: bool
) -> Int64:
    if not len(values):
        return values.astype(np.int64)
    middle = float(np.median(values))
    unit = next((u for u, n in _UNITS.items() if _EARLIEST_S * n <= middle < _LATEST_S * n), "milliseconds")
    per_second = _UNITS[unit]
    bad = (values < _EARLIEST_S * per_second) | (values >= _LATEST_S * per_second)
    if bad.any() and not any_time:
        row = int(np.argmax(bad))
        value = shown(written[row] if isinstance(written, np.ndarray) else written.iloc[row])
        raise BadValueError(row, name, f"{value} is no time in {unit}")
    notes.append(f"{name} was read as {unit} since 1970.")
    if unit == "microseconds":
        return (values // 1000).astype(np.int64)
    factor = 1000 // per_second
    if values.dtype == np.int64:
        return values.astype(np.int64) * factor
    # any_time lets anything in: what is beyond int64 ends up near its ends
    return np.clip(np.round(values * factor), -9.2e18, 9.2e18).astype(np.int64)


def _from_text(column: pd.Series, name: str, notes: list[str]) -> Int64:
    import pandas as pd

    moments = pd.to_datetime(column, format="ISO8601", utc=True, errors="coerce")
    bad = moments.isna().to_numpy()
    if bad.any():
        row = int(np.argmax(bad))
        raise BadValueError(
            row,
            name,
            f"{shown(column.iloc[row])} is no time (write 2024-01-31T08:00:00Z, or a number)",
        )
    without = not column.str.contains(r"\d\d:\d\d.*" + _OFFSET, regex=True).all()
    notes.append(f"{name} was read as ISO 8601 text{', without an offset as UTC' if without else ''}.")
    milliseconds: Int64 = moments.dt.as_unit("ms").dt.tz_localize(None).to_numpy().astype(np.int64)
    return milliseconds

"""CSV and Parquet files of reviews -> named columns -> review log.

Three sets of columns are known (`FORMS`); case does not matter in names, and other columns are ignored.
A column that holds only whole numbers comes as int64, any other as text, which `columns` then makes sense of.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from fsrs_opt.errors import SourceError
from fsrs_opt.sources.columns import to_log
from fsrs_opt.sources.detect import UTF16_MARKS, read_head, reason
from fsrs_opt.sources.values import BadValueError, Int64, from_arrow

if TYPE_CHECKING:
    import pandas as pd

    from fsrs_opt.reviews.log import ReviewLog
    from fsrs_opt.sources.values import RawColumn

FORMS: Final[dict[str, tuple[str, ...]]] = {
    "fsrs-optimizer": ("card_id", "review_time", "review_rating"),
    "research": ("card_id", "day_offset", "rating"),
    "revlog": ("id", "cid", "ease"),
}
"""The columns that each form must have; the first form that fits is taken."""

_OPTIONAL: Final[dict[str, tuple[str, ...]]] = {
    "fsrs-optimizer": ("review_state", "review_duration", "type", "factor", "ivl", "lastivl"),
    "research": ("state", "duration", "elapsed_days"),
    "revlog": ("type", "factor", "ivl", "lastivl", "time"),
}
_ONLY_WITH_ALL: Final = ("review_duration", "duration", "time", "ivl", "lastivl")
_SEPARATORS: Final = {",": "comma", ";": "semicolon", "\t": "tab"}
MAX_ROWS: Final = 200_000_000
"""A Parquet file can claim any number of rows; more than these are refused."""


@dataclass(frozen=True)
class Table:
    """log: a review log. form: a key of `FORMS`. notes: what a user should be told."""

    log: ReviewLog
    form: str
    notes: tuple[str, ...]


def read_table(path: Path, file_format: str, columns: str) -> Table:
    """The review log in a "text" or "parquet" file. columns: "training" or "all".

    SourceError where columns are missing, and where a value cannot be read: it names the line and the column.
    """
    if file_format == "parquet":
        return read_parquet(path, columns)
    return _read_csv(path, columns)


def _form(path: Path, names: list[str]) -> str:
    for form, needed in FORMS.items():
        if set(needed) <= set(names):
            return form
    known = {form: [name for name in needed if name in names] for form, needed in FORMS.items()}
    best = max(FORMS, key=lambda form: len(known[form]))
    if len(known[best]) > 1:
        missing = [name for name in FORMS[best] if name not in names]
        raise SourceError(f"{path} has no column {' and no column '.join(missing)}.")
    sets = "; or ".join(", ".join(needed) for needed in FORMS.values())
    raise SourceError(f"{path} is no review log: its first line must name the columns ({sets}).")


def _wanted(form: str, names: list[str], columns: str) -> dict[str, int]:
    """Name -> position of the columns to read; of two with one name the first."""
    optional = [name for name in _OPTIONAL[form] if columns == "all" or name not in _ONLY_WITH_ALL]
    return {name: names.index(name) for name in (*FORMS[form], *optional) if name in names}


# CSV


@dataclass(frozen=True)
class _Layout:
    """How a CSV file is laid out. names: of the columns, in lower case; header_lines: up to its end."""

    encoding: str
    separator: str
    names: list[str]
    header_lines: int


def _read_csv(path: Path, columns: str) -> Table:
    with _csv_errors(path):
        layout = _layout(path)
    form = _form(path, layout.names)
    with _csv_errors(path, layout.header_lines):
        raw, row_of = _csv_columns(path, layout, _wanted(form, layout.names, columns))
    try:
        result, notes = to_log(form, raw, columns)
    except BadValueError as error:
        line = _line_of(path, layout, int(row_of[error.row]))
        raise SourceError(f"{path}, line {line}, column {error.column}: {error.what}.") from None
    separator = () if layout.separator == "," else (f"Columns end at a {_SEPARATORS[layout.separator]}.",)
    return Table(result, form, (*separator, *notes))


def _layout(path: Path) -> _Layout:
    head = read_head(path)
    encoding = "utf-16" if head.startswith(UTF16_MARKS) else "utf-8-sig"
    first_line, header_lines = "", 0
    with _open_text(path, encoding) as file:
        while not first_line.strip() and (first_line := file.readline()):
            header_lines += 1
    names = {separator: _names(first_line, separator) for separator in _SEPARATORS}
    known = {name for form in FORMS.values() for name in form}
    separator = max(names, key=lambda each: len(known & set(names[each])))
    return _Layout(encoding, separator, names[separator], header_lines)


def _names(line: str, separator: str) -> list[str]:
    fields = next(csv.reader([line.rstrip("\r\n")], delimiter=separator), [])
    return [field.strip().strip('"').lower() for field in fields]


def _open_text(path: Path, encoding: str) -> TextIOWrapper:
    return path.open(encoding=encoding, errors="replace", newline="")


def _csv_columns(path: Path, layout: _Layout, wanted: dict[str, int]) -> tuple[dict[str, RawColumn], Int64]:
    """The wanted columns without blank rows, and for each row its number after the header."""
    import pandas as pd

    def parse(positions: Iterable[int], **how: Any) -> pd.DataFrame:
        with _open_text(path, layout.encoding) as file:
            for _ in range(layout.header_lines):
                file.readline()
            try:
                parsed: pd.DataFrame = pd.read_csv(
                    file,
                    sep=layout.separator,
                    header=None,
                    names=range(len(layout.names)),
                    usecols=sorted(positions),
                    index_col=False,
                    na_filter=False,
                    skip_blank_lines=False,
                    skipinitialspace=True,
                    low_memory=False,
                    **how,
                )
            except pd.errors.EmptyDataError:
                parsed = pd.DataFrame({position: np.empty(0, dtype=np.int64) for position in positions})
            return parsed

    # Columns of whole numbers are parsed as such; only where there is anything else text is needed.
    frame = parse(wanted.values())
    other = [position for position in wanted.values() if frame[position].dtype != np.int64]
    text = parse(other, dtype=str).fillna("") if other else None
    raw: dict[str, RawColumn] = {}
    for name, position in wanted.items():
        if text is not None and position in other:
            raw[name] = text[position].str.strip()
        else:
            raw[name] = frame[position].to_numpy()
    rows = np.arange(len(frame), dtype=np.int64)
    if len(other) == len(wanted):
        blank = np.logical_and.reduce([(raw[name] == "").to_numpy() for name in wanted])
        if blank.any():
            rows = rows[~blank]
            raw = {name: column[~blank].reset_index(drop=True) for name, column in raw.items()}
    return raw, rows


def _line_of(path: Path, layout: _Layout, row: int) -> int:
    """The line on which a row begins; quoted fields may go over several lines."""
    with _open_text(path, layout.encoding) as file:
        for _ in range(layout.header_lines):
            file.readline()
        reader = csv.reader(file, delimiter=layout.separator, skipinitialspace=True)
        try:
            for _ in range(row):
                next(reader)
        except (csv.Error, StopIteration):
            return layout.header_lines + row + 1
        return layout.header_lines + reader.line_num + 1


@contextmanager
def _csv_errors(path: Path, header_lines: int = 0) -> Iterator[None]:
    try:
        yield
    except (csv.Error, ValueError, OverflowError, OSError) as error:
        what = re.sub(r"^.*C error: ", "", reason(error))
        if quote := re.fullmatch(r"EOF inside string starting at row (\d+)", what):
            what = f"a quote that opens in line {header_lines + int(quote[1]) + 1} is never closed"
        if short := re.fullmatch(r"Too many columns specified: expected (\d+) and found (\d+)", what):
            what = f"the first line names {short[1]} columns, but the lines after it have {short[2]} fields"
        raise SourceError(f"{path} is no readable CSV file: {what}.") from None


# Parquet


def read_parquet(path: Path, columns: str, files: Sequence[Path] | None = None) -> Table:
    """The review log in a Parquet file, or in several that follow one another.

    files: the parts of a folder `path`, in the order of their rows. Errors as of `read_table`.
    """
    parts: list[dict[str, RawColumn]] = []
    form = ""
    for file in files or (path,):
        raw, form_of_part = _parquet_columns(file, columns)
        if form and (form_of_part != form or raw.keys() != parts[0].keys()):
            raise SourceError(f"{file} has other columns than the files before it in its folder.")
        parts.append(raw)
        form = form_of_part
    try:
        result, notes = to_log(form, _one_after_another(parts), columns)
    except BadValueError as error:
        raise SourceError(f"{path}, row {error.row + 1}, column {error.column}: {error.what}.") from None
    return Table(result, form, notes)


def _parquet_columns(path: Path, columns: str) -> tuple[dict[str, RawColumn], str]:
    try:
        file = pyarrow.parquet.ParquetFile(path)
        stored = file.schema_arrow.names
        names = [name.strip().lower() for name in stored]
        form = _form(path, names)
        if file.metadata.num_rows > MAX_ROWS:
            raise SourceError(f"{path} claims more than {MAX_ROWS:,} rows.")
        wanted = _wanted(form, names, columns)
        table = file.read(columns=[stored[position] for position in wanted.values()])
        raw = {name: _parquet_column(table[stored[position]]) for name, position in wanted.items()}
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        raise SourceError(f"{path} is no readable Parquet file: {reason(error)}.") from None
    return raw, form


def _one_after_another(parts: Sequence[dict[str, RawColumn]]) -> dict[str, RawColumn]:
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, RawColumn] = {}
    for name in parts[0]:
        columns = [part[name] for part in parts]
        numbers = [column for column in columns if isinstance(column, np.ndarray)]
        if len(numbers) == len(columns):
            joined[name] = np.concatenate(numbers)
        else:
            import pandas as pd

            joined[name] = pd.concat([pd.Series(column).astype(str) for column in columns], ignore_index=True)
    return joined


def _parquet_column(column: pa.ChunkedArray) -> RawColumn:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if (pa.types.is_timestamp(kind) or pa.types.is_date(kind)) and not column.null_count:
        # Milliseconds are known here; written as such they need no guess. Times without a zone are UTC.
        column = column.cast(pa.timestamp("ms", getattr(kind, "tz", None)), safe=False)
        return from_arrow(column)
    if pa.types.is_integer(kind) and not column.null_count and not pa.types.is_uint64(kind):
        return from_arrow(column)
    import pandas as pd

    text = pd.Series(column.cast(pa.string()).to_pandas())
    return text.fillna("").astype(str).str.strip()

"""Is a file that lies in a folder a review log? A look at its content, with as little reading as will do."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from fsrs_opt.errors import SourceError
from fsrs_opt.sources.database import uri
from fsrs_opt.sources.detect import DATABASE_SUFFIXES, SQLITE_MAGIC, UTF16_MARKS, detect, read_head
from fsrs_opt.sources.package import is_package

PACKAGES: Final = (".colpkg", ".apkg")
_TABLES: Final = (".csv", ".parquet")
SUFFIXES: Final = (*PACKAGES, *DATABASE_SUFFIXES, *_TABLES)
_TEXT: Final = (".csv", ".tsv", ".txt", "")
_TABLE_NAMES: Final = {"col", "cards", "revlog"}


def is_review_log(path: Path) -> bool:
    """Whether a file is to be done.

    One that Anki's own suffixes claim to be a collection always is, so that a damaged one is reported and
    not passed over. Any other by content alone; a table has to have the columns of a review log, or nearly.
    """
    suffix = path.suffix.lower()
    if suffix in PACKAGES or suffix in DATABASE_SUFFIXES:
        return True
    try:
        if not path.stat().st_size:
            return suffix in _TABLES
        form = detect(path)
    except (SourceError, OSError):
        return suffix == ".parquet"
    if form == "parquet":
        columns = _parquet_columns(path)
        return columns is None or _nearly(columns)
    if form == "text":
        return suffix in _TEXT and _nearly(_header(path))
    if form == "sqlite":
        return _is_collection(path)
    if form == "zstd":
        return _starts_as_database(path)
    return is_package(path)


def _nearly(columns: set[str]) -> bool:
    """At least two of the columns that some form of a review log must have."""
    from fsrs_opt.sources.tables import FORMS

    return any(len(columns & set(needed)) > 1 for needed in FORMS.values())


def _header(path: Path) -> set[str]:
    head = read_head(path)
    text = head.decode("utf-16" if head.startswith(UTF16_MARKS) else "utf-8-sig", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    return {name.strip(' "').lower() for name in re.split(r"[,;\t]", lines[0])} if lines else set()


def _parquet_columns(path: Path) -> set[str] | None:
    """Names of the columns, None for a damaged file."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return {name.strip().lower() for name in pyarrow.parquet.read_schema(path).names}
    except (pa.ArrowException, OSError):
        return None


def _is_collection(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(uri(path), uri=True)) as connection:
            rows = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
    except sqlite3.Error:
        return False
    return {name for (name,) in rows} >= _TABLE_NAMES


def _starts_as_database(path: Path) -> bool:
    import zstandard

    try:
        with path.open("rb") as file:
            start = zstandard.ZstdDecompressor().stream_reader(file).read(len(SQLITE_MAGIC))
    except (zstandard.ZstdError, OSError):
        return False
    return bool(start == SQLITE_MAGIC)

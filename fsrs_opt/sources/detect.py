"""What is this file? Told by its first bytes; a suffix is only a hint for messages."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Final

from fsrs_opt.errors import SourceError

SQLITE_MAGIC: Final = b"SQLite format 3\0"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
ZIP_MAGICS: Final = (b"PK\x03\x04", b"PK\x05\x06")
PARQUET_MAGIC: Final = b"PAR1"
UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_HEAD: Final = 65_536

_SUPPORTED: Final = (
    "an Anki collection (.anki2), an Anki export (.colpkg, .apkg), or a CSV or Parquet file of reviews"
)
_PACKAGE_SUFFIXES: Final = (".colpkg", ".apkg", ".zip")
DATABASE_SUFFIXES: Final = (".anki2", ".anki21", ".anki21b")


def detect(path: Path) -> str:
    """ "sqlite", "zstd", "zip", "parquet" or "text".

    SourceError for what cannot be opened, is empty, or is none of these.
    """
    head = read_head(path)
    if not head:
        raise SourceError(f"{path} is empty (0 bytes); copy or export it again.")
    if head.startswith(SQLITE_MAGIC):
        return "sqlite"
    if head.startswith(ZSTD_MAGIC):
        return "zstd"
    if head.startswith(ZIP_MAGICS):
        return "zip"
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    text = head.startswith(UTF16_MARKS) or b"\0" not in head or _starts_with_a_header(head)
    suffix = path.suffix.lower()
    if text and suffix not in _PACKAGE_SUFFIXES and suffix not in DATABASE_SUFFIXES:
        return "text"
    if text and _looks_like_a_table(head):
        return "text"
    if suffix in _PACKAGE_SUFFIXES:
        raise SourceError(f"{path} is no Anki package, whatever its name says; export it again from Anki.")
    if suffix in DATABASE_SUFFIXES:
        raise SourceError(f"{path} is no Anki collection, whatever its name says; copy or export it again.")
    raise SourceError(f"{path} is not a file that can be read here; give {_SUPPORTED}.")


def read_head(path: Path) -> bytes:
    """The first bytes of a file; SourceError in one sentence if it cannot be opened."""
    try:
        if path.is_dir():
            raise SourceError(f"{path} is a folder; give a file.")
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        raise SourceError(f"{path} does not exist; check the name.") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be opened: {reason(error)}.") from None


def reason(error: Exception) -> str:
    """What an exception says, on one line and without the file's name."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__


def _looks_like_a_table(head: bytes) -> bool:
    first_line = head.split(b"\n", 1)[0].replace(b"\0", b"")
    return any(separator in first_line for separator in b",;\t")


def _starts_with_a_header(head: bytes) -> bool:
    """Plain column names in the first line: a table, even if some field further on holds a NUL."""
    first_line = head.removeprefix(codecs.BOM_UTF8).lstrip().splitlines()[:1]
    return (
        bool(first_line)
        and _looks_like_a_table(first_line[0])
        and first_line[0].isascii()
        and all(byte >= 32 or byte == 9 for byte in first_line[0])
    )

"""Anki's packages: the database in a .colpkg or .apkg, unpacked into memory, or if large into a folder.

Only the one database member is ever unpacked, to a file name of ours, and never more of it than a bound
allows: sizes written in a zip or a zstd frame are not believed.
"""

from __future__ import annotations

import lzma
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import zstandard

from fsrs_opt.errors import SourceError
from fsrs_opt.sources.detect import SQLITE_MAGIC, reason
from fsrs_opt.sources.messages import MessageError, parse

MEMBERS: Final = ("collection.anki21b", "collection.anki21", "collection.anki2")
"""The databases a package can hold, the one to read first; beside another the last is a placeholder."""

MAX_DATABASE_BYTES: Final = 8 << 30
"""No more than this is unpacked of any database."""

MAX_EXPANSION: Final = 200
"""No more than this many times the package's own size is unpacked; real collections grow by 3 to 30."""

FREE_EXPANSION_BYTES: Final = 256 << 20
"""Up to here the expansion does not matter."""

MAX_IN_MEMORY_BYTES: Final = 32 << 20 if hasattr(sqlite3.Connection, "deserialize") else 0
"""A larger database is unpacked into a file."""

MAX_ZSTD_WINDOW: Final = 1 << 27
"""zstd's own limit for decoders; Anki uses 2 MiB."""

_MAX_META_BYTES: Final = 4096
_NEWEST_META: Final = 3
_READ_BYTES: Final = 1 << 18
# One zstd block of 4 bytes can hold 128 KiB, so this many bytes give at most 64 MiB at once.
_ZSTD_READ_BYTES: Final = 2048

_EXPORT_AGAIN: Final = "export it again from Anki (File > Export)"
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    struct.error,
    EOFError,
    NotImplementedError,  # a compression method or encryption that zipfile does not know
    RuntimeError,  # an encrypted member
    OSError,
    ValueError,
    IndexError,
    KeyError,
    OverflowError,
)


def unpack(path: Path, folder: Callable[[], Path]) -> tuple[Path | bytes, str, bool]:
    """Unpack the database of a package into memory, or if it is large into a file in the folder that `folder`
    gives.

    Returns its content or file, the member's name, and whether the package's `meta` says that a database that
    is not there holds the reviews (the one that is there is then a placeholder). SourceError for anything
    damaged.
    """
    with _damage(path), zipfile.ZipFile(path) as archive:
        version = _meta_version(archive)
        if version is not None and version > _NEWEST_META:
            raise SourceError(
                f"{path} was written by a newer Anki (package version {version}); "
                'export it with "Support older Anki versions" ticked.'
            )
        names = set(archive.namelist())
        member = next((name for name in MEMBERS if name in names), None)
        if member is None:
            raise SourceError(f"{path} is a zip file without an Anki collection in it; {_EXPORT_AGAIN}.")
        with archive.open(member) as packed:
            chunks = _unzstd(packed) if member == MEMBERS[0] else _chunks(packed, _READ_BYTES)
            database = _unpacked(chunks, folder, path)
    placeholder = member == MEMBERS[-1] and version is not None and version > 1
    return database, member, placeholder


def is_package(path: Path) -> bool:
    """Whether this is a zip file with one of Anki's databases in it; a damaged one is none."""
    try:
        with _damage(path), zipfile.ZipFile(path) as archive:
            return not set(MEMBERS).isdisjoint(archive.namelist())
    except SourceError:
        return False


def unpack_zstd(path: Path, folder: Callable[[], Path]) -> Path | bytes:
    """Unpack a bare `collection.anki21b` as `unpack` does; SourceError if it is damaged or no database."""
    with _damage(path), path.open("rb") as packed:
        return _unpacked(_unzstd(packed), folder, path)


def _unpacked(chunks: Iterator[bytes], folder: Callable[[], Path], path: Path) -> Path | bytes:
    """What the chunks hold: as bytes, or where that is much as a file."""
    chunks = _checked(chunks, path)
    start, size = [], 0
    for chunk in chunks:
        start.append(chunk)
        size += len(chunk)
        if size > MAX_IN_MEMORY_BYTES:
            break
    else:
        return b"".join(start)
    database = folder() / "collection.anki2"
    with database.open("xb") as file:
        file.writelines(start)
        del start
        file.writelines(chunks)
    return database


def _checked(chunks: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """The chunks of a database, as long as it is one and not more than it may be."""
    limit = min(MAX_DATABASE_BYTES, max(FREE_EXPANSION_BYTES, MAX_EXPANSION * path.stat().st_size))
    unpacked, head = 0, b""
    for chunk in chunks:
        if len(head) < len(SQLITE_MAGIC):
            head += chunk[: len(SQLITE_MAGIC)]
            if not SQLITE_MAGIC.startswith(head[: len(SQLITE_MAGIC)]):
                raise SourceError(f"The collection in {path} is not a database; {_EXPORT_AGAIN}.")
        unpacked += len(chunk)
        if unpacked > limit:
            raise SourceError(
                f"{path} was refused: its collection unpacks to more than {limit >> 20} MiB, "
                "far more than a package of this size can honestly hold."
            )
        yield chunk
    if len(head) < len(SQLITE_MAGIC):
        raise SourceError(f"The collection in {path} is not a database; {_EXPORT_AGAIN}.")


def _chunks(packed: IO[bytes], size: int) -> Iterator[bytes]:
    read: Callable[[], bytes] = lambda: packed.read(size)  # noqa: E731
    return iter(read, b"")


def _unzstd(packed: IO[bytes]) -> Iterator[bytes]:
    """What the zstd frames in a stream hold; EOFError where the last one is cut off."""
    frame = None
    for chunk in _chunks(packed, _ZSTD_READ_BYTES):
        rest = chunk
        while rest:
            if frame is None:
                frame = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW).decompressobj()
            yield frame.decompress(rest)
            rest = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("the compressed collection ends too early")


def _meta_version(archive: zipfile.ZipFile) -> int | None:
    """The package version in `meta`; None in packages older than that, and where `meta` says nothing."""
    try:
        with archive.open("meta") as file:
            raw = file.read(_MAX_META_BYTES)
        return int(parse("PackageMeta", raw).version) or None
    except (KeyError, MessageError):
        return None


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except SourceError:
        raise
    except _DAMAGE as error:
        raise SourceError(f"{path} is damaged or incomplete ({reason(error)}); {_EXPORT_AGAIN}.") from None

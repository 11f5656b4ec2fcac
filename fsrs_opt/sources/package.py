"""Anki's packages: the database in a .colpkg or .apkg, unpacked into a temporary file.

Only the one database member is ever unpacked, into a file of ours, and never more of it than a bound
allows: sizes written in a zip or a zstd frame are not believed.
"""

from __future__ import annotations

import lzma
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

MAX_ZSTD_WINDOW: Final = 1 << 27
"""zstd's own limit for decoders; Anki uses 2 MiB."""

_MAX_META_BYTES: Final = 4096
_NEWEST_META: Final = 3
_READ_BYTES: Final = 1 << 16
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


def unpack(path: Path, database: Path) -> tuple[str, bool]:
    """Unpack the database of a package into the file `database`.

    Returns the member's name, and whether the package's `meta` says that a database that is not
    there holds the reviews (the one that is there is then a placeholder). SourceError for anything damaged.
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
            unpacked = _unzstd(packed) if member == MEMBERS[0] else _chunks(packed, _READ_BYTES)
            _write(unpacked, database, path)
    placeholder = member == MEMBERS[-1] and version is not None and version > 1
    return member, placeholder


def is_package(path: Path) -> bool:
    """Whether this is a zip file with one of Anki's databases in it; a damaged one is none."""
    try:
        with _damage(path), zipfile.ZipFile(path) as archive:
            return not set(MEMBERS).isdisjoint(archive.namelist())
    except SourceError:
        return False


def unpack_zstd(path: Path, database: Path) -> None:
    """Unpack a bare `collection.anki21b` into the file `database`; SourceError if it is damaged or none."""
    with _damage(path), path.open("rb") as packed:
        _write(_unzstd(packed), database, path)


def _write(chunks: Iterator[bytes], database: Path, path: Path) -> None:
    limit = min(MAX_DATABASE_BYTES, max(FREE_EXPANSION_BYTES, MAX_EXPANSION * path.stat().st_size))
    written, head = 0, b""
    with database.open("wb") as file:
        for chunk in chunks:
            if len(head) < len(SQLITE_MAGIC):
                head += chunk[: len(SQLITE_MAGIC)]
                if not SQLITE_MAGIC.startswith(head[: len(SQLITE_MAGIC)]):
                    raise SourceError(f"The collection in {path} is not a database; {_EXPORT_AGAIN}.")
            written += len(chunk)
            if written > limit:
                raise SourceError(
                    f"{path} was refused: its collection unpacks to more than {limit >> 20} MiB, "
                    "far more than a package of this size can honestly hold."
                )
            file.write(chunk)
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

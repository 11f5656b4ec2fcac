"""The user's collection, held so that no other program can open it, and written in one transaction.

Everything goes through one connection and one file handle, which both last as long as the lock does: POSIX
drops all of a process's locks on a file as soon as it closes any handle on that file.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from fsrs_opt.errors import RefusedError
from fsrs_opt.sources.database import LOCK_WAIT_S, uri
from fsrs_opt.sources.detect import reason

_CHUNK: Final = 1 << 20
_PAGES_A_STEP: Final = 2000  # so that Ctrl-C is heard in the middle of a large collection

# Bytes of SQLite's header that count changes and name the library's version; the rest of the file is content.
_HEADER: Final = 100
_VOLATILE: Final = ((18, 20), (24, 28), (40, 44), (92, 100))

IN_USE: Final = "is open in another program: close Anki (and whatever else has it open) and try again"


class _Readable(Protocol):
    def seek(self, offset: int, /) -> int: ...
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Live:
    """A locked collection whose whole content is in its main file. path: the file itself, links resolved."""

    path: Path
    connection: sqlite3.Connection
    file: Any

    def fingerprint(self) -> str:
        """SHA-256 of its content: equal for two files exactly where they hold the same pages."""
        return _digest(self.file)

    def copy_to(self, target: Path) -> str:
        """Write the file's bytes to `target`, which reaches the disk; their SHA-256. Raises OSError."""
        digest = hashlib.sha256()
        with target.open("xb") as copy:
            for chunk in _chunks(self.file):
                digest.update(chunk)
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
        return digest.hexdigest()

    def install(self, source: Path, progress: Callable[[float], None] | None = None) -> None:
        """Replace the content by that of `source`, a database at rest, in one transaction of SQLite's.

        RefusedError where that fails; everything is then as it was.
        """

        def step(_status: int, remaining: int, total: int) -> None:
            if progress is not None and total:
                progress(1 - remaining / total)

        try:
            with closing(sqlite3.connect(uri(source), uri=True)) as new:
                new.backup(self.connection, pages=_PAGES_A_STEP, progress=step, sleep=0.0)
        except sqlite3.Error as error:
            raise RefusedError(f"{_sentence(self.path, error)}, so that nothing was changed.") from None

    def settle(self) -> None:
        """Bring what was written from SQLite's log into the file itself."""
        try:
            busy = self.connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        except sqlite3.Error as error:
            raise RefusedError(
                f"{_sentence(self.path, error)}; nothing is lost: leave the -wal file beside it where it is,"
                " make room, and open the collection in Anki."
            ) from None
        if busy:
            raise RefusedError(f"{self.path} {IN_USE}.")


@contextmanager
def locked(path: Path, expected: str | None = None) -> Iterator[Live]:
    """The collection, locked as Anki locks it, until the block is left.

    expected: what `snapshot` said when it was read. RefusedError where another program holds it, it cannot
    be written, or it is no longer what was read.
    """
    whole = path.resolve()
    check_writable(whole)
    with open_raw(whole) as file:
        try:
            connection = sqlite3.connect(whole, timeout=LOCK_WAIT_S, isolation_level=None)
        except sqlite3.Error as error:
            raise RefusedError(f"{_sentence(path, error)}.") from None
        with closing(connection):
            try:
                connection.execute("pragma locking_mode = exclusive")  # first, so that no -shm file is made
                connection.execute("pragma trusted_schema = off")
                connection.execute("pragma synchronous = extra")
                connection.execute("begin exclusive")
                connection.execute("commit")  # the locking mode keeps the lock
            except sqlite3.Error as error:
                raise RefusedError(f"{_sentence(path, error)}.") from None
            if expected is not None and _snapshot(file, whole) != expected:
                raise RefusedError(
                    f"{path} was changed by another program after it had been read: start again."
                )
            live = Live(whole, connection, file)
            live.settle()
            yield live


def snapshot(path: Path) -> str:
    """SHA-256 of the file and of what SQLite keeps beside it, as they are at this moment."""
    whole = path.resolve()
    with open_raw(whole) as file:
        return _snapshot(file, whole)


def fingerprint(file: Path) -> str:
    """`Live.fingerprint` of a database at rest."""
    with open_raw(file) as raw:
        return _digest(raw)


def sha256(file: Path) -> str:
    """SHA-256 of a file's bytes."""
    with open_raw(file) as raw:
        digest = hashlib.sha256()
        for chunk in _chunks(raw):
            digest.update(chunk)
        return digest.hexdigest()


@contextmanager
def open_raw(file: Path) -> Iterator[Any]:
    """A file's bytes. RefusedError where it cannot be opened."""
    try:
        raw = file.open("rb", buffering=0)
    except OSError as error:
        raise RefusedError(f"{file} cannot be opened: {reason(error)}.") from None
    with raw:
        yield raw


def check_writable(whole: Path) -> None:
    """RefusedError where the file or its folder is write-protected, for the superuser too."""
    for place, what in ((whole, "file"), (whole.parent, "folder")):
        try:
            protected = not place.stat().st_mode & 0o222 or not os.access(place, os.W_OK)
        except OSError as error:
            raise RefusedError(f"{place} cannot be opened: {reason(error)}.") from None
        if protected:
            raise RefusedError(f"The {what} {place} is write-protected: allow writing to it and try again.")


def _snapshot(file: _Readable, whole: Path) -> str:
    digest = hashlib.sha256()
    for chunk in _chunks(file):
        digest.update(chunk)
    for suffix in ("-wal", "-journal"):
        beside = whole.with_name(whole.name + suffix)
        content = beside.read_bytes() if beside.exists() else b""
        digest.update(f"{suffix} {len(content)}".encode())
        digest.update(content)
    return digest.hexdigest()


def _digest(file: _Readable) -> str:
    digest = hashlib.sha256()
    for place, chunk in enumerate(_chunks(file)):
        if place == 0:
            head = bytearray(chunk[:_HEADER])
            for start, end in _VOLATILE:
                head[start:end] = bytes(end - start)
            chunk = bytes(head) + chunk[_HEADER:]
        digest.update(chunk)
    return digest.hexdigest()


def _chunks(file: _Readable) -> Iterator[bytes]:
    file.seek(0)
    while chunk := file.read(_CHUNK):
        yield chunk


def _sentence(path: Path, error: sqlite3.Error) -> str:
    """What SQLite says, without a full stop."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{path} {IN_USE}"
    if name.startswith("SQLITE_FULL"):
        return f"The disk of {path} is full: make room and try again"
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"{path} or its folder cannot be written to ({reason(error)}): allow writing and try again"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"{path} is damaged ({reason(error)}): in Anki choose Tools > Check Database"
    return f"{path} could not be written ({reason(error)})"

"""Open Anki's SQLite database without touching the user's file.

A database that nobody writes to is read in place with `immutable=1`, which makes no lock and no file. Where
that could miss or tear something (a `-wal` or `-journal` lies beside it, or another program holds it), a copy
in a private temporary folder is opened instead and SQLite recovers the copy.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fsrs_opt.errors import SourceError
from fsrs_opt.sources.detect import SQLITE_MAGIC, read_head, reason
from fsrs_opt.sources.locks import held_by_another

LOCK_WAIT_S: Final = 2.0
"""How long to wait for another program to let go of a database that must not be copied meanwhile."""

_POLL_S: Final = 0.05
_COPY_TRIES: Final = 5
_WAL_VERSION: Final = 2  # bytes 18 and 19 of the header in WAL mode
_WAL_HEADER_BYTES: Final = 32

BUSY_ADVICE: Final = "close Anki, or export the collection (File > Export) and give the exported file"
DAMAGED_ADVICE: Final = "in Anki choose Tools > Check Database, then copy or export it again"


@dataclass(frozen=True)
class Database:
    """An open database. named: the file that messages speak of; file: what is read, which does not change."""

    connection: sqlite3.Connection
    named: Path
    file: Path
    notes: tuple[str, ...] = ()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of this process only (mode 700) that is removed whatever happens."""
    with tempfile.TemporaryDirectory(prefix="fsrs-opt-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def temporary_file() -> Iterator[Path]:
    """An empty file of this process only (mode 600) that is removed whatever happens: quicker to make and to
    remove than a folder with a file in it."""
    descriptor, name = tempfile.mkstemp(prefix="fsrs-opt-", suffix=".anki2")
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        with suppress(OSError):
            os.unlink(name)


@contextmanager
def open_live(path: Path) -> Iterator[Database]:
    """A user's database file, opened for reading. Nothing beside it is made or changed.

    SourceError when another program keeps it locked, or changes it while it is read.
    """
    beside = [path.with_name(path.name + suffix) for suffix in ("-wal", "-journal")]
    wal_mode = _in_wal_mode(path)
    if not wal_mode:
        _wait_for_writer(path)
    held = held_by_another(path) is not None
    extra = [file for file in beside if _size(file) > 0]
    if not extra and not (held and wal_mode):
        before = _state([path, *beside])
        with open_still(path, named=path) as database:
            yield database
        if _state([path, *beside]) != before:
            raise SourceError(f"{path} was changed by another program while it was read; {BUSY_ADVICE}.")
        return
    with temporary_folder() as folder:
        copy = _copy_together(path, extra, folder)
        _recover(copy, named=path)
        with open_still(copy, named=path) as database:
            yield Database(database.connection, path, copy, _copy_notes(path, held, extra))


@contextmanager
def open_still(file: Path, *, named: Path) -> Iterator[Database]:
    """A database file that nobody writes to, opened in place without locks."""
    with _database_errors(named):
        connection = sqlite3.connect(uri(file), uri=True, isolation_level=None)
        with closing(connection):
            connection.create_collation("unicase", unicase)
            connection.text_factory = _text
            connection.execute("pragma trusted_schema = off")
            yield Database(connection, named, file)


def uri(file: Path) -> str:
    """The URI that opens a file as one that never changes."""
    return f"{file.absolute().as_uri()}?mode=ro&immutable=1"


def unicase(a: str, b: str) -> int:
    """Anki's collation for names, which SQLite lacks: case is ignored, outside ASCII too."""
    a, b = a.casefold(), b.casefold()
    return (a > b) - (a < b)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")


@contextmanager
def _database_errors(named: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if "no such column" in str(error) or "no such table" in str(error):
            raise SourceError(
                f"{named} is a database but not laid out like Anki's ({reason(error)}); {DAMAGED_ADVICE}."
            ) from None
        raise SourceError(f"{named} is damaged ({reason(error)}); {DAMAGED_ADVICE}.") from None
    except UnicodeDecodeError:  # SQLite's message quotes what it cannot read
        raise SourceError(f"{named} is damaged (unreadable table names); {DAMAGED_ADVICE}.") from None


def _in_wal_mode(path: Path) -> bool:
    head = read_head(path)
    return head.startswith(SQLITE_MAGIC) and len(head) > 19 and head[19] == _WAL_VERSION


def _wait_for_writer(path: Path) -> None:
    """Without a WAL an exclusive lock means that pages are being overwritten right now: no copy is sound."""
    deadline = time.monotonic() + LOCK_WAIT_S
    while held_by_another(path) == "exclusive":
        if time.monotonic() > deadline:
            raise SourceError(f"{path} is locked by another program; {BUSY_ADVICE}.")
        time.sleep(_POLL_S)


def _copy_together(path: Path, extra: list[Path], folder: Path) -> Path:
    """A copy of the database and the files that belong to it, all of one moment."""
    copy = folder / "collection.anki2"
    files = [path, *extra]
    for _ in range(_COPY_TRIES):
        before = _state(files)
        try:
            shutil.copyfile(path, copy)
            for file in extra:
                shutil.copyfile(file, folder / (copy.name + file.name[len(path.name) :]))
        except FileNotFoundError:
            # The other program has just put its -wal back into the database and removed it.
            files = [file for file in files if file.exists()]
            extra = [file for file in files if file != path]
            for leftover in folder.iterdir():
                leftover.unlink()
            continue
        except OSError as error:
            raise SourceError(f"{path} cannot be copied to a temporary folder: {reason(error)}.") from None
        if _state(files) == before:
            return copy
        time.sleep(_POLL_S)
    raise SourceError(f"{path} is being changed by another program; {BUSY_ADVICE}.")


def _recover(copy: Path, *, named: Path) -> None:
    """Let SQLite put the copied -wal or -journal into the copied database."""
    with _database_errors(named), closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = delete").fetchone()
        connection.execute("select count(*) from sqlite_master").fetchone()


def _copy_notes(path: Path, held: bool, extra: list[Path]) -> tuple[str, ...]:
    notes = []
    if held:
        notes.append(
            "Another program (Anki?) held the file, so a copy was read; answers given since are not in it."
        )
    notes += [f"{file.name} lay beside the file and was read with it." for file in extra]
    return tuple(notes)


def _state(files: list[Path]) -> list[tuple[int, int] | None]:
    return [_stat(file) for file in files]


def _stat(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _size(file: Path) -> int:
    status = _stat(file)
    return status[0] if status else 0

"""Write a file so that it is either whole or not there."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fsrs_opt.errors import UsageError

_PART = ".part"
_TOKEN_BYTES = 4


def check_target(target: Path, source: Path | None, *, force: bool = True) -> None:
    """Whether `target` can be written: UsageError if not. To be asked before any long work.

    source: the file that is read, which is never overwritten. force: an existing file may be replaced.
    """
    if not target.name or target.is_dir():
        raise UsageError(f"{target} is a folder: give the name of a file to write")
    if not target.parent.is_dir():
        raise UsageError(f"the folder {target.parent} does not exist: make it first")
    if not os.path.lexists(target):
        return
    if source is not None and source.exists() and target.exists() and target.samefile(source):
        raise UsageError(f"{target} is the file that is read: give another name to write to")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target} is not a regular file: give the name of a file to write")
    if not force:
        raise UsageError(f"{target} exists already: give another name, or --force to replace it")


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """The path of an empty temporary file beside `target`, which takes its place when the block is left.

    When the block raises, and when the program ends inside it, the temporary file goes and `target` stays as
    it was. What a killed program left of it goes the next time (not on Windows).
    Raises OSError where the folder cannot be written.
    """
    whole = target.resolve()  # a link stays, what it points at is replaced
    beginning = f".{whole.name[:200]}."
    _remove_left(whole.parent, beginning)
    part = whole.with_name(f"{beginning}{secrets.token_hex(_TOKEN_BYTES)}{_PART}")

    def forget() -> None:
        with suppress(OSError):
            part.unlink()

    atexit.register(forget)
    try:
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)  # rights as the umask says
        with _in_use(descriptor):
            yield part
            flush_file(part)
            part.replace(whole)
        flush_folder(whole.parent)
    finally:
        forget()
        atexit.unregister(forget)


@contextmanager
def _in_use(descriptor: int) -> Iterator[None]:
    """Keep the file locked, which says to others that its writer is alive; close it in the end."""
    if sys.platform == "win32":  # an open file can be neither replaced nor removed there
        os.close(descriptor)
        yield
        return
    import fcntl

    try:
        with suppress(OSError):  # some network file systems know no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _remove_left(folder: Path, beginning: str) -> None:
    """Remove the temporary files of this beginning whose writers are dead: nobody holds their locks."""
    if sys.platform == "win32":
        return
    import fcntl

    token = re.compile(rf"{re.escape(beginning)}[0-9a-f]{{{2 * _TOKEN_BYTES}}}{re.escape(_PART)}")
    with suppress(OSError):
        for name in os.listdir(folder):
            if not token.fullmatch(name):
                continue
            with suppress(OSError), (folder / name).open("rb") as left:
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(folder / name)


def flush_file(path: Path) -> None:
    """Return when the file's content has reached the disk."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_folder(folder: Path) -> None:
    """Return when the names in a folder have reached the disk, where the system can be asked for that."""
    with suppress(OSError):  # Windows opens no folders, and some file systems sync none
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

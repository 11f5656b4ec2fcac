"""Has a file changed? Told by a stamp, which costs no reading, and for certain by a hash of the content."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from fsrs_opt.sources.dataset import user_files

BESIDE = ("-wal", "-journal")
"""What SQLite writes beside a database, and belongs to its content."""

_SETTLED_SECONDS = 2.0
"""A file that changed this short a time ago may change again within one tick of the file system's clock."""


def files_of(path: Path) -> list[Path]:
    """The files that a task reads: those in a user's folder, or the file with what SQLite keeps beside it."""
    parts = user_files(path)
    if parts:
        return parts
    beside = (path.with_name(path.name + suffix) for suffix in BESIDE)
    return [path, *(file for file in beside if file.is_file())]


def measure(files: Iterable[Path]) -> tuple[int, str]:
    """Bytes in all, and a stamp: sizes, inodes and times of the last change. Files that are not there count
    nothing; the stamp is "" where a change could go unnoticed."""
    size, parts, newest = 0, [], 0.0
    for file in files:
        try:
            found = os.stat(file)
        except OSError:
            return size, ""
        size += found.st_size
        newest = max(newest, found.st_mtime, found.st_ctime)
        parts.append(f"{found.st_size}.{found.st_ino}.{found.st_mtime_ns}.{found.st_ctime_ns}")
    settled = newest < time.time() - _SETTLED_SECONDS
    return size, hashlib.sha256(" ".join(parts).encode()).hexdigest()[:32] if settled and parts else ""


def content_of(path: Path) -> str:
    """SHA-256 of a file; of several files that belong together, of their names' endings and hashes.

    Raises OSError for what cannot be read.
    """
    files = files_of(path)
    if len(files) == 1:
        return _sha256(files[0])
    parts = [f"{file.name.removeprefix(path.name)} {_sha256(file)}\n" for file in files]
    return hashlib.sha256("".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

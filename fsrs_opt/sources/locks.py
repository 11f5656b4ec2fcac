"""Ask, without locking or writing anything, whether another program holds an SQLite database."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import Final, Literal

# SQLite's lock bytes lie at 1 GiB, whether the file is that long or not: (first byte, how many).
_PENDING: Final = (0x40000000, 1)  # a writer waits for the readers to leave
_SHARED: Final = (0x40000002, 510)  # read-locked by readers, write-locked by a writer at work
_ALL: Final = (0x40000000, 512)  # those two and the byte of a writer that has not begun to write

# struct flock, in the order of its fields: (format, what goes where).
_LINUX: Final = "hhqqi4x"  # type, whence, start, len, pid
_MACOS: Final = "qqihh"  # start, len, pid, type, whence


def held_by_another(path: Path) -> Literal["shared", "exclusive"] | None:
    """How another process holds the database: "exclusive" keeps readers out, "shared" does not.

    None when nobody does, and where the system cannot say (on Windows).
    """
    try:
        import fcntl
    except ImportError:
        return None
    if struct.calcsize("P") != 8 or not sys.platform.startswith(("linux", "darwin")):
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        if any(_conflicts(descriptor, fcntl.F_RDLCK, where) for where in (_PENDING, _SHARED)):
            return "exclusive"
        return "shared" if _conflicts(descriptor, fcntl.F_WRLCK, _ALL) else None
    except OSError:
        return None  # a file system without locks
    finally:
        os.close(descriptor)


def _conflicts(descriptor: int, kind: int, where: tuple[int, int]) -> bool:
    """Would a lock of this kind on these bytes have to wait? (F_GETLK only asks.)"""
    import fcntl

    start, length = where
    if sys.platform.startswith("linux"):
        request = struct.pack(_LINUX, kind, os.SEEK_SET, start, length, 0)
        answer: int = struct.unpack(_LINUX, fcntl.fcntl(descriptor, fcntl.F_GETLK, request))[0]
    else:
        request = struct.pack(_MACOS, start, length, 0, kind, os.SEEK_SET)
        answer = struct.unpack(_MACOS, fcntl.fcntl(descriptor, fcntl.F_GETLK, request))[3]
    return answer != fcntl.F_UNLCK

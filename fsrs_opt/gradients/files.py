"""Writing a record so that it is either whole or not there."""

from __future__ import annotations

from pathlib import Path

from fsrs_opt.atomic_file import replacing
from fsrs_opt.errors import FsrsOptError


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one move: a reader sees the old file or the new one, never a part.

    A symbolic link stays one, and its target is replaced. Raises FsrsOptError, with the old file as it was
    and nothing left beside it, where the place cannot be written.
    """
    try:
        with replacing(path) as part:
            part.write_bytes(content)
    except OSError as error:
        raise FsrsOptError(f"{path} cannot be written: {error.strerror or error}") from error

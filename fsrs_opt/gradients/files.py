"""Writing a file so that it is either whole or not there."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from fsrs_opt.errors import FsrsOptError


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one move: a reader sees the old file or the new one, never a part.

    A symbolic link stays one, and its target is replaced. Raises FsrsOptError, with the old file as it was
    and nothing left beside it, where the place cannot be written.
    """
    place = Path(os.path.realpath(path))
    # Beside its place, since a move is atomic only within one file system. Not tempfile: its files are
    # private to the user even where the umask says otherwise.
    part = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with open(part, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, place)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        raise FsrsOptError(f"{path} cannot be written: {error.strerror or error}") from error

"""Files that lie behind a URL (s3://, gs://, https://, file://, …), through fsspec."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fsrs_opt.errors import SourceError, UsageError
from fsrs_opt.sources.database import temporary_folder
from fsrs_opt.sources.dataset import OTHER_TABLES, user_of
from fsrs_opt.sources.detect import reason

_CHANGES: Final = (
    "ETag",
    "etag",
    "versionId",
    "generation",
    "LastModified",
    "last_modified",
    "mtime",
    "updated",
    "size",
)
"""What file systems tell of a file that changes with its content."""

Listing = dict[str, dict[str, Any]]


def is_remote(path: str) -> bool:
    """Whether this is a URL rather than a path."""
    return "://" in path


def listing(url: str) -> Listing:
    """What a URL of a file, a folder or a pattern with * names: URL -> what its file system tells of it.

    Raises UsageError for a kind of URL that fsspec does not know, SourceError for one that cannot be listed.
    """
    system, path = _open(url)
    try:
        if any(letter in path for letter in "*?["):
            found: Listing = {}
            for each, about in system.glob(path, detail=True).items():
                if about.get("type") == "directory":
                    found |= system.find(each, detail=True)
                else:
                    found[each] = about
        elif system.isdir(path):
            found = system.find(path, detail=True)
        else:
            found = {path: system.info(path)}
    except FileNotFoundError:
        found = {}
    except Exception as error:  # each file system has errors of its own
        raise SourceError(f"{url} cannot be listed: {reason(error)}.") from None
    return {_unstripped(system, url, each): about for each, about in sorted(found.items())}


def stamp_of(abouts: list[dict[str, Any]]) -> str:
    """A stamp like `content.measure`'s; "" where the file system tells nothing but sizes."""
    told = [[str(about.get(name, "")) for name in _CHANGES] for about in abouts]
    if not all(any(one[:-1]) for one in told):
        return ""
    return hashlib.sha256(repr(told).encode()).hexdigest()[:32]


@contextmanager
def local_copy(url: str) -> Iterator[Path]:
    """A file (or a user's folder, with the cards and decks beside it) in a temporary folder that is removed
    afterwards. Raises SourceError for what cannot be fetched."""
    with temporary_folder() as folder:
        yield fetch(url, folder)


def fetch(url: str, folder: Path) -> Path:
    """Copy what `local_copy` speaks of into `folder`; returns its path there."""
    system, path = _open(url)
    name = posixpath.basename(path.rstrip("/")) or "file"
    try:
        if user_of(name) is None or not system.isdir(path):
            system.get_file(path, os.fspath(folder / name))
            return folder / name
        root = posixpath.dirname(posixpath.dirname(path.rstrip("/")))
        table = posixpath.basename(posixpath.dirname(path.rstrip("/")))
        for each in (table, *OTHER_TABLES):
            there = posixpath.join(root, each, name)
            if each == table or system.isdir(there):
                target = folder / each / name
                target.mkdir(parents=True)
                for file in system.find(there):
                    system.get_file(file, os.fspath(target / posixpath.basename(file)))
        return folder / table / name
    except FileNotFoundError:
        raise SourceError(f"{url} does not exist; check the name.") from None
    except Exception as error:
        raise SourceError(f"{url} cannot be fetched: {reason(error)}.") from None


def _open(url: str) -> tuple[Any, str]:
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{url} cannot be opened: {reason(error)}.") from None
    return system, path


def _unstripped(system: Any, url: str, path: str) -> str:
    kind = url.split("://", 1)[0]
    plain = str(system.unstrip_protocol(path)).split("://", 1)[-1]
    return f"{kind}://{plain}"

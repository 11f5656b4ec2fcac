"""From paths, patterns, lists and URLs to tasks. Folders are searched by content, not by names."""

from __future__ import annotations

import glob
import os
import posixpath
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fsrs_opt.batch import remote
from fsrs_opt.batch.content import files_of, measure
from fsrs_opt.batch.recognize import PACKAGES, SUFFIXES, is_review_log
from fsrs_opt.batch.tasks import Task
from fsrs_opt.errors import SourceError
from fsrs_opt.sources.dataset import OTHER_TABLES, user_files, user_of
from fsrs_opt.sources.detect import reason

_LIST: Final = "@"
_COLLECTION: Final = "collection.anki2"
_APPLE: Final = "._"  # what macOS writes beside files on other file systems
_BACKUPS: Final = "backups"
_MEDIA: Final = "collection.media"


@dataclass(frozen=True)
class Found:
    """tasks: each file once, ordered by path. twice: how many were named more than once. others: files in
    folders that are no review logs; backups: Anki's own backups there, which are left out."""

    tasks: tuple[Task, ...]
    twice: int = 0
    others: int = 0
    backups: int = 0


def discover(paths: Sequence[str]) -> Found:
    """Every file that the paths name.

    A path is a file, a folder (searched with its subfolders), a pattern with * or ?, a URL, or @FILE, a list
    of these, one a line. In folders a user's part of the research data set is one task, and what is no review
    log is passed over; what is named itself is a task, whatever it is, also where there is nothing: a job
    goes on without it. Raises SourceError for a list that cannot be read and a URL that cannot be listed.
    """
    search = _Search()
    for path in _listed(paths):
        if remote.is_remote(path):
            search.url(path)
        else:
            search.local(path)
    tasks = sorted(search.tasks.values(), key=lambda task: task.path)
    return Found(tuple(tasks), search.twice, search.others, search.backups)


def shard(tasks: Iterable[Task], number: int, of: int) -> tuple[Task, ...]:
    """Part `number` (1..of) of the tasks. A file stays in its part when other files come and go, and when
    the folder is mounted elsewhere."""
    return tuple(
        task for task in tasks if zlib.crc32(task.name.encode("utf-8", "surrogateescape")) % of == number - 1
    )


def _listed(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if not path.startswith(_LIST):
            yield path
            continue
        file = Path(path[len(_LIST) :])
        try:
            lines = file.read_text("utf-8-sig", errors="surrogateescape").splitlines()
        except OSError as error:
            raise SourceError(f"the list {file} cannot be read: {reason(error)}.") from None
        names = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if not names:
            raise SourceError(f"the list {file} names no file.")
        yield from names


class _Search:
    """Collects tasks by what they really are (links followed), so that each comes once."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.twice = self.others = self.backups = 0

    def local(self, given: str) -> None:
        given = os.path.expanduser(given)
        if os.path.lexists(given) or not glob.has_magic(given):
            self._named(given)
            return
        for match in sorted(glob.glob(given, recursive=True)) or [given]:
            self._named(match)

    def _named(self, given: str) -> None:
        path = Path(os.path.abspath(given))
        before = len(self.tasks) + self.twice
        if path.is_dir() and not user_files(path):
            self._walk(path, path)
        if len(self.tasks) + self.twice == before:
            self._add(path, path.name)  # a file; or it fails, with the reason that there is nothing

    def _walk(self, root: Path, folder: Path) -> None:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            self._add(folder, os.path.relpath(folder, root))  # it fails, and the others are done
            return
        names = {entry.name for entry in entries}
        of_anki = _COLLECTION in names
        for entry in entries:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                if of_anki and entry.name == _BACKUPS:
                    self.backups += sum(1 for each in path.iterdir() if each.suffix.lower() in PACKAGES)
                elif user_of(entry.name) is not None and folder.name in OTHER_TABLES:
                    continue  # they belong to the reviews of the same user
                elif user_of(entry.name) is not None and user_files(path):
                    self._add(path, os.path.relpath(path, root))
                elif not (of_anki and entry.name == _MEDIA):
                    self._walk(root, path)
            elif entry.is_file() and not entry.name.startswith(_APPLE) and is_review_log(path):
                self._add(path, os.path.relpath(path, root))
            else:
                self.others += 1

    def _add(self, path: Path, name: str) -> None:
        real = os.path.realpath(path)
        if real in self.tasks:
            self.twice += 1
            return
        size, stamp = measure(files_of(path))
        self.tasks[real] = Task(str(path), name, size, stamp)

    def url(self, url: str) -> None:
        listing = remote.listing(url)
        named = set(listing) <= {url}
        if not listing:
            self._add_remote(url, url, [{}])  # it fails, and the others are done
        users: dict[str, dict[str, dict[str, Any]]] = {}
        for each, about in listing.items():
            folder, name = posixpath.split(each)
            table, user = posixpath.split(folder)
            if user_of(user) is not None and not named:
                if posixpath.basename(table) not in OTHER_TABLES and name.lower().endswith(".parquet"):
                    users.setdefault(folder, {})[each] = about
            elif named or posixpath.splitext(name)[1].lower() in SUFFIXES:
                self._add_remote(url, each, [about])
            else:
                self.others += 1
        for folder, files in users.items():
            self._add_remote(url, folder, list(files.values()))

    def _add_remote(self, given: str, url: str, abouts: list[dict[str, Any]]) -> None:
        if url in self.tasks:
            self.twice += 1
            return
        size = sum(int(about.get("size") or 0) for about in abouts)
        root = given.rstrip("/") + "/"
        name = url.removeprefix(root) if url.startswith(root) else posixpath.basename(url)
        self.tasks[url] = Task(url, name, size, remote.stamp_of(abouts))

"""The job's book: one SQLite database that says what is done, what failed and why, and what came out.

One process writes it. Results are put down in groups, each in a transaction with a rollback journal and a
flush to disk (no WAL, which network file systems do not have): killed at any moment, the book holds whole
results only, and what it does not hold is done again.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fsrs_opt.batch.tasks import DONE, FAILED, WAITING, Outcome, Task
from fsrs_opt.errors import FsrsOptError

NAME: Final = "book.sqlite"
APPLICATION_ID: Final = 0x46535253  # "FSRS"
FORMAT: Final = 1

GROUP_SECONDS, GROUP_ROWS = 0.5, 500
"""Results wait for at most so long, and for at most so many others, before they are put down."""

_SCHEMA: Final = """
create table options (
    id integer primary key,
    json text not null unique    -- those that are not the usual ones
);
create table task (
    id integer primary key,
    path text not null,          -- absolute, or a URL
    split text not null,         -- none, deck or preset
    selection text not null,     -- id of the deck or preset, '' for the whole file
    name text not null,          -- path below the folder that was given
    part text not null,          -- name of the deck or preset
    size integer not null,       -- bytes of the file
    stamp text not null,         -- tells without reading whether the file may have changed
    content text not null,       -- SHA-256 of what was read
    options integer references options,
    status text not null check (status in ('waiting', 'done', 'failed')),
    error text not null,
    parameters text,             -- 21 numbers, JSON
    decision text not null,
    metrics text,                -- JSON
    counts text,                 -- JSON
    messages text,               -- JSON
    seconds text,                -- JSON
    version text not null,       -- of the program
    finished text not null,      -- UTC
    unique (path, split, selection)
);
"""
_INSERT: Final = """
insert into task (path, split, selection, name, part, size, stamp, content, options, status, error,
                  parameters, decision, metrics, counts, messages, seconds, version, finished)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (path, split, selection) do update set
    name = excluded.name, part = excluded.part, size = excluded.size, stamp = excluded.stamp,
    content = excluded.content, options = excluded.options, status = excluded.status, error = excluded.error,
    parameters = excluded.parameters, decision = excluded.decision, metrics = excluded.metrics,
    counts = excluded.counts, messages = excluded.messages, seconds = excluded.seconds,
    version = excluded.version, finished = excluded.finished
"""


@dataclass(frozen=True)
class Known:
    """What the book says of a file: its stamp, content and options (their key), by selection the status."""

    stamp: str
    content: str
    options: str
    status: dict[str, str]


class Book:
    """An open book. Its errors are FsrsOptErrors: no book, a newer program's book, a full disk."""

    def __init__(self, folder: Path) -> None:
        """Open the book in a folder; it must be there."""
        self.path = folder / NAME
        if not self.path.is_file():
            raise FsrsOptError(f"{folder} holds no batch job ({NAME}): give the folder of --out.")
        self._pending: list[Outcome] = []
        self._waiting_since = 0.0
        with self._errors():
            self._database = sqlite3.connect(self.path, isolation_level=None, timeout=30)
            try:
                self._check()
            except BaseException:
                self._database.close()
                raise

    @classmethod
    def create(cls, folder: Path) -> Book:
        """Open the book in a folder, and make it where there is none. Raises FsrsOptError too where the
        folder cannot be written."""
        path = folder / NAME
        with _book_errors(path):
            database = sqlite3.connect(path, isolation_level=None, timeout=30)
            try:
                database.execute("pragma synchronous = full")
                database.execute("begin immediate")
                if not database.execute("select count(*) from sqlite_master").fetchone()[0]:
                    for statement in _SCHEMA.split(";\n"):
                        database.execute(statement)
                    database.execute(f"pragma application_id = {APPLICATION_ID}")
                    database.execute(f"pragma user_version = {FORMAT}")
                database.execute("commit")
            finally:
                database.close()
        return cls(folder)

    def close(self) -> None:
        """Put down what is pending, and close."""
        try:
            self.flush()
        finally:
            self._database.close()

    def known(self, split: str) -> dict[str, Known]:
        """By path what is known of each file under this split."""
        found: dict[str, Known] = {}
        query = """select path, selection, stamp, content, coalesce(json, ''), status from task
                   left join options on task.options = options.id where split = ? order by task.id"""
        with self._errors():
            for path, selection, stamp, content, options, status in self._database.execute(query, (split,)):
                before = found.get(path)
                if before is None:
                    found[path] = Known(stamp, content, options, {selection: status})
                    continue
                before.status[selection] = status
                if (stamp, content, options) != (before.stamp, before.content, before.options):
                    # rows of different moments: nothing is sure of the file as a whole
                    found[path] = Known("", "", "", before.status)
        return found

    def expect(self, tasks: Iterable[Task], split: str) -> None:
        """Note files whose first results are to come. What is there stays until new results replace it."""
        add = f"""insert into task (path, split, selection, name, part, size, stamp, content, status, error,
                  decision, version, finished)
                  select ?1, ?2, '', ?3, '', ?4, '', '', '{WAITING}', '', '', '', ''
                  where not exists (select 1 from task where path = ?1 and split = ?2)"""
        with self._transaction():
            for task in tasks:
                self._database.execute(add, (text(task.path), split, text(task.name), task.size))

    def put(self, outcome: Outcome) -> None:
        """Take an outcome; it is on disk after the next `flush`."""
        if not self._pending:
            self._waiting_since = time.monotonic()
        self._pending.append(outcome)
        self.tick()

    def tick(self) -> None:
        """Put down what has waited long enough."""
        waited = time.monotonic() - self._waiting_since
        if self._pending and (waited > GROUP_SECONDS or len(self._pending) >= GROUP_ROWS):
            self.flush()

    def flush(self) -> None:
        """Put down all outcomes, in one transaction: all of them or none."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction():
            for outcome in pending:
                self._put_down(outcome, now)

    def counts(self) -> dict[str, int]:
        """How many rows there are by status."""
        with self._errors():
            rows = self._database.execute("select status, count(*) from task group by status").fetchall()
        return {WAITING: 0, DONE: 0, FAILED: 0, **dict(rows)}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row that is done or failed, in the order of paths; JSON columns as values."""
        query = f"""select task.*, options.json as options_json from task left join options
                    on task.options = options.id where status != '{WAITING}' order by path, split, id"""
        with self._errors():
            cursor = self._database.execute(query)
            names = [column[0] for column in cursor.description]
            for values in cursor:
                row = dict(zip(names, values, strict=True))
                for name in ("parameters", "metrics", "counts", "messages", "seconds"):
                    row[name] = None if row[name] is None else json.loads(row[name])
                yield row

    def failures(self) -> list[dict[str, str]]:
        """Path, split, part and error of every row that failed, in the order of paths."""
        names = ("path", "split", "part", "error")
        query = f"select {', '.join(names)} from task where status = '{FAILED}' order by path, id"
        with self._errors():
            return [dict(zip(names, row, strict=True)) for row in self._database.execute(query)]

    def damage(self) -> str:
        """What SQLite's integrity check finds, "" for nothing."""
        with self._errors():
            found = self._database.execute("pragma integrity_check").fetchall()
        return "" if found == [("ok",)] else "; ".join(str(row[0]) for row in found)

    def _put_down(self, outcome: Outcome, now: str) -> None:
        order = outcome.order
        path, split = text(order.task.path), order.split
        stay = {*outcome.kept, *(row.selection for row in outcome.rows)}
        marks = ", ".join("?" * len(stay))
        self._database.execute(
            f"delete from task where path = ? and split = ? and selection not in ({marks})",
            (path, split, *stay),
        )
        if outcome.content:
            self._database.execute(
                "update task set stamp = ?, size = ?, name = ? where path = ? and split = ? and content = ?",
                (order.task.stamp, order.task.size, text(order.task.name), path, split, outcome.content),
            )
        options = self._options_id(order.options.key)
        for row in outcome.rows:
            values = (
                *(path, split, row.selection, text(order.task.name), text(row.name)),
                *(order.task.size, order.task.stamp, outcome.content, options, row.status, text(row.error)),
                _json(row.parameters) if row.parameters is not None else None,
                row.decision,
                *(_json(each) for each in (row.metrics, row.counts, row.messages, row.seconds)),
                *(outcome.version, now),
            )
            self._database.execute(_INSERT, values)

    def _options_id(self, key: str) -> int:
        self._database.execute("insert or ignore into options (json) values (?)", (key,))
        found: int = self._database.execute("select id from options where json = ?", (key,)).fetchone()[0]
        return found

    def _check(self) -> None:
        application, written_by = (
            self._database.execute(f"pragma {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        if application != APPLICATION_ID:
            raise FsrsOptError(f"{self.path} is no book of a batch job: choose another folder for --out.")
        if written_by > FORMAT:
            raise FsrsOptError(
                f"{self.path} was written by a newer fsrs-opt: update this one, or choose another folder for"
                " --out."
            )
        self._database.execute("pragma synchronous = full")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            self._database.execute("begin immediate")
            try:
                yield
                self._database.execute("commit")
            except BaseException:
                with suppress(sqlite3.Error):  # it may be rolled back already
                    self._database.execute("rollback")
                raise

    def _errors(self) -> Any:
        return _book_errors(self.path)


@contextmanager
def _book_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise FsrsOptError(_reason(path, error)) from None


def _reason(path: Path, error: sqlite3.Error) -> str:
    kept = "what was done until then is kept, and the same command goes on from there"
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return f"{path} cannot be written, because the disk is full: free some space; {kept}."
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return f"{path} is no book of a batch job, or is damaged ({error}): choose another folder for --out."
    if code == sqlite3.SQLITE_BUSY:
        return f"{path} is locked by another program: close it and try again; {kept}."
    return f"{path} cannot be read or written ({error}): look at the disk and at its rights; {kept}."


_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def text(given: str) -> str:
    """A path can hold bytes that are no text, which SQLite cannot keep: the book writes them as \\udcNN."""
    return given.encode("utf-8", "backslashreplace").decode("utf-8")

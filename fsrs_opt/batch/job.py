"""A batch job from paths to a book of results: what is to do, who does it, and where it stands."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from fsrs_opt.batch import discover
from fsrs_opt.batch.book import Book, Known, text
from fsrs_opt.batch.tasks import DONE, FAILED, Engine, Options, Order, Outcome, Task
from fsrs_opt.errors import FsrsOptError, UsageError
from fsrs_opt.sources.detect import reason

LOCK: Final = "lock"

REDO: Final = ("missing", "failed", "all")
"""What a job does: "missing" what is missing, failed or changed; "failed" only what failed; "all" all."""


@dataclass
class Standing:
    """Where a job stands; it grows while the job runs.

    files: in this job; at_hand: of these, with results already; to_do: the others. sizes in bytes. done,
    failed: results of this run; reviews: rows of review logs worked on. reasons: path, deck or preset, and
    reason of all that failed in this job, also before this run. found: how the files were found.
    """

    files: int
    at_hand: int
    to_do: int
    bytes_to_do: int
    found: discover.Found
    done: int = 0
    failed: int = 0
    unchanged: int = 0
    files_done: int = 0
    bytes_done: int = 0
    reviews: int = 0
    reasons: list[tuple[str, str, str]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Rows of review logs a second."""
        return self.reviews / max(1e-9, time.monotonic() - self.started)

    @property
    def seconds_left(self) -> float | None:
        """By the bytes that are done and those that are not; None before anything is."""
        if not self.bytes_done or not self.files_done:
            return None
        took = time.monotonic() - self.started
        return took * (self.bytes_to_do - self.bytes_done) / self.bytes_done

    def take(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self.files_done += 1
        self.bytes_done += outcome.order.task.size
        self.reviews += outcome.reviews
        self.unchanged += not outcome.rows
        for row in outcome.rows:
            if row.status == DONE:
                self.done += 1
            else:
                self.failed += 1
                self.reasons.append((outcome.order.task.path, row.name, row.error))


def run(
    paths: Sequence[str | os.PathLike[str]],
    out: str | Path,
    options: Options,
    engine: Callable[[], Engine],
    *,
    split: str = "none",
    redo: str = REDO[0],
    limit: int | None = None,
    shard: tuple[int, int] | None = None,
    progress: Callable[[Standing], None] | None = None,
) -> Standing:
    """Do a job, or go on with it. Returns where it stands at the end; results are in the book in `out`.

    paths: see `discover`. engine: makes what does the work; asked only where there is any. split: "none",
    "deck" or "preset". redo: one of `REDO`. limit: the first so many files; shard: see `discover.shard`.
    progress: called at the start, about twice a second, and at the end; raise from it to stop.
    Raises UsageError and SourceError for paths and options that mean nothing, FsrsOptError where `out` cannot
    be used, another job is at work there, or the engine gives out.
    """
    folder = Path(out)
    found = discover.discover([os.fspath(path) for path in paths])
    tasks: Iterable[Task] = found.tasks
    if shard is not None:
        tasks = discover.shard(tasks, *shard)
    chosen = tuple(tasks)[:limit]
    with _claimed(folder), closing(Book.create(folder)) as book:
        orders, at_hand = _plan(chosen, book.known(split), options, split, redo)
        standing = Standing(
            files=len(chosen),
            at_hand=at_hand,
            to_do=len(orders),
            bytes_to_do=sum(order.task.size for order in orders),
            found=found,
        )
        if redo != "failed":
            book.expect((order.task for order in orders if not order.content), split)
        _tell(progress, standing)
        if orders:
            # the largest first: none of them is left alone at the end
            orders.sort(key=lambda order: -order.task.size)
            with closing(engine().run(orders)) as outcomes:
                try:
                    for outcome in outcomes:
                        if outcome is not None:
                            book.put(outcome)
                            standing.take(outcome)
                        book.tick()
                        _tell(progress, standing)
                except BaseException:
                    with suppress(FsrsOptError):
                        book.flush()  # what is done stays, however little time there is
                    raise
        book.flush()
        standing.seconds = time.monotonic() - standing.started
        _tell(progress, standing)
        standing.reasons = _reasons(book, {text(task.path) for task in chosen}, split)
    return standing


def _plan(
    tasks: Iterable[Task], known: dict[str, Known], options: Options, split: str, redo: str
) -> tuple[list[Order], int]:
    """The orders, and how many tasks need none."""
    orders, at_hand = [], 0
    for task in tasks:
        before = known.get(text(task.path))
        has_failed = before is not None and FAILED in before.status.values()
        if redo == "failed" and not has_failed:
            at_hand += 1
        elif redo == "all" or before is None or before.options != options.key or not before.content:
            orders.append(Order(task, split, options))
        else:
            done = tuple(key for key, status in before.status.items() if status == DONE)
            if not has_failed and task.stamp and before.stamp == task.stamp:
                at_hand += 1
            else:
                # only the worker that reads the file knows whether its content is still the same
                orders.append(Order(task, split, options, before.content, done))
    return orders, at_hand


def _reasons(book: Book, paths: set[str], split: str) -> list[tuple[str, str, str]]:
    return [
        (row["path"], row["part"], row["error"])
        for row in book.failures()
        if row["path"] in paths and row["split"] == split
    ]


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """The folder, made where it is not there, for one job at a time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be made: {reason(error)}.") from None
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise FsrsOptError(
            f"Another batch job is at work in {folder}: wait for it, or choose another --out."
        ) from None
    except OSError as error:
        raise FsrsOptError(f"the folder {folder} cannot be written: {reason(error)}.") from None
    try:
        yield
    finally:
        lock.release()


def _tell(progress: Callable[[Standing], None] | None, standing: Standing) -> None:
    if progress is not None:
        progress(standing)

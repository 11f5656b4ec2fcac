"""A worker process of the local engine: takes orders from its pipe, one after another, until it is closed."""

from __future__ import annotations

import os
import queue
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from fsrs_opt.batch import remote
from fsrs_opt.batch.tasks import Order
from fsrs_opt.evaluation.workers import begin


@dataclass(frozen=True)
class _Ready:
    """An order whose file is near: `fetched` is the copy of a remote one in `folder`, else None."""

    order: Order
    folder: tempfile.TemporaryDirectory[str] | None = None
    fetched: Path | None = None


def main(pipe: Connection, temporary: str) -> None:
    """Send None when ready, then an outcome for each order that comes. temporary: a folder for what is
    unpacked, which the engine removes."""
    begin()
    tempfile.tempdir = temporary
    from fsrs_opt.batch import work

    work.one_thread()
    near: queue.Queue[_Ready | None] = queue.Queue()
    threading.Thread(target=_read_ahead, args=(pipe, near), daemon=True).start()
    pipe.send(None)
    while (ready := near.get()) is not None:
        outcome = work.run(ready.order, ready.fetched)
        if ready.folder is not None:
            ready.folder.cleanup()
        try:
            pipe.send(outcome)
        except OSError:
            return  # nobody waits for it any more


def _read_ahead(pipe: Connection, near: queue.Queue[_Ready | None]) -> None:
    """While one order is worked on, bring the next one's file near: off the disk, or over the network."""
    with suppress(EOFError, OSError):
        while True:
            order = pipe.recv()
            if remote.is_remote(order.task.path):
                near.put(_fetched(order))
            else:
                near.put(_Ready(order))
                _begin_reading(order.task.path)
    near.put(None)


def _fetched(order: Order) -> _Ready:
    folder = tempfile.TemporaryDirectory(prefix="fsrs-opt-", ignore_cleanup_errors=True)
    try:
        return _Ready(order, folder, remote.fetch(order.task.path, Path(folder.name)))
    except Exception:  # the task function meets it too, and has the words for it
        folder.cleanup()
        return _Ready(order)


def _begin_reading(path: str) -> None:
    """Ask the system to read a file from the disk, without waiting for it."""
    if not hasattr(os, "posix_fadvise"):
        return
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(file)

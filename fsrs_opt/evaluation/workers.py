"""Several independent pieces of work, one after another or in processes of their own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context, parent_process
from typing import Any, TypeVar

Result = TypeVar("Result")

PAYS_FROM = 300_000
"""Reviews from which starting processes (each loads its libraries anew) costs less than it saves."""


def each(
    function: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    work: Sequence[float],
    *,
    size: int,
    workers: int | None = None,
    done: Callable[[float], None] | None = None,
) -> list[Result]:
    """`function(*task)` for each task, results in the order of the tasks.

    work: how much each task is, in any unit; the largest start first where processes share them. size:
    reviews in all; workers None takes one process below `PAYS_FROM`, else as many as there are cores. done:
    called with the share of the work that is done, between tasks; whatever it raises ends the rest.
    """
    if workers is None:
        workers = cores() if size >= PAYS_FROM else 1
    workers = min(workers, len(tasks))
    total, so_far = sum(work), 0.0

    def finished(k: int) -> None:
        nonlocal so_far
        so_far += work[k]
        if done is not None:
            done(so_far / total)

    results: dict[int, Result] = {}
    if workers <= 1:
        for k, task in enumerate(tasks):
            results[k] = function(*task)
            finished(k)
        return [results[k] for k in range(len(tasks))]
    others = active_children()
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=begin)
    try:
        largest_first = sorted(range(len(tasks)), key=lambda k: -work[k])
        futures = {pool.submit(function, *tasks[k]): k for k in largest_first}
        for future in as_completed(futures):
            results[futures[future]] = future.result()
            finished(futures[future])
    except BaseException:
        for process in active_children():  # nobody waits for what they are at
            if process not in others:
                process.terminate()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
    return [results[k] for k in range(len(tasks))]


def cores() -> int:
    """How many processes can run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def begin() -> None:
    """In a new process: Ctrl-C is the parent's to handle, and nobody works on for a parent that is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

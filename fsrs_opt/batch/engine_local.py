"""The local engine: long-lived processes that load everything once, each with one thread and bounded memory.

Why no ready-made pool: concurrent.futures gives up all work when a worker dies, and none of the pools tells
from outside which process holds which task, without which a worker that grows too large cannot be ended and
its task named. Everything that blocks here is one `wait` on all pipes and processes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil

from fsrs_opt.batch import worker
from fsrs_opt.batch.tasks import Options, Order, Outcome, failed
from fsrs_opt.errors import FsrsOptError
from fsrs_opt.model.kernel import choose
from fsrs_opt.sources.database import temporary_folder

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess, SpawnProcess

AHEAD: Final = 2
"""Orders that a worker holds: the one it is at, and the one it may read ahead."""

TRIES: Final = 2
"""A task whose worker dies is tried once more."""

TICK_SECONDS: Final = 0.25
_MEMORY_POLL_SECONDS: Final = 0.1
_DEAD_STARTS: Final = 3
_MIB: Final = 1 << 20
_THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass
class _Worker:
    """A process, our end of its pipe, and the orders it holds, oldest first. silent: it will say no more."""

    process: ForkServerProcess | SpawnProcess
    pipe: Connection
    orders: deque[Order] = field(default_factory=deque)
    ready: bool = False
    silent: bool = False
    killed_for: str = ""


class LocalEngine:
    """Worker processes on this machine.

    memory: MiB that one worker may use; a task that needs more fails. None: no limit.
    """

    def __init__(self, workers: int, *, memory: int | None = None) -> None:
        self.workers = workers
        self.memory = memory
        self._dead_starts = 0
        self._looked_at = 0.0
        self._crew: list[_Worker] = []
        self._tries: dict[tuple[str, str], int] = {}

    def run(self, orders: list[Order]) -> Generator[Outcome | None, None, None]:
        """See `tasks.Engine`."""
        waiting = deque(orders)
        context = _context(orders)
        with _one_thread_each(), temporary_folder() as folder:
            try:
                while waiting or self._held():
                    while len(self._crew) < min(self.workers, len(waiting) + self._held()):
                        self._crew.append(_start(context, folder))
                    self._hand_out(waiting)
                    yield from self._heard(waiting)
                    self._watch_memory()
            finally:
                self._dismiss()

    def _dismiss(self) -> None:
        for one in self._crew:
            one.process.kill()
        for one in self._crew:
            one.process.join(1)
            one.pipe.close()
        self._crew.clear()

    def _held(self) -> int:
        return sum(len(one.orders) for one in self._crew)

    def _hand_out(self, waiting: deque[Order]) -> None:
        """One order to each that has none; then, in advance, a second."""
        for depth in range(1, AHEAD + 1):
            for one in self._crew:
                if waiting and len(one.orders) < depth and not one.killed_for:
                    order = waiting.popleft()
                    one.orders.append(order)
                    with suppress(OSError):  # it has just died, and is heard of soon
                        one.pipe.send(order)

    def _heard(self, waiting: deque[Order]) -> Iterator[Outcome | None]:
        """What the workers have to say; None where they say nothing for a while."""
        of_pipe: dict[object, _Worker] = {one.pipe: one for one in self._crew}
        of_sentinel: dict[object, _Worker] = {one.process.sentinel: one for one in self._crew}
        timeout = TICK_SECONDS if self.memory is None else _MEMORY_POLL_SECONDS
        said = wait(
            [*(one.pipe for one in self._crew), *(one.process.sentinel for one in self._crew)], timeout
        )
        if not said:
            yield None
        for each in said:
            one = of_pipe.get(each)
            if one is None or one not in self._crew:
                continue
            try:
                message: Any = one.pipe.recv()
            except (EOFError, OSError):
                one.silent = True  # its sentinel tells of its end
                continue
            one.ready = True
            self._dead_starts = 0
            if message is not None:
                one.orders.popleft()
                yield message
        for each in said:
            one = of_sentinel.get(each)
            if one is not None and (one.silent or not one.pipe.poll()):
                yield from self._buried(one, waiting)

    def _buried(self, one: _Worker, waiting: deque[Order]) -> Iterator[Outcome]:
        """A worker has died: what it was at is tried once more, what it had not begun is as before."""
        self._crew.remove(one)
        one.process.join()
        one.pipe.close()
        if not one.ready and not one.killed_for:
            self._dead_starts += 1
            waiting.extendleft(reversed(one.orders))
            if self._dead_starts >= _DEAD_STARTS:
                raise FsrsOptError(
                    f"The worker processes cannot be started ({_end(one.process.exitcode)}):"
                    " free some memory, or try --workers 1."
                )
            return
        if not one.orders:
            return
        at, *later = one.orders
        waiting.extendleft(reversed(later))
        key = (at.task.path, at.split)
        self._tries[key] = self._tries.get(key, 0) + 1
        if one.killed_for:
            yield failed(at, one.killed_for)
        elif self._tries[key] < TRIES:
            waiting.append(at)
        else:
            yield failed(
                at,
                f"{at.task.path}: its worker process died {TRIES} times ({_end(one.process.exitcode)});"
                " perhaps there is not enough memory: try it alone with --workers 1.",
            )

    def _watch_memory(self) -> None:
        now = time.monotonic()
        if self.memory is None or now - self._looked_at < _MEMORY_POLL_SECONDS:
            return
        self._looked_at = now
        for one in self._crew:
            if not one.orders or one.killed_for:
                continue
            try:
                used = psutil.Process(one.process.pid).memory_info().rss
            except psutil.Error:
                continue
            if used > self.memory * _MIB:
                one.killed_for = (
                    f"{one.orders[0].task.path} needs more than the {self.memory} MiB that a worker may use:"
                    " raise --memory, or use fewer workers."
                )
                one.process.kill()


def default_memory(workers: int) -> int:
    """MiB that each worker may use where nothing else is asked for: nine tenths of the memory of this machine
    (or of its control group), shared out."""
    total = psutil.virtual_memory().total
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError), open(limit) as file:
            total = min(total, int(file.read()))
    return max(256, int(0.9 * total / workers) // _MIB)


def _context(orders: list[Order]) -> Any:
    """Where it can be, workers are forked from one process that has loaded everything and done nothing: each
    starts at once, and they share that memory."""
    if "forkserver" in multiprocessing.get_all_start_methods() and os.name == "posix":
        context = multiprocessing.get_context("forkserver")
        modules = ["fsrs_opt.batch.preload"]
        if orders and _needs_torch(orders[0].options):  # those of a job are all alike
            modules.insert(0, "fsrs_opt.training.stepwise")
        context.set_forkserver_preload(modules)
        resource_tracker.ensure_running()  # later it would unblock SIGINT just before the fork server starts
        return context
    return multiprocessing.get_context("spawn")


def _needs_torch(options: Options) -> bool:
    return options.recipe == "classic" or choose(options.kernel, options.device) == "torch"


def _start(context: Any, folder: Path) -> _Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=worker.main, args=(theirs, str(folder)), daemon=True)
    with _sigint_blocked():
        process.start()
    theirs.close()
    return _Worker(process, ours)


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Processes that are started inside never hear of Ctrl-C, which a terminal sends to all of them; ours
    hears of it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that are started inside are told to use one thread by what torch and numpy read at start."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end(code: int | None) -> str:
    if code is not None and code < 0:
        return f"killed by signal {-code}"
    return f"exit code {code}"

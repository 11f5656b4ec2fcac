"""The distributed engine: the same task function on a dask cluster, which has the means for clusters of every
kind (ssh, SLURM and its like, Kubernetes), hands the tasks of lost workers to others, and streams results.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Generator
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from fsrs_opt import __version__
from fsrs_opt.batch.engine_local import TICK_SECONDS
from fsrs_opt.batch.tasks import Order, Outcome, failed
from fsrs_opt.errors import FsrsOptError, UsageError, sentence

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_SECONDS: Final = 20
_GONE_SECONDS: Final = 5.0
_SMALLEST_WINDOW, _ORDERS_PER_THREAD = 64, 8
"""So many orders are with the cluster at a time: enough to keep it busy, few enough for its scheduler."""


class DaskEngine:
    """Workers of a dask cluster.

    scheduler: its address, e.g. tcp://10.0.0.1:8786, or a file that the scheduler wrote; None starts a
    cluster of `workers` processes on this machine, for trying it out.
    """

    def __init__(self, scheduler: str | None, workers: int, *, memory: int | None = None) -> None:
        self.scheduler = scheduler
        self.workers = workers
        self.memory = memory

    def run(self, orders: list[Order]) -> Generator[Outcome | None, None, None]:
        """See `tasks.Engine`."""
        client, cluster = self._connect()
        where = self.scheduler or "on this machine"
        futures: dict[str, tuple[Future, Order]] = {}
        try:
            _check_versions(client)
            yield from _stream(client, orders, futures, where)
        except FsrsOptError:
            raise
        except Exception as error:
            # It may die while it is asked for something. Nothing else raises these: what goes wrong within a
            # task is in its outcome, and a future that failed is asked for its exception.
            if isinstance(error, OSError | CancelledError) or client.status != "running":
                raise _scheduler_gone(where) from None
            raise
        finally:
            # a scheduler forgets what a client wanted when the client leaves; workers are told to drop it too
            with suppress(Exception):
                if futures and client.status == "running":
                    client.cancel([future for future, _ in futures.values()], force=True)
            with suppress(Exception):
                client.close(timeout=2)
            with suppress(Exception):
                if cluster is not None:
                    cluster.close(timeout=2)

    def _connect(self) -> tuple[Client, Any]:
        try:
            import distributed
        except ImportError:
            raise FsrsOptError(
                'The dask engine needs dask: install it with: pip install "fsrs-opt[dask]".'
            ) from None
        _quiet()
        cluster = None
        try:
            if self.scheduler is None:
                cluster = distributed.LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    memory_limit=f"{self.memory}MiB" if self.memory else "auto",
                    dashboard_address=None,
                )
                return distributed.Client(cluster), cluster
            if "://" not in self.scheduler and ":" not in self.scheduler:
                return distributed.Client(scheduler_file=self.scheduler, timeout=_CONNECT_SECONDS), None
            return distributed.Client(self.scheduler, timeout=_CONNECT_SECONDS), None
        except (OSError, TimeoutError, ValueError) as error:
            if cluster is not None:
                cluster.close()
            raise UsageError(
                f"there is no dask scheduler at {self.scheduler}: start one with “dask scheduler”"
                f" and give its address ({' '.join(str(error).split())[:200]})"
            ) from None


def _stream(
    client: Client, orders: list[Order], futures: dict[str, tuple[Future, Order]], where: str
) -> Generator[Outcome | None, None, None]:
    """Submit orders as others are finished, the first ones first. `futures`: those under way, by key."""
    waiting = deque(orders)
    finished: queue.SimpleQueue[Future] = queue.SimpleQueue()
    lost: list[Future] = []  # their worker died with the result: the scheduler has them done again
    gone_since: float | None = None
    priority = 0
    while waiting or futures:
        window = max(_SMALLEST_WINDOW, _ORDERS_PER_THREAD * sum(client.nthreads().values())) if waiting else 0
        while waiting and len(futures) < window:
            order = waiting.popleft()
            priority -= 1
            future = client.submit(_run, order, pure=False, priority=priority)
            futures[future.key] = future, order
            future.add_done_callback(finished.put)
        try:
            future = finished.get(timeout=TICK_SECONDS)
        except queue.Empty:
            gone_since = None if client.status == "running" else gone_since or time.monotonic()
            if gone_since is not None and time.monotonic() - gone_since > _GONE_SECONDS:
                raise _scheduler_gone(where) from None
            for future in lost:
                finished.put(future)
            lost.clear()
            yield None
            continue
        if future.key not in futures:
            continue
        if future.status == "cancelled" or client.status != "running":
            raise _scheduler_gone(where)
        if future.status not in ("finished", "error"):
            lost.append(future)
            continue
        _, order = futures.pop(future.key)
        yield _outcome(future, order)
        future.release()


def _outcome(future: Future, order: Order) -> Outcome:
    if future.status == "finished":
        outcome = future.result()
        assert isinstance(outcome, Outcome)
        return outcome
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        return failed(
            order,
            f"{order.task.path}: the workers that it was given to died one after another; perhaps there is"
            " not enough memory for it.",
        )
    return failed(order, sentence(error))


def _run(order: Order) -> Outcome:
    """The task function on a dask worker."""
    from fsrs_opt.batch import work

    work.one_thread()
    return work.run(order)


def _version() -> str:
    return __version__


def _check_versions(client: Client) -> None:
    """Every worker that is there must have this program, in this version. FsrsOptError where not."""
    try:
        versions = client.run(_version, on_error="return")
    except Exception as error:
        versions = {"the cluster": error}
    for worker, version in versions.items():
        if version != __version__:
            what = (
                f"has fsrs-opt {version}"
                if isinstance(version, str)
                else f"has no fsrs-opt that works ({version})"
            )
            raise FsrsOptError(
                f"The dask worker {worker} {what}: install fsrs-opt {__version__} on every machine of the"
                " cluster."
            )


def _scheduler_gone(where: str) -> FsrsOptError:
    return FsrsOptError(
        f"The dask scheduler {where} is gone: start it again and give the same command;"
        " what was done until then is kept."
    )


def _quiet() -> None:
    """dask's own log lines would come between ours; what matters of them is told in our words."""
    import logging

    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)

"""A real dask scheduler with two real workers on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from fsrs_opt.batch import job
from fsrs_opt.batch.results import frame
from fsrs_opt.batch.tasks import Options, Order, Outcome, Task
from fsrs_opt.errors import FsrsOptError, UsageError
from tests.batch.made_up import run, write_log

pytest.importorskip("distributed", reason="dask is not installed")

from distributed.comm import CommClosedError

from fsrs_opt.batch import engine_dask
from fsrs_opt.batch.engine_dask import DaskEngine
from scripts import chaos_batch


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for seed in range(12):
        write_log(folder / f"{seed}.csv", seed=seed, cards=400)
    return folder


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[chaos_batch.Cluster]:
    with chaos_batch.cluster(tmp_path) as running:
        yield running


def test_it_survives_a_worker_and_tells_when_the_scheduler_dies(
    logs: Path, tmp_path: Path, cluster: chaos_batch.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One test, for a cluster takes long to start: a worker is killed in the middle, then the scheduler."""
    monkeypatch.setattr(engine_dask, "_GONE_SECONDS", 1.0)
    out = tmp_path / "out"

    def kill_worker(standing: job.Standing) -> None:
        if standing.files_done == 3:
            cluster.workers[0].kill()

    def engine() -> DaskEngine:
        return DaskEngine(cluster.address, 2)

    standing = job.run([logs], out, Options(), engine, progress=kill_worker)
    assert (standing.done, standing.failed) == (12, 0)
    run([logs], tmp_path / "alone")
    for column in ("path", "content", "w0", "w20", "in_sample_new_log_loss"):
        assert frame([out])[column].tolist() == frame([tmp_path / "alone"])[column].tolist()

    def kill_scheduler(standing: job.Standing) -> None:
        if standing.files_done == 3:
            cluster.scheduler.kill()

    with pytest.raises(FsrsOptError, match=r"scheduler .* is gone"):
        job.run([logs], out, Options(), engine, redo="all", progress=kill_scheduler)
    standing, did = run([logs], out)
    assert len(did) <= 9
    assert frame([out])["w0"].tolist() == frame([tmp_path / "alone"])["w0"].tolist()


def test_a_scheduler_that_is_not_there_is_told(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_dask, "_CONNECT_SECONDS", 1)
    with pytest.raises(UsageError, match=r"no dask scheduler at tcp://127\.0\.0\.1:1"):
        job.run([logs], tmp_path / "out", Options(), lambda: DaskEngine("tcp://127.0.0.1:1", 2))


class Dying:
    """What a client is like whose scheduler dies while it is asked for a result."""

    def __init__(self, error: Exception, status: str) -> None:
        self.error, self.status = error, status

    def run(self, *_: object, **__: object) -> dict[str, str]:
        return {}

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    def submit(self, *_: object, **__: object) -> DyingFuture:
        self.status, status = "running", self.status
        return DyingFuture(self, status)

    def cancel(self, *_: object, **__: object) -> None: ...

    def close(self, **_: object) -> None: ...


class DyingFuture:
    key, status = "one", "finished"

    def __init__(self, client: Dying, after: str) -> None:
        self.client, self.after = client, after

    def add_done_callback(self, call: Callable[[DyingFuture], None]) -> None:
        call(self)

    def result(self) -> None:
        self.client.status = self.after
        raise self.client.error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CommClosedError("reset by peer"), "running"),
        (TimeoutError(), "running"),
        (CancelledError("one"), "running"),
        (RuntimeError("the client is closed"), "closed"),
    ],
)
def test_a_scheduler_that_dies_while_it_answers(
    error: Exception, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DaskEngine("tcp://10.0.0.1:8786", 2)
    monkeypatch.setattr(DaskEngine, "_connect", lambda _: (Dying(error, status), None))
    with pytest.raises(FsrsOptError, match=r"scheduler tcp://10\.0\.0\.1:8786 is gone"):
        list(engine.run([None]))


class LostFuture:
    """A future whose worker died when it was done, before anybody had its result; it is done again later."""

    key = "one"

    def __init__(self, order: Order) -> None:
        self.order = order
        self.statuses = ["lost", "pending", "finished"]

    @property
    def status(self) -> str:
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]

    def add_done_callback(self, call: Callable[[LostFuture], None]) -> None:
        call(self)

    def exception(self) -> None:
        return None

    def result(self) -> Outcome:
        return Outcome(self.order, "content", ())

    def release(self) -> None: ...


def test_a_result_that_died_with_its_worker_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client(Dying):
        def __init__(self) -> None:
            self.status = "running"

        def submit(self, _: object, order: Order, **__: object) -> LostFuture:
            return LostFuture(order)

    order = Order(Task("a.colpkg", "a.colpkg", 1, ""), "none", Options())
    monkeypatch.setattr(engine_dask, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(engine_dask, "_check_versions", lambda _: None)
    monkeypatch.setattr(DaskEngine, "_connect", lambda _: (Client(), None))
    outcomes = [each for each in DaskEngine("tcp://10.0.0.1:8786", 2).run([order]) if each is not None]
    assert [outcome.content for outcome in outcomes] == ["content"]


def test_other_errors_are_not_taken_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DaskEngine, "_connect", lambda _: (Dying(RuntimeError("a bug"), "running"), None))
    with pytest.raises(RuntimeError, match="a bug"):
        list(DaskEngine("tcp://10.0.0.1:8786", 2).run([None]))

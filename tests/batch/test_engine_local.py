"""Real worker processes, some of which die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from fsrs_opt.batch.content import files_of, measure
from fsrs_opt.batch.engine_local import LocalEngine, default_memory
from fsrs_opt.batch.tasks import DONE, FAILED, Options, Order, Outcome, Task
from tests.batch.made_up import write_log


def order(path: Path) -> Order:
    return Order(Task(str(path), path.name, *measure(files_of(path))), "none", Options())


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("logs")
    return [write_log(folder / f"{k}.csv", seed=k) for k in range(6)]


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough rows to be at it for some seconds."""
    return write_log(tmp_path_factory.mktemp("long") / "long.csv", cards=60_000)


def by_name(outcomes: list[Outcome]) -> dict[str, Outcome]:
    return {outcome.order.task.name: outcome for outcome in outcomes}


def collect(engine: LocalEngine, orders: list[Order]) -> list[Outcome]:
    return [outcome for outcome in engine.run(orders) if outcome is not None]


def test_all_orders_are_done_once_and_no_process_is_left(logs: list[Path]) -> None:
    outcomes = collect(LocalEngine(2), [order(path) for path in logs])
    assert sorted(outcome.order.task.name for outcome in outcomes) == [path.name for path in logs]
    assert {row.status for outcome in outcomes for row in outcome.rows} == {DONE}
    assert below(os.getpid()) == []


def below(process: int) -> list[psutil.Process]:
    """Worker processes: children of the process that they are forked from."""
    children = psutil.Process(process).children(recursive=True)
    return [each for each in children if each.ppid() != process and each.status() != psutil.STATUS_ZOMBIE]


def kill_at_work(engine: LocalEngine, orders: list[Order], target: str, times: int) -> list[Outcome]:
    """Run, and kill whoever is at the target so many times."""
    outcomes, killed = [], set()
    for outcome in engine.run(orders):
        if outcome is not None:
            outcomes.append(outcome)
        for one in engine._crew:
            at = one.ready and one.orders and one.orders[0].task.name == target
            if at and len(killed) < times and one.process.pid not in killed:
                killed.add(one.process.pid)
                os.kill(one.process.pid, signal.SIGKILL)
    assert len(killed) == times
    return outcomes


def test_a_task_whose_worker_is_killed_is_tried_again(logs: list[Path], long_log: Path) -> None:
    found = by_name(kill_at_work(LocalEngine(2), [order(path) for path in (long_log, *logs)], "long.csv", 1))
    assert len(found) == 7
    assert {outcome.rows[0].status for outcome in found.values()} == {DONE}


def test_killed_twice_it_fails_and_the_others_do_not(logs: list[Path], long_log: Path) -> None:
    outcomes = kill_at_work(LocalEngine(1), [order(path) for path in (long_log, *logs)], "long.csv", 2)
    assert len(outcomes) == 7
    found = by_name(outcomes)
    row = found.pop("long.csv").rows[0]
    assert row.status == FAILED
    assert str(long_log) in row.error
    assert "died 2 times (killed by signal 9)" in row.error
    assert {outcome.rows[0].status for outcome in found.values()} == {DONE}


def test_a_task_that_needs_too_much_memory_fails_at_once(logs: list[Path]) -> None:
    """No worker fits into so little."""
    outcomes = collect(LocalEngine(1, memory=30), [order(path) for path in logs[:1]])
    if outcomes[0].rows[0].status == DONE:
        pytest.skip("it was done before its memory was looked at")
    assert "needs more than the 30 MiB" in outcomes[0].rows[0].error


def test_closing_it_ends_the_workers(logs: list[Path], long_log: Path) -> None:
    running = LocalEngine(2).run([order(long_log), order(logs[0])])
    next(running)
    running.close()
    assert below(os.getpid()) == []


def test_a_worker_may_use_its_share_of_the_memory() -> None:
    total = psutil.virtual_memory().total >> 20
    assert default_memory(2) <= total / 2
    assert default_memory(1) >= default_memory(2)

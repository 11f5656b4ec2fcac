"""Work in order, in one process or several."""

from __future__ import annotations

import os

import pytest

from fsrs_opt.evaluation.workers import each


def square(x: int) -> tuple[int, int]:
    return x * x, os.getpid()


def fail(x: int) -> int:
    raise ValueError(f"cannot do {x}")


def test_results_keep_the_order_of_the_tasks():
    done = []
    found = each(square, [(3,), (1,), (2,)], [3, 1, 2], size=10, done=done.append)
    assert [value for value, _ in found] == [9, 1, 4]
    assert {pid for _, pid in found} == {os.getpid()}
    assert done == pytest.approx([1 / 2, 2 / 3, 1])


def test_several_processes_give_the_same():
    done = []
    found = each(square, [(3,), (1,), (2,)], [3, 1, 2], size=10, workers=2, done=done.append)
    assert [value for value, _ in found] == [9, 1, 4]
    assert os.getpid() not in {pid for _, pid in found}
    assert done[-1] == pytest.approx(1)
    assert done == sorted(done)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_the_work_is_the_caller_s(workers):
    with pytest.raises(ValueError, match="cannot do 1"):
        each(fail, [(1,), (1,)], [1, 1], size=10, workers=workers)


def test_what_the_callback_raises_ends_the_work():
    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        each(square, [(1,), (2,)], [1, 1], size=10, done=stop)

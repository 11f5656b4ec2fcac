"""The simulation of a job, against cases that can be done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from scripts.simulate_batch import play, sizes


def test_equal_tasks_on_two_workers() -> None:
    played = play(np.full(10, 2.0), workers=2, central=0.0, start=1.0)
    assert played.seconds == 11.0  # a second to start, five tasks each
    assert played.busy == pytest.approx(20 / 22)


def test_the_largest_last_leaves_one_alone() -> None:
    first = play(np.array([4.0, 1.0, 1.0, 1.0, 1.0]), workers=2, central=0.0, start=0.0)
    last = play(np.array([1.0, 1.0, 1.0, 1.0, 4.0]), workers=2, central=0.0, start=0.0)
    assert (first.seconds, last.seconds) == (4.0, 6.0)


def test_no_more_results_than_the_main_process_can_take() -> None:
    played = play(np.full(1000, 0.01), workers=100, central=0.01, start=0.0)
    assert played.seconds == pytest.approx(10.0, rel=0.02)  # 1,000 results of 10 ms each


def test_sizes_have_the_mean_that_was_asked_for() -> None:
    assert sizes(200_000, 27_000, np.random.default_rng(0)).mean() == pytest.approx(27_000, rel=0.03)

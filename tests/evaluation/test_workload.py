"""Reviews a day, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fsrs_opt.evaluation.workload import Workload, intervals, workload
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import DEFAULTS


def batch_of_first_reviews(*ratings: int) -> WindowedBatch:
    n = len(ratings)
    return WindowedBatch(
        offsets=np.arange(n + 1, dtype=np.int64),
        rating=np.array(ratings, dtype=np.int8),
        delta_t=np.zeros(n, dtype=np.int32),
        weight=np.zeros(n),
    )


def test_at_ninety_percent_the_interval_is_the_stability():
    np.testing.assert_allclose(intervals(np.array([2.0, 50.0]), 0.9, DEFAULTS), [2, 50])


def test_intervals_by_hand():
    w = DEFAULTS.copy()
    w[20] = 0.5  # R = (1 + f t / S)^-0.5 with f = 0.9^-2 - 1
    factor = 0.9**-2 - 1
    days = 10 / factor * (0.8**-2 - 1)
    np.testing.assert_allclose(intervals(np.array([10.0]), 0.8, w), [days])
    np.testing.assert_allclose(intervals(np.array([1e-3, 1e9]), 0.9, w), [1, 36500])


def test_every_card_adds_one_over_its_interval():
    # After a first review the stability is w0..w3; at 90 % that is the interval
    batch = batch_of_first_reviews(3, 4, 4)
    other = DEFAULTS.copy()
    other[3] = 20.0
    everyone = np.ones(3, dtype=bool)
    found = workload(
        batch,
        current=[(DEFAULTS, everyone)],
        new=other,
        desired_retention=np.full(3, 0.9),
        scheduled=np.array([True, True, False]),
    )
    assert found.current == pytest.approx(1 / DEFAULTS[2] + 1 / DEFAULTS[3], rel=1e-6)
    assert found.new == pytest.approx(1 / DEFAULTS[2] + 1 / 20, rel=1e-6)
    assert found.cards == 2
    assert found.change_percent < 0


def test_each_card_has_its_own_current_set():
    batch = batch_of_first_reviews(3, 3)
    other = DEFAULTS.copy()
    other[2] = 4.0
    sets = [(DEFAULTS, np.array([True, False])), (other, np.array([False, True]))]
    scheduled = np.ones(2, dtype=bool)
    found = workload(
        batch, current=sets, new=DEFAULTS, desired_retention=np.full(2, 0.9), scheduled=scheduled
    )
    assert found.current == pytest.approx(1 / DEFAULTS[2] + 1 / 4, rel=1e-6)


def test_no_card_no_workload():
    batch = batch_of_first_reviews(3)
    nobody = np.zeros(1, dtype=bool)
    assert (
        workload(
            batch, current=[(DEFAULTS, ~nobody)], new=DEFAULTS, desired_retention=np.ones(1), scheduled=nobody
        )
        is None
    )


@pytest.mark.parametrize(("new", "said"), [(50, "about the same"), (55, "10 % more"), (40, "20 % fewer")])
def test_sentence(new, said):
    assert said in Workload(50.0, new, 10, 0.9).sentence()
    assert "90 %" in Workload(50.0, new, 10, 0.9).sentence()

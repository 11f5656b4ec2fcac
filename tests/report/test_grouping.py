from __future__ import annotations

import numpy as np

from fsrs_opt.report.findings import Predicted
from fsrs_opt.report.grouping import grouped
from fsrs_opt.reviews.items import Items


def predicted(label: np.ndarray) -> Predicted:
    n = len(label)
    whole = np.zeros(n, dtype=np.int64)
    items = Items(whole, whole, whole, label, whole, whole, whole, whole)
    return Predicted(True, items, label, np.full(n, 0.9), np.linspace(0, 1, n))


def test_groups_are_means_of_their_items() -> None:
    value = np.repeat([1, 2, 3], [30, 40, 50])
    label = np.concatenate([np.repeat([True, False], [24, 6]), np.ones(40, bool), np.zeros(50, bool)])
    groups = grouped(predicted(label), value, (1, 2, 3))
    assert groups.count.tolist() == [30, 40, 50]
    assert groups.actual.tolist() == [0.8, 1.0, 0.0]
    assert groups.middle.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(groups.new, 0.9)
    assert np.all(groups.low <= groups.actual)
    assert np.all(groups.actual <= groups.high)


def test_small_groups_join_the_next_and_the_last_one_joins_the_one_before() -> None:
    value = np.repeat([1, 2, 5, 9], [5, 30, 30, 3])
    rng = np.random.default_rng(1)
    mixed = rng.permutation(len(value))
    groups = grouped(predicted(np.ones(len(value), bool)), value[mixed], (1, 2, 4, 8))
    assert groups.count.tolist() == [35, 33]
    assert groups.lowest.tolist() == [1, 5]
    assert groups.highest.tolist() == [2, 9]


def test_few_items_are_one_group() -> None:
    groups = grouped(predicted(np.array([True])), np.array([12]), (1, 2, 4, 8))
    assert len(groups) == 1
    assert (groups.lowest[0], groups.highest[0], groups.count[0]) == (12, 12, 1)

"""Time-series splits by hand."""

from __future__ import annotations

import pytest

from fsrs_opt.reviews.splits import time_series_splits


def test_five_splits_grow_and_the_last_takes_the_remainder():
    assert time_series_splits(20) == [
        (slice(0, 3), slice(3, 6)),
        (slice(0, 6), slice(6, 9)),
        (slice(0, 9), slice(9, 12)),
        (slice(0, 12), slice(12, 15)),
        (slice(0, 15), slice(15, 20)),
    ]


def test_other_numbers_of_splits():
    assert time_series_splits(5, n=1) == [(slice(0, 2), slice(2, 5))]


def test_too_few_items_give_no_split():
    assert time_series_splits(5) == []
    assert time_series_splits(0) == []
    assert len(time_series_splits(6)) == 5


def test_no_split_at_all_is_a_mistake():
    with pytest.raises(ValueError, match="at least one"):
        time_series_splits(100, n=0)

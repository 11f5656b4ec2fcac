"""Sorting whole numbers: numpy's stable order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsrs_opt.reviews.order import sort_with_places


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1))
    | st.lists(st.integers(1_500_000_000_000, 1_500_000_000_009))
    | st.lists(st.integers(-3, 3))
)
def test_equal_values_keep_their_order(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    in_order, places = sort_with_places(array)
    assert in_order.tolist() == sorted(values)
    assert places.tolist() == sorted(range(len(values)), key=lambda k: values[k])
    assert array.tolist() == values


@pytest.mark.parametrize("bits", [53, 54, 55, 62])
def test_values_that_just_fit_and_just_do_not(bits: int) -> None:
    values = np.random.default_rng(bits).integers(-(2**bits) // 2, 2**bits // 2, size=1023)
    values[:2] = 2**bits // 2 - 1, -(2**bits) // 2
    in_order, places = sort_with_places(values)
    assert places.tolist() == np.argsort(values, kind="stable").tolist()
    assert in_order.tolist() == sorted(values.tolist())
    assert in_order.dtype == places.dtype == np.int64


def test_small_types() -> None:
    in_order, places = sort_with_places(np.array([3, -1, 3, -128, 127], dtype=np.int8))
    assert in_order.tolist() == [-128, -1, 3, 3, 127]
    assert places.tolist() == [3, 1, 0, 2, 4]

"""The order of whole numbers: numpy's stable one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsrs_opt.reviews.order import distinct, stable_order


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1))
    | st.lists(st.integers(1_500_000_000_000, 1_500_000_000_009))
    | st.lists(st.integers(-3, 3))
)
def test_equal_values_keep_their_order(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert stable_order(array).tolist() == sorted(range(len(values)), key=lambda k: values[k])
    assert array.tolist() == values


@pytest.mark.parametrize("bits", [53, 54, 55, 62])
def test_values_that_just_fit_and_just_do_not(bits: int) -> None:
    values = np.random.default_rng(bits).integers(-(2**bits) // 2, 2**bits // 2, size=1023)
    values[:2] = 2**bits // 2 - 1, -(2**bits) // 2
    order = stable_order(np.concatenate([values, values[:0]]))
    assert order.tolist() == np.argsort(values, kind="stable").tolist()
    assert order.dtype == np.int64


def test_small_types() -> None:
    assert stable_order(np.array([3, -1, 3, -128, 127], dtype=np.int8)).tolist() == [3, 1, 0, 2, 4]


def test_distinct_values_ascend() -> None:
    assert distinct(np.array([5, -2, 5, 2**62, -2], dtype=np.int64)).tolist() == [-2, 5, 2**62]

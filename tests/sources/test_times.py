"""Review times in any common writing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsrs_opt.sources.times import to_milliseconds
from fsrs_opt.sources.values import BadValueError

MOMENT = 1_700_000_000_123  # 2023-11-14T22:13:20.123Z


def convert(values: list[object], **more: bool) -> tuple[list[int], list[str]]:
    column = np.array(values) if isinstance(values[0], int) else pd.Series(values, dtype=str)
    notes: list[str] = []
    return to_milliseconds(column, "review_time", notes, any_time=more.get("any_time", False)).tolist(), notes


@pytest.mark.parametrize(
    ("written", "expected", "note"),
    [
        (1_700_000_000, 1_700_000_000_000, "seconds"),
        ("1700000000.123", MOMENT, "seconds"),
        (MOMENT, MOMENT, "milliseconds"),
        ("1.700000000123e12", MOMENT, "milliseconds"),
        (1_700_000_000_123_999, MOMENT, "microseconds"),
        ("2023-11-14T22:13:20.123Z", MOMENT, "ISO 8601"),
        ("2023-11-14 22:13:20.123+00:00", MOMENT, "ISO 8601"),
        ("2023-11-15T06:13:20.123+0800", MOMENT, "ISO 8601"),
        ("2023-11-14T22:13:20.123456", MOMENT, "without an offset as UTC"),
        ("2023-11-14", 1_699_920_000_000, "without an offset as UTC"),
        ("20231114T221320Z", 1_700_000_000_000, "ISO 8601"),
    ],
)
def test_the_unit_is_recognized_and_said(written: object, expected: int, note: str) -> None:
    times, notes = convert([written])
    assert times == [expected]
    assert note in notes[0]


def test_offsets_may_differ_from_row_to_row() -> None:
    times, notes = convert(["2023-11-14T22:13:20Z", "2023-11-15T06:13:20+08:00"])
    assert times == [1_700_000_000_000] * 2
    assert "without" not in notes[0]


@pytest.mark.parametrize(
    ("values", "row"),
    [
        ([1_700_000_000_000, 1_700_000_000, 1_700_000_000_000], 1),  # two units in one file
        ([-1_700_000_000_000], 0),
        (["2023-11-14", "2023-13-14"], 1),
        (["2023-11-14", "1700000000"], 1),
        (["1700000000", "2023-11-14"], 1),
        (["1700000000", ""], 1),
        (["never"], 0),
        (["1700000000", "inf"], 1),
    ],
)
def test_what_is_no_time_is_refused_with_its_row(values: list[object], row: int) -> None:
    with pytest.raises(BadValueError) as caught:
        convert(values)
    assert (caught.value.row, caught.value.column) == (row, "review_time")


def test_a_revlogs_own_rows_are_never_refused() -> None:
    assert convert([MOMENT, 5, MOMENT], any_time=True)[0] == [MOMENT, 5, MOMENT]


@given(st.integers(10**8, 10**11 - 1))
def test_every_unit_gives_the_same_moment(second: int) -> None:
    for per_second in (1, 1000, 1_000_000):
        assert convert([second * per_second])[0] == [second * 1000]

"""Whole numbers out of raw columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from fsrs_opt.sources.values import from_arrow


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.chunked_array([[1, 2], [], [-3]], pa.int64()), [1, 2, -3]),
        (pa.chunked_array([[9, 1, 2, 9], [3]], pa.int64()).slice(1, 2), [1, 2]),
        (pa.chunked_array([[255], [0]], pa.uint8()), [255, 0]),
        (pa.chunked_array([], pa.int64()), []),
    ],
)
def test_arrow_columns_of_any_layout(column: pa.ChunkedArray, expected: list[int]) -> None:
    found = from_arrow(column)
    assert (found.dtype, found.tolist()) == ("int64", expected)


def test_a_missing_number_is_refused() -> None:
    with pytest.raises(ValueError, match="a number is missing"):
        from_arrow(pa.chunked_array([[1, None]], pa.int64()))

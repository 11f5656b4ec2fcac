"""The review log's columns, dtypes and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fsrs_opt.reviews import log

ROW = {"review_time": [1_700_000_000_000], "card_id": [7], "rating": [3], "kind": [1]}


def arrays(**more: list[int]) -> dict[str, np.ndarray]:
    return {name: np.array(values) for name, values in {**ROW, **more}.items()}


def test_columns_and_dtypes_are_those_of_the_table() -> None:
    frame = log.make(arrays(factor=[2500], duration=[4000], interval=[-600], last_interval=[1], day=[3]))
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        "review_time": "int64",
        "card_id": "int64",
        "rating": "int8",
        "kind": "int8",
        "duration": "int32",
        "factor": "int32",
        "interval": "int32",
        "last_interval": "int32",
        "day": "int32",
    }
    assert frame.iloc[0].tolist() == [1_700_000_000_000, 7, 3, 1, 4000, 2500, -600, 1, 3]


def test_values_outside_a_dtype_are_clipped_not_wrapped() -> None:
    frame = log.make(arrays(rating=[300], kind=[-300], interval=[2**40]))
    assert frame.iloc[0][["rating", "kind", "interval"]].tolist() == [127, -128, 2**31 - 1]


def test_arrays_of_the_right_dtype_are_not_copied() -> None:
    columns = {name: np.array(values, dtype=log.DTYPES[name]) for name, values in ROW.items()}
    frame = log.make(columns)
    assert np.shares_memory(frame["review_time"].to_numpy(), columns["review_time"])


def test_card_names_are_kept_beside_the_table() -> None:
    frame = log.make(arrays(card_id=[0]), card_names=["deutsch-1"])
    assert frame.attrs["card_names"] == ["deutsch-1"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({k: v for k, v in arrays().items() if k != "kind"}, "needs the column 'kind'"),
        (arrays(colour=[1]), "no column 'colour'"),
        (
            {**arrays(), "rating": np.array([3.0])},
            "'rating' of a review log must be one-dimensional",
        ),
        ({**arrays(), "kind": np.array([1, 1])}, "equal lengths"),
    ],
)
def test_what_is_no_review_log_is_refused(columns: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        log.make(columns)


def test_validate_names_the_column_with_the_wrong_dtype() -> None:
    frame = log.make(arrays()).astype({"rating": "int64"})
    with pytest.raises(ValueError, match="'rating' of a review log must be int8, not int64"):
        log.validate(frame)
    with pytest.raises(ValueError, match="needs the column 'review_time'"):
        log.validate(pd.DataFrame())


def test_validate_refuses_a_card_without_a_name() -> None:
    with pytest.raises(ValueError, match="no entry in card_names"):
        log.make(arrays(card_id=[1]), card_names=["only one"])

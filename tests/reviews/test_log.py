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
    made = log.make(arrays(factor=[2500], duration=[4000], interval=[-600], last_interval=[1], day=[3]))
    assert {name: str(made[name].dtype) for name in made} == {
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
    assert [made[name][0] for name in made] == [1_700_000_000_000, 7, 3, 1, 4000, 2500, -600, 1, 3]


def test_values_outside_a_dtype_are_clipped_not_wrapped() -> None:
    made = log.make(arrays(rating=[300], kind=[-300], interval=[2**40]))
    assert [made[name][0] for name in ("rating", "kind", "interval")] == [127, -128, 2**31 - 1]


def test_arrays_of_the_right_dtype_are_not_copied() -> None:
    columns = {name: np.array(values, dtype=log.DTYPES[name]) for name, values in ROW.items()}
    made = log.make(columns)
    assert np.shares_memory(made["review_time"], columns["review_time"])


def test_a_data_frame_of_a_log_is_a_copy() -> None:
    values = {name: np.array(values, dtype=log.DTYPES[name]) for name, values in ROW.items()}
    for array in values.values():
        array.flags.writeable = False
    made = log.make(values)
    frame = made.to_pandas()
    frame.loc[0, "rating"] = 1
    frame.loc[0, "card_id"] = 8
    assert (made["rating"][0], made["card_id"][0]) == (3, 7)


def test_card_names_are_kept_beside_the_table() -> None:
    made = log.make(arrays(card_id=[0]), card_names=["deutsch-1"])
    assert made.card_names == ("deutsch-1",)
    assert made.rows(np.array([False])).card_names == ("deutsch-1",)


def test_rows_by_mask_and_by_number() -> None:
    made = log.make({name: np.array([*values, *values]) for name, values in arrays(card_id=[5]).items()})
    made = log.make({**made.arrays, "rating": np.array([1, 4])})
    assert made.rows(np.array([False, True]))["rating"].tolist() == [4]
    assert made.rows(np.array([1, 0, 1]))["rating"].tolist() == [4, 1, 4]
    assert len(made) == 2
    assert len(made.rows(np.array([], dtype=np.int64))) == 0


def test_a_data_frame_gives_the_same_log_and_back() -> None:
    frame = pd.DataFrame(arrays(factor=[2500]))
    made = log.make(frame)
    assert made["rating"].dtype == np.int8
    pd.testing.assert_frame_equal(made.to_pandas(), frame.astype({name: made[name].dtype for name in made}))


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


def test_more_than_one_dimension_is_refused() -> None:
    square = np.zeros((1, 1), dtype=np.int64)
    with pytest.raises(ValueError, match="'card_id' of a review log must be one-dimensional"):
        log.make({**arrays(), "card_id": square})


def test_a_card_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no entry in card_names"):
        log.make(arrays(card_id=[1]), card_names=["only one"])

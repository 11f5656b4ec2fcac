"""The review log: one table of answers, whatever file it was read from.

=============  =====  ==========================================================================
column         dtype  meaning
=============  =====  ==========================================================================
review_time    int64  time of the answer, milliseconds since 1970 UTC (the revlog's ``id``)
card_id        int64  the card
rating         int8   the button: 1 Again, 2 Hard, 3 Good, 4 Easy; 0 = no answer
kind           int8   the revlog's ``type``: 0 learning, 1 review, 2 relearning, 3 filtered,
                      4 manual, 5 rescheduled
duration       int32  optional: milliseconds taken to answer
factor         int32  optional: the revlog's ``factor`` in permille, 0 = none
interval       int32  optional: the revlog's ``ivl``, days if > 0, seconds if < 0
last_interval  int32  optional: the revlog's ``lastIvl``, as ``interval``
day            int32  optional: a day number that the file itself gives; it replaces the day boundary
=============  =====  ==========================================================================

Ratings and kinds outside these ranges are kept: whoever counts rows decides what they mean. Without a
``factor`` it is unknown whether a filtered row was a preview, or a manual row a reset: filtered rows then
count and manual rows reset nothing.

Where a file names its cards by text, ``card_id`` is 0, 1, ... in order of first appearance and the names
are kept in ``log.attrs["card_names"]``, a list of str.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LEARNING: Final = 0
REVIEW: Final = 1
RELEARNING: Final = 2
FILTERED: Final = 3
MANUAL: Final = 4
RESCHEDULED: Final = 5

REQUIRED: Final[dict[str, type[np.signedinteger[Any]]]] = {
    "review_time": np.int64,
    "card_id": np.int64,
    "rating": np.int8,
    "kind": np.int8,
}
OPTIONAL: Final[dict[str, type[np.signedinteger[Any]]]] = {
    "duration": np.int32,
    "factor": np.int32,
    "interval": np.int32,
    "last_interval": np.int32,
    "day": np.int32,
}
DTYPES: Final = {**REQUIRED, **OPTIONAL}


def make(columns: Mapping[str, NDArray[Any]], *, card_names: Sequence[str] | None = None) -> pd.DataFrame:
    """A review log from integer arrays of equal length [n_rows].

    ``columns`` maps column names of the table above to arrays of any integer dtype; values outside a
    column's dtype are clipped to its ends. Arrays that already have the right dtype are not copied.
    Raises ValueError for a missing or unknown column, an array of another kind, or unequal lengths.
    """
    _check_names(list(columns))
    sized = {name: _clipped(name, columns[name]) for name in DTYPES if name in columns}
    if len({len(values) for values in sized.values()}) > 1:
        raise ValueError("the columns of a review log must have equal lengths")
    frame = pd.DataFrame(sized, copy=False)
    if card_names is not None:
        frame.attrs["card_names"] = list(card_names)
    return validate(frame)


def arrays(frame: pd.DataFrame) -> dict[str, NDArray[Any]]:
    """The columns of a review log by their names, not copied."""
    return {str(name): column.to_numpy() for name, column in frame.items()}


def validate(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame itself, if its columns and dtypes are those of a review log; ValueError says what is not."""
    _check_names([str(name) for name in frame.columns])
    for name in frame.columns:
        if frame[name].dtype != np.dtype(DTYPES[name]):
            raise ValueError(
                f"column {name!r} of a review log must be {np.dtype(DTYPES[name]).name}, "
                f"not {frame[name].dtype}"
            )
    names = frame.attrs.get("card_names")
    if names is not None and len(frame):
        ids = frame["card_id"].to_numpy()
        if ids.min() < 0 or ids.max() >= len(names):
            raise ValueError("a card_id of the review log has no entry in card_names")
    return frame


def _check_names(names: list[str]) -> None:
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise ValueError(f"a review log needs the column {missing[0]!r}")
    unknown = [name for name in names if name not in DTYPES]
    if unknown:
        raise ValueError(f"a review log has no column {unknown[0]!r}")
    if len(set(names)) != len(names):
        raise ValueError("a column of the review log occurs twice")


def _clipped(name: str, values: NDArray[Any]) -> NDArray[np.signedinteger[Any]]:
    dtype = DTYPES[name]
    values = np.asarray(values)
    if values.dtype == dtype:
        return values
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ValueError(f"column {name!r} of a review log must be one-dimensional integers")
    ends = np.iinfo(dtype)
    clipped: NDArray[np.signedinteger[Any]] = np.clip(values, ends.min, ends.max).astype(dtype)
    return clipped

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
are in ``card_names``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fsrs_opt.reviews.columns import Columns

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True, eq=False)
class ReviewLog(Columns):
    """A review log. card_names: the name of card 0, 1, ... where the file had names in place of numbers."""

    card_names: tuple[str, ...] | None = None


def make(
    columns: Mapping[str, NDArray[Any]] | pd.DataFrame, *, card_names: Sequence[str] | None = None
) -> ReviewLog:
    """A review log from integer columns of equal length [n_rows].

    ``columns`` maps column names of the table above to arrays of any integer dtype (a DataFrame does too);
    values outside a column's dtype are clipped to its ends. Arrays that already have the right dtype are not
    copied. Raises ValueError for a missing or unknown column, an array of another kind, unequal lengths, and
    a card without a name where there are names.
    """
    _check_names([str(name) for name in columns])
    sized = {name: _clipped(name, np.asarray(columns[name])) for name in DTYPES if name in columns}
    if len({len(values) for values in sized.values()}) > 1:
        raise ValueError("the columns of a review log must have equal lengths")
    if card_names is None:
        return ReviewLog(sized)
    ids = sized["card_id"]
    if len(ids) and (ids.min() < 0 or ids.max() >= len(card_names)):
        raise ValueError("a card_id of the review log has no entry in card_names")
    return ReviewLog(sized, tuple(card_names))


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
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ValueError(f"column {name!r} of a review log must be one-dimensional integers")
    if values.dtype == dtype:
        return values
    ends = np.iinfo(dtype)
    clipped: NDArray[np.signedinteger[Any]] = np.clip(values, ends.min, ends.max).astype(dtype)
    return clipped

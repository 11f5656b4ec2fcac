"""Raw columns of a table of reviews -> review log.

A raw column is int64 [n], or text [n] where a file holds anything but whole numbers: blanks, names and such.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fsrs_opt.reviews import log
from fsrs_opt.reviews.order import sort_with_places
from fsrs_opt.sources.times import to_milliseconds
from fsrs_opt.sources.values import BadValueError, Int64, blanks, optional_integers, whole_numbers

if TYPE_CHECKING:
    from fsrs_opt.sources.values import RawColumn

    Raw = Mapping[str, RawColumn]

# States of FSRS-Optimizer and of the research data set: 0 new, 1 learning, 2 review, 3 relearning,
# 4 filtered, 5 manual. An unknown state becomes an unknown kind, which the histories count.
_KIND_OF_STATE: Final = np.array(
    [log.LEARNING, log.LEARNING, log.REVIEW, log.RELEARNING, log.FILTERED, log.MANUAL], dtype=np.int64
)
_UNKNOWN_KIND: Final = 127
_CANONICAL_INTEGER: Final = r"(?:0|-?[1-9][0-9]{0,17})"  # fits int64, and has no other spelling
_DAY_MS: Final = 86_400_000
_DAY_ZERO_MS: Final = 946_684_800_000  # made-up times count from 2000-01-01, so that they read as times
_HOUR_MS: Final = 3_600_000


def to_log(form: str, raw: Raw, columns: str) -> tuple[log.ReviewLog, tuple[str, ...]]:
    """The review log, rows in the order of the file, and notes for the user.

    form: a key of `tables.FORMS`, whose columns `raw` must have. columns: "training" or "all".
    BadValueError for the first value that cannot be read.
    """
    notes: list[str] = []
    id_column = "cid" if form == "revlog" else "card_id"
    card_id, names = _card_ids(raw[id_column], id_column)
    found: dict[str, NDArray[Any]] = {"card_id": card_id}
    own = form == "revlog" or _present(raw, "type")
    if form == "research":
        found["rating"] = _ratings(raw, "rating", any_number=False)
        found["day"], found["review_time"] = _research_days(raw, card_id, notes)
    elif form == "revlog":
        found["review_time"] = whole_numbers(raw["id"], "id")
        found["rating"] = _ratings(raw, "ease", any_number=True)
    else:
        found["review_time"] = to_milliseconds(raw["review_time"], "review_time", notes, any_time=own)
        found["rating"] = _ratings(raw, "review_rating", any_number=own)
    found["kind"] = _kinds(raw, found, notes)
    optional = {"factor": "factor"}
    if columns == "all":
        duration = {"revlog": "time", "research": "duration"}.get(form, "review_duration")
        optional |= {duration: "duration", "ivl": "interval", "lastivl": "last_interval"}
    for name, target in optional.items():
        if _present(raw, name):
            found[target] = optional_integers(raw[name], name, notes)
    return log.make(found, card_names=names), tuple(notes)


def _present(raw: Raw, name: str) -> bool:
    """Is there such a column with anything in it?"""
    return name in raw and not blanks(raw[name]).all()


def _card_ids(column: RawColumn, name: str) -> tuple[Int64, list[str] | None]:
    if isinstance(column, np.ndarray):
        return column, None
    import pandas as pd

    blank = np.flatnonzero(blanks(column))
    if len(blank):
        raise BadValueError(int(blank[0]), name, "the id is blank")
    if column.str.fullmatch(_CANONICAL_INTEGER).all():
        return whole_numbers(pd.to_numeric(column).to_numpy(dtype=np.int64), name), None
    codes, unique = pd.factorize(column)
    return codes.astype(np.int64), [str(each) for each in unique]


def _ratings(raw: Raw, name: str, *, any_number: bool) -> Int64:
    """Buttons. any_number: the file has the revlog's own rows, whose odd values are counted later on."""
    values = whole_numbers(raw[name], name)
    bad = np.flatnonzero((values < 0) | (values > 4))
    if len(bad) and not any_number:
        raise BadValueError(int(bad[0]), name, f"{values[bad[0]]} is no rating (1 to 4, or 0 for none)")
    return values


def _kinds(raw: Raw, found: Mapping[str, NDArray[Any]], notes: list[str]) -> Int64:
    """The revlog's `type` where there is one, else from the state, else from the order of a card's rows."""
    kinds = np.full(len(found["card_id"]), -1, dtype=np.int64)
    unset = np.ones(len(kinds), dtype=bool)
    for name in ("type", "review_state", "state"):
        if not _present(raw, name) or not unset.any():
            continue
        blank = blanks(raw[name])
        values = whole_numbers(raw[name], name, blank=0)
        if name != "type":
            known = (values >= 0) & (values < len(_KIND_OF_STATE))
            values = np.where(known, _KIND_OF_STATE[np.where(known, values, 0)], _UNKNOWN_KIND)
        fill = unset & ~blank
        kinds[fill] = values[fill]
        unset &= blank
    if unset.any():
        first = _first_of_card(found["card_id"], found["review_time"])
        kinds[unset] = np.where(first, log.LEARNING, log.REVIEW)[unset]
        rows = "The file does not" if unset.all() else f"{int(unset.sum())} rows do not"
        notes.append(f"{rows} say what kind of review a row is: a card's first row was taken to start it.")
    return kinds


def _first_of_card(card_id: NDArray[Any], review_time: NDArray[Any]) -> NDArray[np.bool_]:
    """Which row is its card's earliest (of equal times the one that comes first in the file)."""
    order = np.lexsort((review_time, card_id))
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = card_id[order[1:]] != card_id[order[:-1]]
    first = np.zeros(len(order), dtype=bool)
    first[order[starts]] = True
    return first


def _research_days(raw: Raw, card_id: Int64, notes: list[str]) -> tuple[Int64, Int64]:
    """Day numbers and made-up review times from day offsets; the file's rows are in the order of the answers.

    Negative steps between a card's days are taken as 0 and counted. The times put every row on its day, after
    the rows before it, so that sorting by time gives back the order of the file for every card.
    """
    offset = whole_numbers(raw["day_offset"], "day_offset")
    far = np.flatnonzero(np.abs(offset) > 1_000_000)
    if len(far):
        raise BadValueError(int(far[0]), "day_offset", f"{offset[far[0]]} is no day number")
    sorted_card, order = sort_with_places(card_id)
    starts = np.ones(len(order), dtype=bool)
    np.not_equal(sorted_card[1:], sorted_card[:-1], out=starts[1:])
    ordered = offset[order]
    step = np.diff(ordered, prepend=ordered[:1])
    negative = step < 0
    if _present(raw, "elapsed_days"):
        # -1 in a card's first row means that there is no review before it
        negative |= whole_numbers(raw["elapsed_days"], "elapsed_days", blank=0)[order] < 0
    negative &= ~starts
    if negative.any():
        notes.append(f"{int(negative.sum())} negative elapsed days were taken as 0.")
    step[negative] = 0
    total = np.cumsum(np.where(starts, 0, step))
    card = np.cumsum(starts) - 1
    day = np.empty(len(order), dtype=np.int64)
    day[order] = ordered[starts][card] + total - total[starts][card]

    sorted_day, by_day = sort_with_places(day)
    position = np.arange(len(day))
    new_day = np.ones(len(day), dtype=bool)
    np.not_equal(sorted_day[1:], sorted_day[:-1], out=new_day[1:])
    within = position - np.maximum.accumulate(np.where(new_day, position, 0))
    review_time = np.empty(len(day), dtype=np.int64)
    review_time[by_day] = _DAY_ZERO_MS + sorted_day * _DAY_MS + _HOUR_MS + within
    return day, review_time

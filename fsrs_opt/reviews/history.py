"""Which rows of a card count, and the days between them: the review log becomes one history per card.

The rules are Anki's own. A card's history starts at the first row of its last run of learning steps, so that
a card that was reset, or whose first learning step is missing, never shows the model a state it was not in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.reviews.log import FILTERED, LEARNING, MANUAL, RESCHEDULED, ReviewLog, make
from fsrs_opt.reviews.order import sort_with_places

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]

REASONS = (
    "cramming",
    "not_rated",
    "unknown_kind",
    "unknown_rating",
    "before_learning_start",
    "no_learning_start",
    "before_cutoff",
)
"""Why a row of the log is not in any history; each row that is left out has exactly one reason.

cramming: a preview in a filtered deck (kind 3, factor 0). not_rated: manual and rescheduled rows, and rows
without a button. unknown_kind, unknown_rating: values that Anki does not define. The other three speak of
rows that are usable in themselves: before_learning_start is what came before the start of the card's history;
no_learning_start and before_cutoff are all usable rows of the cards that are left out as a whole.
"""

_CRAMMING, _RESET, _USABLE, _LEARNING = (np.uint8(1 << bit) for bit in range(4))
_CHUNK = 1 << 20  # rows given to `day_of` at once: bounds its temporaries on large logs


@dataclass(frozen=True)
class Histories:
    """Reviews that count, card after card (ascending by card id), each card's in the order of time.

    card_id: int64 [n_cards]. offsets: int64 [n_cards + 1]; the reviews of card i are
    `offsets[i]:offsets[i + 1]`, at least one. review_time: int64 [n_reviews], ms since 1970 UTC.
    rating: int8 [n_reviews], 1..4. delta_t: int32 [n_reviews], days since the card's previous review, 0 for
    the first. left_out: rows of the log by reason (`REASONS`). rows, cards_in_log: the size of the log;
    `rows == n_reviews + sum(left_out.values())` and `cards_in_log == n_cards + sum(cards_left_out.values())`.
    negative_delta_t: days between reviews in the whole log that were negative and taken as 0.
    """

    card_id: Array
    offsets: Array
    review_time: Array
    rating: Array
    delta_t: Array
    left_out: dict[str, int]
    cards_left_out: dict[str, int]
    rows: int
    cards_in_log: int
    negative_delta_t: int

    @property
    def n_cards(self) -> int:
        return len(self.card_id)

    @property
    def n_reviews(self) -> int:
        return len(self.rating)


def histories(
    log: ReviewLog | pd.DataFrame,
    day_of: Callable[[Array], Array],
    *,
    ignore_before_ms: int | Callable[[Array], Array] = 0,
) -> Histories:
    """The history of every card of a review log that has one.

    log: a review log, or a DataFrame with the columns of one (see `fsrs_opt.reviews.log`; ValueError where
    they are others), rows in any order; the result is the same for all of them.
    day_of: review times [n] in ms to day numbers [n]; not called when the log has a `day` column of its own.
    ignore_before_ms: cards whose history starts before this time are left out as a whole; or a function of
    card ids [n] that gives such a time [n] for each card.
    """
    columns = log if isinstance(log, ReviewLog) else make(log)
    rows = len(columns)
    what, left_out = _row_classes(columns)
    card_id, order = _by_card_and_time(columns)
    if order is not None:
        what = what[order]
    first_of_card = np.ones(rows, dtype=bool)
    np.not_equal(card_id[1:], card_id[:-1], out=first_of_card[1:])
    all_cards = card_id[first_of_card]
    del card_id
    card = np.cumsum(first_of_card, dtype=np.int32)
    card -= 1
    del first_of_card
    n_cards = len(all_cards)

    start = _learning_starts(card, n_cards, what)
    has_start = start >= 0
    trained = has_start.copy()
    since = ignore_before_ms(all_cards[has_start]) if callable(ignore_before_ms) else ignore_before_ms
    trained[has_start] = columns["review_time"][_places(order, start[has_start])] >= since

    # A usable row is kept from its card's start on; `n_cards`-long tables are looked up per usable row only.
    index = np.flatnonzero(what & _USABLE)
    del what
    card = card[index]
    card_trained, late_enough = trained[card], index >= start[card]
    left_out["no_learning_start"] = int(np.count_nonzero(~has_start[card]))
    left_out["before_cutoff"] = int(np.count_nonzero(~card_trained)) - left_out["no_learning_start"]
    left_out["before_learning_start"] = int(np.count_nonzero(card_trained & ~late_enough))
    keep = card_trained & late_enough
    del card_trained, late_enough
    index, card = index[keep], card[keep]
    del keep

    offsets = np.zeros(int(np.count_nonzero(trained)) + 1, dtype=np.int64)
    np.cumsum(np.bincount(card, minlength=n_cards)[trained], out=offsets[1:])
    del card
    origin = _places(order, index)
    del index, order
    time, rating = columns["review_time"][origin], columns["rating"][origin]
    days = columns["day"][origin] if "day" in columns else _days(time, day_of)
    del origin
    delta_t, negative = _delta_t(days, offsets)
    return Histories(
        card_id=all_cards[trained],
        offsets=offsets,
        review_time=time,
        rating=rating,
        delta_t=delta_t,
        left_out={reason: left_out[reason] for reason in REASONS},
        cards_left_out={
            "no_learning_start": int(np.count_nonzero(~has_start)),
            "before_cutoff": int(np.count_nonzero(has_start & ~trained)),
        },
        rows=rows,
        cards_in_log=n_cards,
        negative_delta_t=negative,
    )


def subset(h: Histories, card_mask: Array) -> Histories:
    """The histories of some cards only. card_mask: bool [n_cards].

    The reviews and cards that go are counted as "not_selected"; the other counts stay those of the whole log.
    """
    card_mask = np.asarray(card_mask, dtype=bool)
    if card_mask.shape != h.card_id.shape:
        raise ValueError(f"card_mask has shape {card_mask.shape}, the histories have {h.n_cards} cards")
    lengths = np.diff(h.offsets)
    rows = np.repeat(card_mask, lengths)
    offsets = np.zeros(int(np.count_nonzero(card_mask)) + 1, dtype=np.int64)
    np.cumsum(lengths[card_mask], out=offsets[1:])

    def counted(counts: dict[str, int], more: int) -> dict[str, int]:
        return {**counts, "not_selected": counts.get("not_selected", 0) + more}

    return Histories(
        card_id=h.card_id[card_mask],
        offsets=offsets,
        review_time=h.review_time[rows],
        rating=h.rating[rows],
        delta_t=h.delta_t[rows],
        left_out=counted(h.left_out, h.n_reviews - int(offsets[-1])),
        cards_left_out=counted(h.cards_left_out, h.n_cards - len(offsets) + 1),
        rows=h.rows,
        cards_in_log=h.cards_in_log,
        negative_delta_t=h.negative_delta_t,
    )


def _places(order: Array | None, rows: Array) -> Array:
    """Where rows that are counted in the order of cards are in the log."""
    return rows if order is None else order[rows]


def _by_card_and_time(columns: ReviewLog) -> tuple[Array, Array | None]:
    """The card ids in the order of (card_id, review_time), int64 [n], and the row numbers in that order, None
    when the log is in it already.

    Anki's row ids are unique, other files may hold several rows of a card at one time: their contents decide
    among them, so that the order of the file never matters. (A learning row comes before a review of the same
    moment, a review before the relearning that it causes.)
    """
    card, time = columns["card_id"], columns["review_time"]
    same_card, later = card[1:] == card[:-1], time[1:] > time[:-1]
    if bool(np.all((card[1:] > card[:-1]) | (same_card & later))):
        return card, None
    in_time_order = bool(np.all(time[1:] >= time[:-1]))  # as a revlog usually is: one sort is enough
    all_different = in_time_order and bool(np.all(later))
    del same_card, later
    if in_time_order:
        sorted_card, order = sort_with_places(card)
    else:
        _, by_time = sort_with_places(time)
        sorted_card, order = sort_with_places(card[by_time])
        order = by_time[order]
    if all_different:
        return sorted_card, order

    tie = sorted_card[1:] == sorted_card[:-1]
    sorted_time = time[order]
    tie &= sorted_time[1:] == sorted_time[:-1]
    del sorted_time
    if tie.any():
        tied = np.zeros(len(order), dtype=bool)
        tied[1:] = tie
        tied[:-1] |= tie
        among = order[tied]
        keys = [columns[name][among] for name in ("day", "factor", "rating", "kind") if name in columns]
        order[tied] = among[np.lexsort((*keys, time[among], card[among]))]
    return sorted_card, order


def _row_classes(columns: ReviewLog) -> tuple[Array, dict[str, int]]:
    """What each row is, uint8 [n] of bits: `_CRAMMING`, `_RESET`, `_USABLE` (rated and not cramming),
    `_LEARNING` (a usable row of kind 0); and the rows that are not usable, counted by the first reason that
    applies."""
    kind, rating = columns["kind"], columns["rating"]
    if "factor" in columns:
        no_factor = columns["factor"] == 0
        cramming, reset = (kind == FILTERED) & no_factor, (kind == MANUAL) & no_factor
        del no_factor
    else:  # not known: filtered rows count, manual rows are no resets
        cramming, reset = np.zeros(len(kind), dtype=bool), np.zeros(len(kind), dtype=bool)
    usable = ~cramming
    left_out = {"cramming": int(np.count_nonzero(cramming))}
    for reason, applies in (
        ("unknown_kind", (kind < LEARNING) | (kind > RESCHEDULED)),
        ("not_rated", (kind == MANUAL) | (kind == RESCHEDULED) | (rating == 0)),
        ("unknown_rating", (rating < 0) | (rating > 4)),
    ):
        applies &= usable
        left_out[reason] = int(np.count_nonzero(applies))
        usable &= ~applies
    what = cramming * _CRAMMING
    for rows, bit in ((reset, _RESET), (usable, _USABLE), (usable & (kind == LEARNING), _LEARNING)):
        what |= rows * bit
    return what, left_out


def _learning_starts(card: Array, n_cards: int, what: Array) -> Array:
    """Per card the row where its history starts, int64 [n_cards], -1 where there is none.

    The rule is a walk from a card's newest row backwards that skips cramming, takes every learning row as the
    candidate start, and ends at the first other row once there is a candidate, or at a reset in any case.
    So the walk ends inside or just before the card's last run of learning rows: the start is the first row of
    that run, unless a reset lies behind it. (A reset that lies before the run, or between two runs, ends the
    walk where the run ends it anyway.)
    """
    walked = np.flatnonzero(what & _CRAMMING == 0)
    card_walked, learning_walked = card[walked], what[walked] & _LEARNING != 0
    opens_run = learning_walked.copy()
    opens_run[1:] &= ~(learning_walked[:-1] & (card_walked[1:] == card_walked[:-1]))
    del learning_walked
    runs = walked[opens_run]
    start, last_reset = np.full(n_cards, -1, dtype=np.int64), np.full(n_cards, -1, dtype=np.int64)
    # Rows ascend, and of repeated indices numpy's assignment leaves the last value: the newest run or reset.
    start[card_walked[opens_run]] = runs
    resets = np.flatnonzero(what & _RESET)
    last_reset[card[resets]] = resets
    start[last_reset > start] = -1
    return start


def _days(time: Array, day_of: Callable[[Array], Array]) -> Array:
    days = np.empty(len(time), dtype=np.int64)
    for begin in range(0, len(time), _CHUNK):
        days[begin : begin + _CHUNK] = day_of(time[begin : begin + _CHUNK])
    return days


def _delta_t(days: Array, offsets: Array) -> tuple[Array, int]:
    """Days since the card's previous review, int32 [n], and how many were negative and taken as 0."""
    delta_t = np.zeros(len(days), dtype=np.int64)
    np.subtract(days[1:], days[:-1], out=delta_t[1:], dtype=np.int64)
    delta_t[offsets[:-1]] = 0
    negative = int(np.count_nonzero(delta_t < 0))
    return np.clip(delta_t, 0, np.iinfo(np.int32).max).astype(np.int32), negative

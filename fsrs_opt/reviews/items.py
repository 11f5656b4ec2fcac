"""Items: every review on a later day than the one before it, with the history that predicts it.

Reviews on the same day (delta_t 0) change a card's memory but are never predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.reviews.history import Histories
from fsrs_opt.reviews.order import sort_with_places

Array = npt.NDArray[Any]

# The outlier filter's constants, those of fsrs-rs.
_DROP_AT_LEAST, _DROP_SHARE = 20, 20  # drop small groups up to max(20, a twentieth) of a first rating's items
_MIN_GROUP = 6
_MAX_DELTA_T, _MAX_DELTA_T_EASY = 100, 365
_EASY = 4


@dataclass(frozen=True)
class Items:
    """All items of the histories in the order of (review_time, card id); every array is [n_items].

    review: int64, index into the reviews of the histories. card: int64, index of the card there.
    delta_t: int32, days since the card's previous review, > 0. label: bool, recalled (rating > 1).
    first_rating: int8, the card's first rating, 1..4. first_long_delta: int32, the card's first delta_t > 0.
    long_term_count: int32, reviews with delta_t > 0 up to and with this one. lapses: int32, reviews before
    this one with rating 1 and delta_t > 0.
    """

    review: Array
    card: Array
    delta_t: Array
    label: Array
    first_rating: Array
    first_long_delta: Array
    long_term_count: Array
    lapses: Array

    def __len__(self) -> int:
        return len(self.review)


def items(h: Histories) -> Items:
    """The items of the histories. Their counts refer to the whole history, whatever is selected later."""
    review = np.flatnonzero(h.delta_t > 0)
    card = np.repeat(np.arange(h.n_cards), np.diff(h.offsets))[review]
    delta_t, rating = h.delta_t[review], h.rating[review]

    # Still card after card: the position of each item's card's first item turns running counts into per-card
    # counts.
    opens_card = np.ones(len(review), dtype=bool)
    np.not_equal(card[1:], card[:-1], out=opens_card[1:])
    first = np.flatnonzero(opens_card)[np.cumsum(opens_card) - 1]
    lapses_before = np.cumsum(rating == 1) - (rating == 1)
    in_card_order = {
        "review": review,
        "card": card,
        "delta_t": delta_t,
        "label": rating > 1,
        "first_rating": h.rating[h.offsets[:-1]][card],
        "first_long_delta": delta_t[first],
        "long_term_count": (np.arange(1, len(review) + 1) - first).astype(np.int32),
        "lapses": (lapses_before - lapses_before[first]).astype(np.int32),
    }
    del first, lapses_before, rating, opens_card

    # Cards ascend by id, so a stable sort by time leaves equal times in the order of card ids.
    _, order = sort_with_places(h.review_time[review])
    return Items(**{name: values[order] for name, values in in_card_order.items()})


def select(items: Items, which: slice | Array) -> Items:
    """Some of the items: a slice, a bool mask [n_items] or an array of indices."""
    return Items(**{field.name: getattr(items, field.name)[which] for field in fields(items)})


def recency_weights(n: int) -> npt.NDArray[np.float64]:
    """Weights of n items in time order, float64 [n]: 0.25 for the oldest to 1 for the newest (fsrs-rs)."""
    weights: npt.NDArray[np.float64] = 0.25 + 0.75 * (np.arange(n) / max(1, n - 1)) ** 3
    return weights


def outlier_mask(items: Items) -> npt.NDArray[np.bool_]:
    """Which items training keeps, bool [n_items] (fsrs-rs's filter).

    Judged on the items with a long-term count of 1, grouped by first rating and delta_t: the rarest delays
    go, and of the rest the groups that are small or long. What goes is a pair (first rating, first long-term
    delta_t), with all items of its cards, the later ones too.
    """
    pair = items.first_rating.astype(np.int64) << 32 | items.first_long_delta
    groups, size = np.unique(pair[items.long_term_count == 1], return_counts=True)
    rating, delta_t = groups >> 32, groups & 0xFFFFFFFF
    dropped = np.zeros(len(groups), dtype=bool)
    for each in range(1, 5):
        mine = np.flatnonzero(rating == each)
        smallest_first = mine[np.lexsort((delta_t[mine], size[mine]))]
        # Sizes ascend: once a group no longer fits under the limit, none of the later ones does.
        limit = max(_DROP_AT_LEAST, int(size[mine].sum()) // _DROP_SHARE)
        longest = _MAX_DELTA_T_EASY if each == _EASY else _MAX_DELTA_T
        sizes = size[smallest_first]
        dropped[smallest_first] = (
            (np.cumsum(sizes) < limit) | (sizes < _MIN_GROUP) | (delta_t[smallest_first] > longest)
        )
    gone = groups[dropped]
    if not len(gone):
        return np.ones(len(items), dtype=bool)
    kept: npt.NDArray[np.bool_] = gone[np.searchsorted(gone, pair) % len(gone)] != pair
    return kept

"""The training set: items with their weights, and its form as whole cards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.model import native
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.kernel import choose
from fsrs_opt.reviews.history import Histories
from fsrs_opt.reviews.items import Items, items, outlier_mask, recency_weights, select

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TrainingSet:
    """Items in time order with the histories behind them.

    weights: float64 [n_items], by recency. kept: bool [n_items], what the outlier filter leaves; it
    serves the pretrain stage and the classic recipe.
    """

    histories: Histories
    items: Items
    weights: npt.NDArray[np.float64]
    kept: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.items)


def training_set(histories: Histories, chosen: Items | None = None) -> TrainingSet:
    """All items of `histories`, or the `chosen` ones (in time order), weighted by recency."""
    chosen = items(histories) if chosen is None else chosen
    return TrainingSet(histories, chosen, recency_weights(len(chosen)), outlier_mask(chosen))


def kept_by_filter(data: TrainingSet) -> TrainingSet:
    """The items that the outlier filter leaves, with the recency weights of their own order."""
    chosen = select(data.items, data.kept)
    n = len(chosen)
    return TrainingSet(data.histories, chosen, recency_weights(n), np.ones(n, dtype=bool))


def windowed_batch(
    data: TrainingSet,
    *,
    dtype: str = "float64",
    device: str = "cpu",
    kernel: str | None = None,
) -> WindowedBatch:
    """The training set as whole cards. Reviews after a card's last item have no say and are left away."""
    histories, chosen = data.histories, data.items
    make = native.whole_cards if choose(kernel, device) == "native" else whole_cards
    offsets, rating, delta_t, weight = make(
        histories.offsets,
        histories.rating,
        histories.delta_t,
        chosen.review,
        chosen.card,
        data.weights,
    )
    return WindowedBatch(offsets, rating, delta_t, weight, dtype=dtype, device=device, kernel=kernel)


def whole_cards(
    offsets: Array, rating: Array, delta_t: Array, review: Array, card: Array, weights: Array
) -> tuple[Array, Array, Array, Array]:
    """offsets, rating, delta_t and weight of a `WindowedBatch` of the cards that have items.

    Cards follow each other as their first items do, in time and not by their ids: sums must not depend on how
    cards are numbered. offsets [n_cards + 1], rating, delta_t [n_reviews]: histories. review, card, weights
    [n_items]: the items.
    """
    weight = np.zeros(len(rating))
    weight[review] = weights
    end = offsets[:-1].copy()  # of each card's reviews up to its last item
    np.maximum.at(end, card, review)
    _, first_item = np.unique(card, return_index=True)
    order = card[np.sort(first_item)]
    first = offsets[:-1][order]
    used = end[order] + 1 - first
    offsets = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(used, out=offsets[1:])
    source = np.repeat(first - offsets[:-1], used)
    source += np.arange(len(source))
    return offsets, rating.take(source), delta_t.take(source), weight.take(source)

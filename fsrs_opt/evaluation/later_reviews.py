"""The same question asked of time instead of cards: fitted to the past, who predicts what came next?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsrs_opt.evaluation.group_fits import Group, GroupFits
from fsrs_opt.evaluation.paired import PairedDifference, paired_difference
from fsrs_opt.evaluation.score import all_reviews, predict_items
from fsrs_opt.evaluation.time_series import N_SPLITS
from fsrs_opt.reviews.items import select
from fsrs_opt.reviews.splits import time_series_splits
from fsrs_opt.training.data import training_set


def gain_on_later_reviews(fits: GroupFits, groups: Sequence[Group]) -> PairedDifference | None:
    """Log loss of one set of parameters for all groups less that of one for each, on later reviews.

    Each group's items are cut by its own time (`reviews.splits`), for the decks of a collection are rarely
    of one age: the k-th fits, shared and separate, have seen the first k segments of every group and predict
    its next one. None where no group has enough items for splits.
    """
    data = fits.data
    batch = all_reviews(data)
    segment = np.zeros(len(data), dtype=np.int8)
    mine_of = {group: fits.items(group) for group in groups}
    for mine in mine_of.values():
        place = np.flatnonzero(mine)
        for k, (_, test) in enumerate(time_series_splits(len(place), N_SPLITS), start=1):
            segment[place[test]] = k

    everything = np.logical_or.reduce(list(mine_of.values()))
    shared, separate = np.full(len(data), np.nan), np.full(len(data), np.nan)
    for k in range(1, N_SPLITS + 1):
        for mine, predicted in ((everything, shared), *((mine, separate) for mine in mine_of.values())):
            past, now = mine & (segment < k), mine & (segment == k)
            if now.any():
                w = fits.fitter(training_set(data.histories, select(data.items, past))).parameters
                predicted[now] = predict_items(data, w, batch=batch)[now]
    tested = segment > 0
    items = data.items
    return paired_difference(items.label[tested], shared[tested], separate[tested], items.card[tested])

"""Outcomes drawn from known parameters on the schedule of a real log: every card keeps its days.

Also outcomes that memory has no part in: those of the log, shuffled.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from fsrs_opt.model.fsrs6 import forgetting_curve, initial_state, next_state
from fsrs_opt.model.parameters import D_MAX, D_MIN, S_MAX, S_MIN, FloatArray
from fsrs_opt.model.passes import make_steps
from fsrs_opt.reviews.history import Histories

FAR_FROM_DEFAULTS: FloatArray = np.array(
    [
        *(0.05, 0.6, 5.0, 30.0),
        *(5.2, 1.3, 1.9, 0.02),
        *(1.1, 0.35, 1.4),
        *(0.8, 0.12, 0.35, 1.0),
        *(0.35, 2.6),
        *(0.7, 0.3, 0.15),
        0.45,
    ]
)
"""A learner unlike the average: forgets hard cards at once and keeps easy ones long."""


def simulate(h: Histories, w: FloatArray, seed: int) -> Histories:
    """The histories with new ratings: a review on a later day is recalled with the chance that FSRS-6 with
    `w` gives it. Recalled, it keeps its rating (Good where that was Again); forgotten, it is rated Again.
    First and same-day ratings stay."""
    uniform = np.random.default_rng(seed).random(h.n_reviews)
    steps = make_steps(h.offsets, h.delta_t, h.rating, np.zeros(h.n_reviews), dtype="float64", device="cpu")
    parameters = torch.tensor(w, dtype=torch.float64)
    rating = h.rating.copy()
    S = D = torch.zeros(0)
    for k in range(len(steps)):
        t, button, _ = steps.step(k)
        if k == 0:
            S, D = initial_state(button, parameters)
            continue
        S, D = S[: len(t)].clamp(S_MIN, S_MAX), D[: len(t)].clamp(D_MIN, D_MAX)
        here = steps.source[steps.starts[k] : steps.starts[k + 1]]
        recalled = torch.from_numpy(uniform[here]) < forgetting_curve(t, S, parameters)
        answer = torch.where(recalled, torch.where(button > 1, button, 3.0), 1.0)
        button = torch.where(t > 0, answer, button)
        rating[here] = button.numpy().astype(np.int8)
        S, D = next_state(S, D, t, button, parameters)
    return replace(h, rating=rating)


def shuffled(h: Histories, seed: int) -> Histories:
    """The histories with the ratings of all later-day reviews shuffled among each other."""
    rating = h.rating.copy()
    later = np.flatnonzero(h.delta_t > 0)
    rating[later] = np.random.default_rng(seed).permutation(rating[later])
    return replace(h, rating=rating)


def some_cards(h: Histories, n_items: int, seed: int) -> Histories:
    """Random cards of the histories, so many that they hold about `n_items` items."""
    from fsrs_opt.reviews.history import subset

    order = np.random.default_rng(seed).permutation(h.n_cards)
    items_of_card = np.add.reduceat((h.delta_t > 0).astype(np.int64), h.offsets[:-1])
    taken = order[: int(np.searchsorted(np.cumsum(items_of_card[order]), n_items)) + 1]
    mask = np.zeros(h.n_cards, dtype=bool)
    mask[taken] = True
    return subset(h, mask)

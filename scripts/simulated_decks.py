"""Collections with decks: several review logs put together, or one log divided at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fsrs_opt.reviews.history import Histories

Units = npt.NDArray[np.int64]


def put_together(*logs: Histories) -> tuple[Histories, Units]:
    """One collection of several logs, with new card ids, and which log each card [n_cards] is of."""
    lengths = np.concatenate([np.diff(h.offsets) for h in logs])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def joined(name: str) -> npt.NDArray[np.generic]:
        return np.concatenate([getattr(h, name) for h in logs])

    whole = replace(
        logs[0],
        card_id=np.arange(len(lengths), dtype=np.int64),
        offsets=offsets,
        review_time=joined("review_time"),
        rating=joined("rating"),
        delta_t=joined("delta_t"),
    )
    return whole, np.repeat(np.arange(len(logs)), [h.n_cards for h in logs])


def divided(h: Histories, n_decks: int, seed: int) -> Units:
    """The cards [n_cards] dealt at random to so many decks."""
    return np.random.default_rng(seed).integers(0, n_decks, h.n_cards)

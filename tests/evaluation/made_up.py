"""Made-up collections with short histories, so that fits are quick."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from fsrs_opt.reviews.history import Histories

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))

from simulated_decks import divided, put_together
from simulated_outcomes import FAR_FROM_DEFAULTS, shuffled, simulate

__all__ = ["DAY_MS", "FAR_FROM_DEFAULTS", "divided", "put_together", "schedule", "shuffled", "simulate"]

DAY_MS = 86_400_000


def schedule(n_cards: int, seed: int, *, n_reviews: int = 7) -> Histories:
    """Cards learned one after another, each reviewed at growing intervals, some on the same day again.

    The ratings are drawn without any memory behind them; `simulate` gives them one.
    """
    rng = np.random.default_rng(seed)
    growth = rng.uniform(1.2, 3.0, (n_cards, n_reviews))
    growth[:, 0] = 1.0
    interval = np.minimum(rng.integers(1, 6, n_cards)[:, None] * np.cumprod(growth, axis=1), 300)
    delta_t = np.maximum(1, interval.astype(np.int64))
    delta_t[rng.random((n_cards, n_reviews)) < 0.1] = 0
    delta_t[:, 0] = 0
    learned = rng.integers(0, 200, n_cards)
    day = learned[:, None] + np.cumsum(delta_t, axis=1)
    rating = rng.choice([1, 2, 3, 4], (n_cards, n_reviews), p=[0.15, 0.1, 0.6, 0.15])
    place = np.arange(n_cards * n_reviews).reshape(n_cards, n_reviews)
    return Histories(
        card_id=np.arange(n_cards, dtype=np.int64),
        offsets=np.arange(n_cards + 1, dtype=np.int64) * n_reviews,
        review_time=(day * DAY_MS + place).ravel(),
        rating=rating.ravel().astype(np.int8),
        delta_t=delta_t.ravel().astype(np.int32),
        left_out={},
        cards_left_out={},
        rows=n_cards * n_reviews,
        cards_in_log=n_cards,
        negative_delta_t=0,
    )

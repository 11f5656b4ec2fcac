"""Items in the form that fsrs-rs takes. Knows nothing of fsrs_opt: it runs in the peers' Python too."""

from __future__ import annotations

from typing import Any

import numpy as np


def fsrs_rs_items(
    offsets: np.ndarray, rating: np.ndarray, delta_t: np.ndarray, review: np.ndarray, card: np.ndarray
) -> list[Any]:
    """The item of each `review` (index [n_items]) of its `card`: the card's reviews up to and with it.

    offsets [n_cards + 1]: card c owns reviews offsets[c]:offsets[c + 1]; rating, delta_t [n_reviews].
    """
    from fsrs_rs_python import FSRSItem, FSRSReview

    reviews = [FSRSReview(*one) for one in zip(rating.tolist(), delta_t.tolist(), strict=True)]
    first = offsets[card].tolist()
    return [FSRSItem(reviews[a : b + 1]) for a, b in zip(first, review.tolist(), strict=True)]

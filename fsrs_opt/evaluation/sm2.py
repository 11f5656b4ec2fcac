"""SM-2 as a predictor of recall, the way the field's benchmark (srs-benchmark) makes it one.

SM-2 gives intervals, not probabilities. It is read as promising 90 % at the end of its interval, with an
exponential forgetting curve: R = 0.9^(delta_t / interval).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fsrs_opt.reviews.history import Histories
from fsrs_opt.reviews.order import sort_with_places

FIRST_EASE, SMALLEST_EASE = 2.5, 1.3
FIRST_INTERVAL, SECOND_INTERVAL, LONGEST_INTERVAL = 1.0, 6.0, 36500.0  # days
TARGET = 0.9  # recall at the end of an interval


def sm2_retrievability(h: Histories) -> npt.NDArray[np.float64]:
    """SM-2's prediction before each review [n_reviews]; NaN where there is none (first and same-day reviews).

    Same-day reviews have no say, as in the benchmark's default setting. Per later review with the grade q =
    rating + 1 (2..5): q > 2 gives intervals of 1, 6, then the last interval times the ease; q = 2 starts
    again with 1 day. Then ease + 0.1 - (5 - q) (0.08 + 0.02 (5 - q)), at least 1.3; it starts at 2.5.
    Intervals are rounded to whole days (1..36500, after adding 0.01, as in the benchmark).
    """
    result = np.full(h.n_reviews, np.nan)
    used = h.delta_t > 0
    used[h.offsets[:-1]] = True
    source = np.flatnonzero(used)
    offsets = np.concatenate([[0], np.cumsum(used)])[h.offsets].astype(np.int64)
    rating, delta_t = h.rating[source], h.delta_t[source]
    # Longest card first: the cards that have a review k are the first of those that have a review k - 1.
    lengths = np.diff(offsets)
    _, longest_first = sort_with_places(-lengths)
    first = offsets[:-1][longest_first]
    interval = ease = successes = np.zeros(0)
    for k, shorter in enumerate(np.cumsum(np.bincount(lengths))[:-1].tolist()):
        n = len(lengths) - shorter
        review = first[:n] + k
        t, button = delta_t[review].astype(np.float64), rating[review].astype(np.float64)
        if k == 0:
            interval, ease, successes = np.zeros(n), np.full(n, FIRST_EASE), np.zeros(n)
        else:
            interval, ease, successes = interval[:n], ease[:n], successes[:n]
            result[source[review]] = TARGET ** (t / interval)
        recalled = button > 1
        grown = np.select(
            [~recalled | (successes == 0), successes == 1], [FIRST_INTERVAL, SECOND_INTERVAL], interval * ease
        )
        successes = np.where(recalled, successes + 1, 0.0)
        missing = 5 - (button + 1)
        ease = np.maximum(SMALLEST_EASE, ease + 0.1 - missing * (0.08 + missing * 0.02))
        interval = np.clip(np.rint(grown + 0.01), FIRST_INTERVAL, LONGEST_INTERVAL)
    return result

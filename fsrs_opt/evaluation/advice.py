"""Which data would help: what the verdict misses, and what the reviews tell least about."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.paired import PairedDifference

FloatArray = npt.NDArray[np.float64]

MIN_HELD_OUT, MIN_CARDS, MIN_OF_EACH_OUTCOME = 100, 20, 10
"""What an interval from cards needs to be trusted: held-out reviews, cards, reviews of the rarer outcome."""

_LOW_SHARE = 20.0  # percent
_TELLS_ABOUT: tuple[tuple[tuple[int, ...], str], ...] = (
    ((0,), "cards whose first answer is Again"),
    ((1,), "cards whose first answer is Hard"),
    ((2,), "cards whose first answer is Good"),
    ((3,), "cards whose first answer is Easy"),
    ((4, 5, 6), "cards with several reviews and different answers"),
    ((8, 9, 10), "cards recalled on several later days"),
    ((11, 12, 13, 14), "cards reviewed again after being forgotten"),
    ((15,), "reviews answered Hard"),
    ((16,), "reviews answered Easy"),
    ((17, 18, 19), "cards repeated on the same day"),
    ((20,), "reviews after both short and long intervals"),
)


def advice(
    decision: str,
    gain: PairedDifference | None,
    n_items: int,
    n_held_out: int,
    data_share: FloatArray | None,
) -> list[str]:
    """Which data would help, in sentences."""
    said = []
    if decision == "not enough data" and n_held_out < MIN_HELD_OUT:
        # a sixth of the items is never held out
        needed = max(1, math.ceil(MIN_HELD_OUT * 6 / 5) - n_items)
        said.append(f"About {needed} more reviews on a later day than the one before would allow a decision.")
    elif decision == "not enough data":
        said.append(
            "More reviews of more cards, at intervals at which you sometimes forget, would allow a decision."
        )
    elif decision == "keep" and gain is not None and gain.mean > 0 >= gain.low:
        more = n_items * (((gain.high - gain.mean) / gain.mean) ** 2 - 1)
        if more <= 3 * n_items:
            said.append(
                f"If the difference stays as it is, about {rough(more):,} more reviews would settle it."
            )
    if data_share is not None:
        share = [(float(np.nanmean(data_share[list(which)])), what) for which, what in _known(data_share)]
        least = [what for value, what in sorted(share)[:3] if value < _LOW_SHARE]
        if least:
            said.append(f"What your reviews tell least about yet: {_listed(least)}. More of them would help.")
    return said


def _known(data_share: FloatArray) -> list[tuple[tuple[int, ...], str]]:
    return [(which, what) for which, what in _TELLS_ABOUT if not np.isnan(data_share[list(which)]).all()]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def rough(number: float) -> int:
    """A number with two significant digits, at least 1: 1,234 is about 1,200."""
    whole = max(1, round(number))
    scale: int = 10 ** max(0, len(str(whole)) - 2)
    return round(whole / scale) * scale

"""The 21 parameters of FSRS-6: names, defaults, spread over users, allowed ranges, older lengths.

Plain numpy, so that nothing here waits for torch. Source of all figures: the public FSRS-6
parameter set (fsrs-rs 6.6), which gives defaults, standard deviations and ranges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

N_PARAMETERS = 21
N_INITIAL_STABILITIES = 4

S_MIN, S_MAX = 0.001, 36500.0  # days
D_MIN, D_MAX = 1.0, 10.0
INITIAL_S_MAX = 100.0  # days, upper limit of w0..w3

DEFAULTS: FloatArray = np.array(
    [
        *(0.212, 1.2931, 2.3065, 8.2956),  # w0..w3 initial stability per first rating
        *(6.4133, 0.8334, 3.0194, 0.001),  # w4..w7 difficulty
        *(1.8722, 0.1666, 0.796),  # w8..w10 stability after recall
        *(1.4835, 0.0614, 0.2629, 1.6483),  # w11..w14 stability after a lapse
        *(0.6014, 1.8729),  # w15 Hard, w16 Easy
        *(0.5425, 0.0912, 0.0658),  # w17..w19 same-day reviews
        0.1542,  # w20 decay
    ]
)
DEFAULTS.setflags(write=False)

SIGMA: FloatArray = np.array(
    [
        *(6.43, 9.66, 17.58, 27.85),
        *(0.57, 0.28, 0.6, 0.12),
        *(0.39, 0.18, 0.33),
        *(0.3, 0.09, 0.16, 0.57),
        *(0.25, 1.03),
        *(0.31, 0.32, 0.14),
        0.27,
    ]
)
SIGMA.setflags(write=False)

LOWER: FloatArray = np.array(
    [S_MIN] * 4
    + [1.0, 0.001, 0.001, 0.001, 0.0, 0.0, 0.001, 0.001, 0.001, 0.001, 0.0, 0.0, 1.0, 0.0, 0.0, 0.01, 0.1]
)
LOWER.setflags(write=False)

UPPER: FloatArray = np.array(
    [INITIAL_S_MAX] * 4
    + [10.0, 4.0, 4.0, 0.75, 4.5, 0.8, 3.5, 5.0, 0.25, 0.9, 4.0, 1.0, 6.0, 2.0, 2.0, 0.8, 0.8]
)
UPPER.setflags(write=False)

SHORT_TERM = slice(17, 20)

MEANINGS: tuple[str, ...] = (
    "initial stability, first rating Again (days)",
    "initial stability, first rating Hard (days)",
    "initial stability, first rating Good (days)",
    "initial stability, first rating Easy (days)",
    "initial difficulty",
    "initial difficulty, step per rating",
    "difficulty, change per rating",
    "difficulty, mean reversion",
    "recall: stability growth",
    "recall: slowing with stability",
    "recall: gain from low retrievability",
    "lapse: stability kept",
    "lapse: effect of difficulty",
    "lapse: effect of stability",
    "lapse: effect of retrievability",
    "factor of Hard",
    "factor of Easy",
    "same day: growth",
    "same day: offset",
    "same day: slowing with stability",
    "decay of the forgetting curve",
)


def convert(values: Sequence[float]) -> FloatArray:
    """Parameters of any FSRS version since 4.5 as the 21 of FSRS-6.

    values: 21 numbers (FSRS-6), 19 (FSRS-5) or 17 (FSRS-4.5). They are not clipped.
    Raises ValueError for another length and for a number that is not finite.
    """
    w = [float(value) for value in values]
    if not all(map(math.isfinite, w)):
        raise ValueError("FSRS parameters must be finite numbers")
    if len(w) == 17:
        w4, w5, w6 = w[4], w[5], w[6]
        if 3.0 * w5 + 1.0 <= 0.0:
            raise ValueError("w5 of a set of 17 FSRS parameters must be above -1/3")
        w[4] = w4 + 2.0 * w5
        w[5] = math.log(3.0 * w5 + 1.0) / 3.0
        w[6] = w6 + 0.5
        w += [0.0, 0.0, 0.0, 0.5]
    elif len(w) == 19:
        w += [0.0, 0.5]
    elif len(w) != N_PARAMETERS:
        raise ValueError(f"FSRS has 21 parameters (or 19 or 17 in older versions), not {len(w)}")
    return np.array(w)


def same_day_ceiling(w: FloatArray, relearning_steps: int) -> float:
    """Highest allowed w17 and w18 with `relearning_steps` steps (source: fsrs-rs).

    With several steps a lapse is followed by that many same-day Good answers; together they must not
    end above the stability before the lapse.
    """
    if relearning_steps <= 1:
        return float(UPPER[17])
    w11, w13, w14 = float(w[11]), float(w[13]), float(w[14])
    room = -(math.log(w11) + math.log(2.0**w13 - 1.0) + 0.3 * w14) / relearning_steps
    return min(float(UPPER[17]), math.sqrt(max(0.01, room)))


def bounds(*, short_term: bool = True, given: bool = False) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits, float64 [21] each.

    short_term: False holds w17..w19 at 0. given: True for parameters that somebody else fitted; w19
    may then be as low as 0, so that converted FSRS-5 sets keep their 0.
    """
    low, high = _limits(short_term, given)
    return low.copy(), high.copy()


@lru_cache
def _limits(short_term: bool, given: bool) -> tuple[FloatArray, FloatArray]:
    """`bounds`, not to be changed."""
    low, high = LOWER.copy(), UPPER.copy()
    if given:
        low[19] = 0.0
    if not short_term:
        low[SHORT_TERM] = high[SHORT_TERM] = 0.0
    return low, high


def clip(
    w: FloatArray, *, relearning_steps: int = 1, short_term: bool = True, given: bool = False
) -> FloatArray:
    """`w` [21] brought into the allowed ranges (see `bounds` and `same_day_ceiling`)."""
    low, high = _limits(short_term, given)
    w = np.minimum(np.maximum(np.asarray(w, dtype=np.float64), low), high)
    ceiling = same_day_ceiling(w, relearning_steps)
    if ceiling < high[17]:
        w[17], w[18] = min(w[17], ceiling), min(w[18], ceiling)
    return w

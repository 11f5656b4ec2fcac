"""Parameters as the text that Anki's field for FSRS parameters takes."""

from __future__ import annotations

import math

from fsrs_opt.model import parameters
from fsrs_opt.model.parameters import FloatArray

DECIMALS = 4


def rounded(w: FloatArray, *, relearning_steps: int = 1) -> FloatArray:
    """`w` [21] with the four decimals that Anki shows, still ordered and inside every range.

    All fixed limits have at most three decimals and rounding keeps the order, so that only the ceiling of
    w17 and w18, which moves with other parameters, can need them rounded down.
    """
    short = w.round(DECIMALS)
    ceiling = parameters.same_day_ceiling(short, relearning_steps)
    scale = 10**DECIMALS
    for k in (17, 18):
        if short[k] > ceiling:
            short[k] = math.floor(ceiling * scale) / scale
    return short


def paste_line(w: FloatArray, *, relearning_steps: int = 1) -> str:
    """The 21 numbers, separated by commas, ready to paste into a preset's FSRS parameters."""
    return ", ".join(f"{value:.{DECIMALS}f}" for value in rounded(w, relearning_steps=relearning_steps))

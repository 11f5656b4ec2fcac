"""How many reviews a day two parameter sets ask for, from the memory states that the cards have today."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import S_MAX, FloatArray

MAX_INTERVAL = S_MAX  # days, Anki's default maximum


@dataclass(frozen=True)
class Workload:
    """Reviews a day that today's memory states ask for at the desired retention, under each set: an estimate.

    current, new: sum over the cards of 1 / interval. cards: how many cards. desired_retention: the mean of
    what their presets ask for.
    """

    current: float
    new: float
    cards: int
    desired_retention: float

    @property
    def change_percent(self) -> float:
        """By how much the new parameters change the reviews a day, percent."""
        return 100 * (self.new / self.current - 1)

    def sentence(self) -> str:
        """The same for a reader."""
        percent = round(self.change_percent)
        at = f"At your desired retention ({100 * self.desired_retention:.0f} %)"
        if percent == 0:
            return f"{at} the number of reviews a day stays about the same (an estimate)."
        what = "more" if percent > 0 else "fewer"
        return f"{at} they ask for about {abs(percent)} % {what} reviews a day (an estimate)."


def intervals(stability: FloatArray, desired_retention: FloatArray | float, w: FloatArray) -> FloatArray:
    """Days until retrievability has fallen to `desired_retention` (elementwise), 1 to 36,500, not rounded."""
    decay = -float(w[20])
    factor = math.expm1(math.log(0.9) / decay)
    days: FloatArray = stability / factor * (np.power(desired_retention, 1 / decay) - 1)
    return np.clip(days, 1.0, MAX_INTERVAL)


def workload(
    batch: WindowedBatch,
    *,
    current: Sequence[tuple[FloatArray, npt.NDArray[np.bool_]]],
    new: FloatArray,
    desired_retention: FloatArray,
    scheduled: npt.NDArray[np.bool_],
) -> Workload | None:
    """Compare the parameters in use with new ones [21]. None where no card is scheduled.

    batch: all reviews, card after card. current: sets of parameters [21] with the cards bool [n_cards] that
    each is for. desired_retention: float64 [n_cards]. scheduled: bool [n_cards], which cards will be reviewed
    again (in the collection and not suspended).
    Every card is taken with the stability after its last review; a card that is due every n days adds 1/n.
    """
    if not scheduled.any():
        return None
    last = batch.offsets[1:] - 1

    def per_day(w: FloatArray) -> FloatArray:
        stability = batch.memory_states(w)[1][last]
        return 1 / intervals(stability, desired_retention, w)

    now = 0.0
    for w, cards in current:
        now += float(per_day(w)[cards & scheduled].sum())
    return Workload(
        current=now,
        new=float(per_day(new)[scheduled].sum()),
        cards=int(np.count_nonzero(scheduled)),
        desired_retention=float(desired_retention[scheduled].mean()),
    )

"""What a report speaks of: one evaluation, and predictions of the items that are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fsrs_opt.commands.current import CurrentSet, preset_of_cards
from fsrs_opt.evaluation.score import all_reviews, predict_items
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import DEFAULTS, FloatArray
from fsrs_opt.report.wording import counted
from fsrs_opt.reviews.items import Items, select

if TYPE_CHECKING:
    from fsrs_opt.commands.evaluate import Evaluated
    from fsrs_opt.evaluation.evaluation import Evaluation

MOST_SETS = 5
"""Sets of current parameters that are drawn beside each other; a picture with more is a thicket."""


@dataclass(frozen=True)
class Findings:
    """What `evaluate` found (`commands.evaluate.evaluated` gives the same for a run of `optimize`)."""

    run: Evaluated

    @property
    def evaluation(self) -> Evaluation:
        return self.run.evaluation

    @property
    def new(self) -> FloatArray:
        """The new parameters [21]."""
        return self.run.new

    @cached_property
    def others(self) -> tuple[CurrentSet, ...]:
        """What the new parameters are compared with: the sets in use, those with the most cards first, or the
        defaults where none is known."""
        if self.run.current:
            return tuple(sorted(self.run.current, key=lambda one: -int(one.cards.sum())))
        every = np.ones(self.run.histories.n_cards, dtype=bool)
        return (CurrentSet("Default parameters", DEFAULTS, every, stored=False),)

    @cached_property
    def drawn_others(self) -> tuple[CurrentSet, ...]:
        """The different ones among `others`, `MOST_SETS` at most."""
        different: list[CurrentSet] = []
        for one in self.others:
            if not any(np.array_equal(one.parameters, seen.parameters) for seen in different):
                different.append(one)
        return tuple(different[:MOST_SETS])

    @property
    def other_name(self) -> str:
        """ "current" or "default"."""
        return "current" if self.run.current else "default"

    @property
    def other_words(self) -> str:
        """The same within a sentence."""
        return "your current parameters" if self.run.current else "the defaults"

    @cached_property
    def other_label(self) -> str:
        """The same in a legend of curves."""
        if not self.run.current:
            return "defaults"
        return "current parameters" if len(self.drawn_others) == 1 else "current, a line for each preset"

    @cached_property
    def batch(self) -> WindowedBatch:
        return all_reviews(self.run.data)

    @cached_property
    def preset_of_cards(self) -> npt.NDArray[np.int64]:
        """The preset id of each card of the histories, int64 [n_cards]."""
        return preset_of_cards(self.run.collection, self.run.histories.card_id)

    @cached_property
    def predicted(self) -> Predicted:
        return _predicted(self)


@dataclass(frozen=True)
class Predicted:
    """Predicted recall of the same items by the new parameters and by what they are compared with.

    held_out: the items were not among those that the parameters were fitted to. items, label bool, new, other
    float64: [n].
    """

    held_out: bool
    items: Items
    label: npt.NDArray[np.bool_]
    new: FloatArray
    other: FloatArray

    @property
    def basis(self) -> str:
        """Which reviews these are, within a sentence."""
        n = counted(len(self.items), "review")
        if self.held_out:
            return f"{n} that the parameters had not seen"
        return f"{n} that the parameters were fitted to"


def _predicted(findings: Findings) -> Predicted:
    data, series, name = findings.run.data, findings.evaluation.time_series, findings.other_name
    if series.n_held_out:
        return Predicted(
            held_out=True,
            items=select(data.items, slice(series.first, None)),
            label=series.label,
            new=series.predictions["new"],
            other=series.predictions[name],
        )
    other = np.empty(len(data))
    for one in findings.others:
        mine = one.cards[data.items.card]
        other[mine] = predict_items(data, one.parameters, batch=findings.batch)[mine]
    new = predict_items(data, findings.new, batch=findings.batch)
    return Predicted(False, data.items, data.items.label, new, other)

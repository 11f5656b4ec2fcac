"""Fits to groups of decks, judged on cards that they were not fitted to.

A *unit* is a deck or a preset: a set of cards. A *group* is a set of units that share one set of parameters.
What is asked is whether two sets of cards follow one law, so that whole cards are held out, not times: two
decks that were studied in different years can be compared, and no drift of the learner takes part in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.score import all_reviews, predict_items
from fsrs_opt.evaluation.time_series import Fitter
from fsrs_opt.model.parameters import DEFAULTS, N_INITIAL_STABILITIES, N_PARAMETERS, FloatArray
from fsrs_opt.reviews.history import subset
from fsrs_opt.reviews.items import select
from fsrs_opt.training.data import TrainingSet, training_set, windowed_batch
from fsrs_opt.training.trust_region import to_z, w_by_z

Array = npt.NDArray[Any]
Group = frozenset[int]
"""Numbers of units."""

N_FOLDS = 5
PROPOSING = 3  # one card in three proposes groups, the others judge them


def dealt(card_id: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Fold 0..N_FOLDS - 1, int64 [n_cards], and whether the card is one of those that propose groups.

    By a hash of the card's id (Steele, Lea and Flood 2014, the finalizer of SplitMix64): the same card is
    always dealt the same, whatever else there is, and neighbouring ids are dealt independently.
    """
    x = card_id.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    fold = (x % np.uint64(N_FOLDS)).astype(np.int64)
    return fold, (x // np.uint64(N_FOLDS)) % np.uint64(PROPOSING) == 0


@dataclass(frozen=True)
class Parabola:
    """Loss of some items near their best parameters, `slope @ z + z @ curvature @ z / 2` and a constant, in
    the solver's coordinates z. Those of two sets of items add up to that of both together."""

    constant: float
    slope: FloatArray
    curvature: FloatArray

    def __add__(self, other: Parabola) -> Parabola:
        return Parabola(
            self.constant + other.constant,
            self.slope + other.slope,
            self.curvature + other.curvature,
        )

    def log_evidence(self) -> float:
        """Log probability of the items when nobody knows the parameters (Laplace's approximation): the prior
        of J is integrated out, so that parameters that the items do not need cost nothing."""
        prior, centre = _PRIOR_CURVATURE, to_z(DEFAULTS)
        matrix = self.curvature + np.diag(prior)
        z = np.linalg.solve(matrix, prior * centre - self.slope)
        off = z - centre
        least = self.constant + self.slope @ z + (z @ self.curvature @ z + off @ (prior * off)) / 2
        return float(-least - (np.linalg.slogdet(matrix)[1] - np.log(prior).sum()) / 2)


_PRIOR_CURVATURE = np.where(np.arange(N_PARAMETERS) < N_INITIAL_STABILITIES, 0.5, 2.0)
"""Of J's prior in z (`MapPrior`)."""


class GroupFits:
    """What groups predict for their own items; a group is fitted once.

    data: all items. unit: int64 [n_cards], the unit of each card, 0 on. fitted: called after each group.
    """

    def __init__(
        self, data: TrainingSet, unit: Array, fitter: Fitter, fitted: Callable[[], None] | None = None
    ) -> None:
        self.data = data
        self.unit = unit
        self.fitter = fitter
        self._fitted = fitted
        self._fold, self.proposing = dealt(data.histories.card_id)
        self._unit_of_item = unit[data.items.card]
        self._held_out: dict[Group, FloatArray] = {}

    def items(self, group: Group) -> npt.NDArray[np.bool_]:
        """Which items are the group's, bool [n_items]."""
        mine: npt.NDArray[np.bool_] = np.isin(self._unit_of_item, list(group))
        return mine

    def held_out(self, group: Group) -> FloatArray:
        """Retrievability of the group's items, in their order: for the cards of each fold by parameters that
        were fitted to the group's other folds."""
        if group not in self._held_out:
            own, cards = self.own(group)
            fold = self._fold[cards][own.items.card]
            batch, found = all_reviews(own), np.empty(len(own))
            for k in range(N_FOLDS):
                mine = fold == k
                if mine.any():
                    rest = training_set(own.histories, select(own.items, ~mine))
                    found[mine] = predict_items(own, self.fitter(rest).parameters, batch=batch)[mine]
            self._held_out[group] = found
            if self._fitted is not None:
                self._fitted()
        return self._held_out[group]

    def parabola(self, group: Group) -> Parabola:
        """The loss of the group's items of proposing cards near their own best parameters."""
        own, cards = self.own(group)
        chosen = training_set(own.histories, select(own.items, self.proposing[cards][own.items.card]))
        if not len(chosen):
            return Parabola(0.0, np.zeros(N_PARAMETERS), np.zeros((N_PARAMETERS, N_PARAMETERS)))
        w = self.fitter(chosen).parameters
        at = windowed_batch(chosen).evaluate(w, fisher=True)
        assert at.fisher is not None
        z, scale = to_z(w), w_by_z(w)
        gradient = at.gradient * scale
        curvature = at.fisher * np.outer(scale, scale)
        slope = gradient - curvature @ z
        return Parabola(at.loss - float(gradient @ z - z @ curvature @ z / 2), slope, curvature)

    def own(self, group: Group) -> tuple[TrainingSet, npt.NDArray[np.bool_]]:
        """The group's items as a set of its own, in the same order, and which cards they are of."""
        cards = np.isin(self.unit, list(group))
        return training_set(subset(self.data.histories, cards)), cards

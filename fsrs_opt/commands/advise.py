"""Which decks or presets deserve parameters of their own, the parameters, and where in Anki they belong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fsrs_opt.commands import advice_words
from fsrs_opt.commands.current import CurrentSet
from fsrs_opt.commands.deck_units import MOST_UNITS, Unit, Units, units
from fsrs_opt.commands.judgement import predicted_in_use
from fsrs_opt.commands.prepare import prepare
from fsrs_opt.errors import NothingToTrainError, UsageError
from fsrs_opt.evaluation.group_fits import Group, GroupFits
from fsrs_opt.evaluation.metrics import log_loss
from fsrs_opt.evaluation.paired import LEVEL, PairedDifference, paired_difference
from fsrs_opt.evaluation.score import all_reviews, predict_items
from fsrs_opt.evaluation.split_or_merge import Grouping, difference, enough, split_or_merge, together
from fsrs_opt.evaluation.time_series import Fitter, Fraction
from fsrs_opt.model.parameters import DEFAULTS, FloatArray
from fsrs_opt.reviews.history import Histories, subset
from fsrs_opt.training.data import TrainingSet, training_set
from fsrs_opt.training.fit import FitResult, fit

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection

BY = ("deck", "preset")
MIN_ITEMS = 400


@dataclass(frozen=True)
class UnitAdvice:
    """A deck or preset, and the group it belongs to (0-based). gain: what parameters of its own save against
    one set for all, on held-out cards, 95 % interval; None where it has too few items to judge."""

    unit: Unit
    group: int
    gain: PairedDifference | None


@dataclass(frozen=True)
class GroupAdvice:
    """Units that share parameters. units: their numbers. fit: of all their items. gain: what the group's own
    parameters save against one set for all (None where all is one group), and over_current against what is in
    use, on held-out cards, 95 % intervals. presets: names of the presets to write them to. new_preset_for:
    (decks, preset that they have now but that another group keeps)."""

    units: tuple[int, ...]
    fit: FitResult
    n_items: int
    gain: PairedDifference | None
    over_current: PairedDifference | None
    presets: tuple[str, ...]
    new_preset_for: tuple[tuple[tuple[str, ...], str], ...]


@dataclass(frozen=True)
class Advised:
    """What `advise` found.

    units: by name, each with its group. groups: largest first. log_loss: on the held-out cards that judged,
    by division: "in use" (the parameters as they are), "one" set for all, "presets" (one for each preset, as
    now), "advised", "units" (one for each unit); the last four fitted anew. gain: of the advised groups
    against one set, None for one group; over_current: against what is in use (`against`: "current", or
    "default" where nothing is stored); both 95 %. as_now: the presets are divided like this already.
    sentences: the advice. seconds: by "read", "histories", "advise" and "total".
    """

    collection: Collection
    histories: Histories
    data: TrainingSet
    by: str
    min_items: int
    relearning_steps: int
    units: tuple[UnitAdvice, ...]
    groups: tuple[GroupAdvice, ...]
    grouping: Grouping
    log_loss: dict[str, float | None]
    gain: PairedDifference | None
    over_current: PairedDifference | None
    against: str
    as_now: bool
    current: tuple[CurrentSet, ...]
    sentences: tuple[str, ...]
    messages: tuple[str, ...]
    seconds: dict[str, float]


def advise(
    source: str | Path | Collection,
    *,
    by: str = BY[0],
    level: int | None = None,
    min_items: int = MIN_ITEMS,
    relearning_steps: int | None = None,
    short_term: bool = True,
    ignore_before: str | None = None,
    timezone: str | None = None,
    day_start: int | None = None,
    progress: Fraction | None = None,
) -> Advised:
    """Find which decks should share parameters.

    by: "deck" or "preset". level: tell decks apart by so many parts of their names, None by all. min_items:
    decks with fewer are counted to their parents. progress: called with the share of the work that is done.
    The rest, and the errors: `commands.optimize`; UsageError too for a table of reviews.
    """
    if by not in BY:
        raise UsageError(f"decks are told apart by {' or '.join(BY)}, not by {by!r}")
    if min_items < 1 or (level is not None and level < 1):
        raise UsageError("the smallest number of items and the level of decks must be at least 1")
    prepared = prepare(
        source,
        relearning_steps=relearning_steps,
        ignore_before=ignore_before,
        timezone=timezone,
        day_start=day_start,
    )
    started = time.perf_counter()
    past = prepared.histories
    items_of_card = np.bincount(prepared.data.items.card, minlength=past.n_cards)
    found = units(prepared.collection, past.card_id, items_of_card, by=by, level=level, min_items=min_items)
    if not found.units:
        raise NothingToTrainError(
            f"{prepared.collection.source.path}: all reviews are of cards that no deck holds any more, so"
            " that there is nothing to compare: use fsrs-opt optimize"
        )
    kept = found.unit >= 0
    data = training_set(subset(past, kept))
    current = tuple(replace(one, cards=one.cards[kept]) for one in prepared.current)
    fitter = partial(fit, relearning_steps=prepared.relearning_steps, short_term=short_term)
    now = _by_preset(found.units)
    advisor = _Advisor(data, found, kept, now, current, fitter, progress)
    grouping = advisor.grouping
    result = Advised(
        collection=prepared.collection,
        histories=past,
        data=data,
        by=by,
        min_items=found.min_items,
        relearning_steps=prepared.relearning_steps,
        units=advisor.units(),
        groups=tuple(advisor.group(group) for group in grouping.groups),
        grouping=grouping,
        log_loss=advisor.log_loss(),
        gain=advisor.gain(),
        over_current=advisor.over_current(grouping.judged),
        against="current" if current else "default",
        as_now=set(now) == set(grouping.groups),
        current=current,
        sentences=(),
        messages=(*prepared.messages, *_notes(found, min_items, whole=prepared.collection.selection is None)),
        seconds={},
    )
    seconds = {**prepared.seconds, "advise": time.perf_counter() - started}
    return replace(
        result,
        sentences=advice_words.sentences(result),
        seconds={**seconds, "total": sum(seconds.values())},
    )


class _Advisor:
    """The groups, and what there is to say about each."""

    def __init__(
        self,
        data: TrainingSet,
        found: Units,
        kept: np.ndarray,
        now: Sequence[Group],
        current: Sequence[CurrentSet],
        fitter: Fitter,
        progress: Fraction | None,
    ) -> None:
        self._found = found
        self._now = now
        n = len(found.units)
        done, expected = 0, 2 * n + 2 * len(now)

        def fitted() -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(min(done / expected, 0.99))

        self._fits = GroupFits(data, found.unit[kept], fitter, fitted)
        self.grouping = split_or_merge(self._fits, n, now)
        self._one: Group = frozenset(range(n))
        self._advised = together(self._fits, self.grouping.groups)
        batch = all_reviews(data)
        self._in_use: FloatArray = (
            predicted_in_use(data, current, batch) if current else predict_items(data, DEFAULTS, batch=batch)
        )
        self._group_of = {unit: k for k, group in enumerate(self.grouping.groups) for unit in group}

    def units(self) -> tuple[UnitAdvice, ...]:
        everything = np.ones(len(self._fits.data), dtype=bool)
        advised = []
        for k, unit in enumerate(self._found.units):
            own: Group = frozenset([k])
            gain = None
            if own != self._one and enough(self._fits, own, everything):
                gain = difference(self._fits, [self._one], [own], everything)
            advised.append(UnitAdvice(unit, self._group_of[k], gain))
        return tuple(advised)

    def group(self, group: Group) -> GroupAdvice:
        fits, judged = self._fits, self.grouping.judged
        own, _ = fits.own(group)
        several = len(self.grouping.groups) > 1
        keeps, makes = [], []
        for preset_id in sorted({self._found.units[unit].preset_id for unit in group}):
            mine = [unit for unit in sorted(group) if self._found.units[unit].preset_id == preset_id]
            preset = self._found.units[mine[0]].preset
            if self._keeper(preset_id) == group:
                keeps.append(preset)
            else:
                decks = [deck for unit in mine for deck in self._found.units[unit].decks]
                makes.append((tuple(decks), preset))
        return GroupAdvice(
            units=tuple(sorted(group)),
            fit=fits.fitter(own),
            n_items=len(own),
            gain=difference(fits, [self._one], [group], judged) if several else None,
            over_current=self.over_current(judged & fits.items(group)),
            presets=tuple(keeps),
            new_preset_for=tuple(makes),
        )

    def _keeper(self, preset_id: int) -> Group:
        """The group that keeps a preset: the one with most items of it."""

        def items(group: Group) -> int:
            mine = (self._found.units[unit] for unit in group)
            return sum(unit.n_items for unit in mine if unit.preset_id == preset_id)

        return max(self.grouping.groups, key=items)

    def gain(self) -> PairedDifference | None:
        if len(self.grouping.groups) == 1:
            return None
        return difference(self._fits, [self._one], self.grouping.groups, self.grouping.judged)

    def over_current(self, among: np.ndarray) -> PairedDifference | None:
        items = self._fits.data.items
        return paired_difference(
            items.label[among], self._in_use[among], self._advised[among], items.card[among], level=LEVEL
        )

    def log_loss(self) -> dict[str, float | None]:
        each = [frozenset([k]) for k in range(len(self._found.units))]
        predictions = {
            "in use": self._in_use,
            "one": together(self._fits, [self._one]),
            "presets": together(self._fits, self._now),
            "advised": self._advised,
            "units": together(self._fits, each),
        }
        judged = self.grouping.judged
        label = self._fits.data.items.label[judged]
        return {name: log_loss(label, predicted[judged]) for name, predicted in predictions.items()}


def _by_preset(found: Sequence[Unit]) -> list[Group]:
    """The units that have the same preset now."""
    presets = sorted({unit.preset_id for unit in found})
    return [frozenset(k for k, unit in enumerate(found) if unit.preset_id == preset) for preset in presets]


def _notes(found: Units, asked: int, *, whole: bool) -> list[str]:
    """whole: all decks were selected."""
    notes = []
    if found.min_items > asked:
        notes.append(
            f"More than {MOST_UNITS} decks have {asked:,} items: those with fewer than {found.min_items:,}"
            " were counted to their parents."
        )
    if found.n_idle and whole:
        decks = "1 deck holds" if found.n_idle == 1 else f"{found.n_idle:,} decks hold"
        notes.append(f"{decks} no items and cannot be judged: leave them with the preset that they have.")
    if found.n_gone:
        notes.append(f"{found.n_gone:,} items of cards that no deck holds any more were left out.")
    return notes

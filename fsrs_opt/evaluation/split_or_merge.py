"""Which decks should share parameters: groups are proposed by some cards and judged by the others.

Starting from every deck by itself, the two groups that most probably follow one law (by the cards that
propose) are looked at. Where the judging cards support their separation they are kept apart, else they become
one; so on, until all that is left is kept apart. The rules and their reasons: docs/advise.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.advice import MIN_CARDS, MIN_HELD_OUT, MIN_OF_EACH_OUTCOME
from fsrs_opt.evaluation.group_fits import Group, GroupFits, Parabola
from fsrs_opt.evaluation.later_reviews import gain_on_later_reviews
from fsrs_opt.evaluation.paired import LEVEL, SURPRISES_PER_NAT, PairedDifference, paired_difference

FloatArray = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

WORTH = 0.5
"""Surprises in 1,000 reviews that parameters of their own must save one of two groups; less is not worth
another preset, however sure it is."""


@dataclass(frozen=True)
class Comparison:
    """Two groups that were looked at. gain: log loss of shared parameters less that of separate ones, on the
    judging cards of both; None where there are too few. apart: separate parameters are supported."""

    a: Group
    b: Group
    gain: PairedDifference | None
    apart: bool


@dataclass(frozen=True)
class Grouping:
    """groups: the units that share parameters, largest group first. comparisons: in the order in which they
    were made. level: of the intervals that decided, so high that all comparisons together err as rarely as
    one. judged: bool [n_items], items of the judging cards. later: what the groups save on later reviews, None
    for one group; rejected: the groups that `later` spoke clearly against, else empty."""

    groups: tuple[Group, ...]
    comparisons: tuple[Comparison, ...]
    level: float
    judged: Mask
    later: PairedDifference | None = None
    rejected: tuple[Group, ...] = ()


def split_or_merge(fits: GroupFits, n_units: int, now: Sequence[Group] = ()) -> Grouping:
    """The fewest groups that the data do not speak against.

    n_units: units are 0..n_units - 1. now: the groups that share a preset at present. They are tried as a
    starting point too, and preferred where what becomes of them is clearly better.
    """
    singles = [frozenset([k]) for k in range(n_units)]
    starts = [singles]
    if 1 < len(now) < n_units:
        starts.append(list(now))
    # With two units there is nothing to propose, and all cards judge.
    judged = ~fits.proposing[fits.data.items.card] if n_units > 2 else np.ones(len(fits.data), dtype=bool)
    parabolas = {group: fits.parabola(group) for group in singles} if n_units > 2 else {}
    proposers = [_Proposer(start, parabolas) for start in starts]
    tests = sum(_tests_if_all_merge(fits, proposer, judged) for proposer in proposers)
    level = 1 - (1 - LEVEL) / max(1, tests)

    made: list[Comparison] = []
    found = [_agglomerate(fits, proposer, judged, level, made) for proposer in proposers]
    best = found[0]
    if len(found) > 1 and set(found[1]) != set(best):
        better = difference(fits, best, found[1], judged, level)
        if better is not None and better.low > 0:
            best = found[1]
    best = sorted(best, key=lambda group: (-int(np.count_nonzero(fits.items(group))), sorted(group)))
    later = gain_on_later_reviews(fits, best) if len(best) > 1 else None
    if later is not None and later.high < 0:
        return Grouping((frozenset(range(n_units)),), tuple(made), level, judged, later, tuple(best))
    return Grouping(tuple(best), tuple(made), level, judged, later)


def together(fits: GroupFits, groups: Sequence[Group]) -> FloatArray:
    """What the groups predict for held-out cards, float64 [n_items]; NaN for items of no group."""
    predicted = np.full(len(fits.data), np.nan)
    for group in groups:
        predicted[fits.items(group)] = fits.held_out(group)
    return predicted


def difference(
    fits: GroupFits, a: Sequence[Group], b: Sequence[Group], among: Mask, level: float = LEVEL
) -> PairedDifference | None:
    """Log loss of the groups `a` less that of the groups `b`, of the same units, on the items `among`."""
    among = among & np.logical_or.reduce([fits.items(group) for group in b])
    return _paired(fits, together(fits, a), together(fits, b), among, level)


def enough(fits: GroupFits, group: Group, judged: Mask) -> bool:
    """Whether an interval from the group's judging cards means anything."""
    items = fits.data.items
    mine = fits.items(group) & judged
    n, recalled = int(np.count_nonzero(mine)), int(np.count_nonzero(items.label[mine]))
    return (
        n >= MIN_HELD_OUT
        and min(recalled, n - recalled) >= MIN_OF_EACH_OUTCOME
        and len(np.unique(items.card[mine])) >= MIN_CARDS
    )


def compare(fits: GroupFits, a: Group, b: Group, judged: Mask, level: float) -> Comparison:
    """Whether two groups should be kept apart: on their judging cards separate parameters predict better than
    shared ones, the interval at `level` above 0, for neither of them clearly worse, and for one of them by
    `WORTH`."""
    if not (enough(fits, a, judged) and enough(fits, b, judged)):
        return Comparison(a, b, None, apart=False)
    shared, separate = together(fits, [a | b]), together(fits, [a, b])
    gain = _paired(fits, shared, separate, judged & fits.items(a | b), level)
    sides = [_paired(fits, shared, separate, judged & fits.items(one), LEVEL) for one in (a, b)]
    apart = (
        gain is not None
        and gain.low > 0
        and all(side is not None and side.high >= 0 for side in sides)
        and any(side is not None and side.mean * SURPRISES_PER_NAT >= WORTH for side in sides)
    )
    return Comparison(a, b, gain, apart)


def _paired(
    fits: GroupFits, a: FloatArray, b: FloatArray, among: Mask, level: float
) -> PairedDifference | None:
    items = fits.data.items
    return paired_difference(items.label[among], a[among], b[among], items.card[among], level=level)


class _Proposer:
    """Which two groups to look at next: those whose proposing cards speak most for one law.

    By the Bayes factor of one set of parameters for both against one for each. So large groups that agree
    find each other first, groups that say little join those they fit best, and the different come last.
    """

    def __init__(self, start: Sequence[Group], parabolas: dict[Group, Parabola]) -> None:
        self.groups = list(start)
        self._parabolas = {group: sum_of(parabolas, group) for group in start} if parabolas else {}
        self._evidence = {group: one.log_evidence() for group, one in self._parabolas.items()}
        self._speaks: dict[Group, float] = {}  # by the union of a pair

    def next(self, apart: set[frozenset[Group]]) -> tuple[Group, Group] | None:
        """The pair, but none of those that are kept apart."""
        pairs = [pair for pair in combinations(self.groups, 2) if frozenset(pair) not in apart]
        return max(pairs, key=lambda pair: self._for_one_law(*pair), default=None)

    def merge(self, a: Group, b: Group) -> None:
        if self._parabolas:
            self._parabolas[a | b] = self._parabolas.pop(a) + self._parabolas.pop(b)
            self._evidence[a | b] = self._parabolas[a | b].log_evidence()
        self.groups = [group for group in self.groups if group not in (a, b)] + [a | b]

    def copy(self) -> _Proposer:
        twin = _Proposer([], {})
        twin.groups = list(self.groups)
        twin._parabolas, twin._evidence = dict(self._parabolas), dict(self._evidence)
        twin._speaks = self._speaks  # of unions, so that both may fill it
        return twin

    def _for_one_law(self, a: Group, b: Group) -> float:
        if not self._parabolas:
            return 0.0
        if a | b not in self._speaks:
            both = (self._parabolas[a] + self._parabolas[b]).log_evidence()
            self._speaks[a | b] = both - self._evidence[a] - self._evidence[b]
        return self._speaks[a | b]


def sum_of(parabolas: dict[Group, Parabola], group: Group) -> Parabola:
    """The parabola of a group from those of its units."""
    first, *rest = (parabolas[frozenset([unit])] for unit in sorted(group))
    for one in rest:
        first = first + one
    return first


def _tests_if_all_merge(fits: GroupFits, proposer: _Proposer, judged: Mask) -> int:
    """How many comparisons are made where none supports a separation.

    Their order is then the proposing cards' alone, and if all decks follow one law, groups are suggested only
    where at least one of them errs: with this number, Bonferroni's bound holds.
    """
    walk, tests = proposer.copy(), 0
    while pair := walk.next(set()):
        tests += all(enough(fits, one, judged) for one in pair)
        walk.merge(*pair)
    return tests


def _agglomerate(
    fits: GroupFits, proposer: _Proposer, judged: Mask, level: float, made: list[Comparison]
) -> list[Group]:
    apart: set[frozenset[Group]] = set()
    while pair := proposer.next(apart):
        done = compare(fits, *pair, judged, level)
        made.append(done)
        if done.apart:
            apart.add(frozenset(pair))
            continue
        proposer.merge(*pair)
        for group in pair:
            if len(group) > 1:
                fits.forget(group)
    return proposer.groups

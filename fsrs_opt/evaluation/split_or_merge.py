"""Which decks should share parameters: divisions are proposed by some cards and judged by the others.

Starting from every deck by itself, the two groups that most probably follow one law (by the cards that
propose) become one, and so on: a division into each number of groups. The judging cards then say which of
them predict better than one set of parameters for all. The rules and their reasons: docs/advise.md.
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
Division = tuple[Group, ...]

WORTH = 0.5
"""Surprises in 1,000 reviews that parameters of its own must save at least one group; less is not worth
another preset, however sure it is."""

ALWAYS_JUDGED = 3
"""Divisions into so many groups are judged even where the proposing cards, a minority, see no need."""


@dataclass(frozen=True)
class Candidate:
    """A division that was judged. level: of its interval, so high that all candidates together err as rarely
    as one at 95 %. gain: log loss of one set of parameters for all less that of one for each group, on the
    judging cards. supported: that is reason enough to divide."""

    groups: Division
    level: float
    gain: PairedDifference
    supported: bool


@dataclass(frozen=True)
class Grouping:
    """groups: the units that share parameters, largest group first. candidates: the divisions judged. judged:
    bool [n_items], items of the judging cards. later: what the division saves on later reviews, None where
    none is supported. rejected: that division, where later reviews spoke clearly against it, else empty."""

    groups: Division
    candidates: tuple[Candidate, ...]
    judged: Mask
    later: PairedDifference | None = None
    rejected: Division = ()


def split_or_merge(fits: GroupFits, n_units: int, now: Sequence[Group] = ()) -> Grouping:
    """The division to suggest: one group where nothing else is supported.

    n_units: units are 0..n_units - 1. now: the groups that share a preset at present. That division is judged
    too, with half of the permitted error, for somebody who knows the decks made it; and others are proposed
    from it.
    """
    singles = [frozenset([k]) for k in range(n_units)]
    # With two units there is nothing to propose, and all cards judge.
    judged = ~fits.proposing[fits.data.items.card] if n_units > 2 else np.ones(len(fits.data), dtype=bool)
    weak = _Weak(fits, judged)
    parabolas = {one: fits.parabola(one) for one in singles} if n_units > 2 else {}
    starts = [singles, list(now)] if 1 < len(now) < n_units else [singles]
    as_now = by_size(fits, now) if len(now) > 1 and not any(map(weak, now)) else ()
    proposed = dict.fromkeys(
        by_size(fits, division)
        for start in starts
        for division in divisions(start, parabolas, weak)
        if not any(map(weak, division))
    )
    proposed.pop(as_now, None)
    one: Division = (frozenset(range(n_units)),)
    candidates = tuple(
        _judge(fits, division, one, judged, level) for division, level in _levels(as_now, list(proposed))
    )
    best = _chosen(fits, candidates, as_now, judged)
    if best is None:
        return Grouping(one, candidates, judged)
    later = gain_on_later_reviews(fits, best)
    if later is not None and later.high < 0:
        return Grouping(one, candidates, judged, later, rejected=best)
    return Grouping(best, candidates, judged, later)


def together(fits: GroupFits, groups: Sequence[Group]) -> FloatArray:
    """What the groups predict for held-out cards, float64 [n_items]; NaN for items of no group."""
    predicted = np.full(len(fits.data), np.nan)
    for group in groups:
        predicted[fits.items(group)] = fits.held_out(group)
    return predicted


def difference(
    fits: GroupFits, a: Sequence[Group], b: Sequence[Group], among: Mask, level: float = LEVEL
) -> PairedDifference | None:
    """Log loss of the groups `a` less that of the groups `b`, on those items `among` that are of `b`."""
    items = fits.data.items
    among = among & np.logical_or.reduce([fits.items(group) for group in b])
    of_a, of_b = together(fits, a)[among], together(fits, b)[among]
    return paired_difference(items.label[among], of_a, of_b, items.card[among], level=level)


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


def by_size(fits: GroupFits, groups: Sequence[Group]) -> Division:
    """The groups, those with most items first."""
    return tuple(sorted(groups, key=lambda one: (-int(np.count_nonzero(fits.items(one))), sorted(one))))


class _Weak:
    """Whether a group has too few judging cards to be told from others; each is looked at once."""

    def __init__(self, fits: GroupFits, judged: Mask) -> None:
        self._fits, self._judged = fits, judged
        self._known: dict[Group, bool] = {}

    def __call__(self, group: Group) -> bool:
        if group not in self._known:
            self._known[group] = not enough(self._fits, group, self._judged)
        return self._known[group]


def _judge(fits: GroupFits, division: Division, one: Division, judged: Mask, level: float) -> Candidate:
    """A division is supported where the interval of its gain is above 0, no group is clearly worse off, and
    one of them gains `WORTH`."""
    gain = difference(fits, one, division, judged, level)
    sides = [difference(fits, one, [group], judged) for group in division]
    assert gain is not None
    supported = (
        gain.low > 0
        and all(side is not None and side.high >= 0 for side in sides)
        and any(side is not None and side.mean * SURPRISES_PER_NAT >= WORTH for side in sides)
    )
    return Candidate(division, level, gain, supported)


def _levels(as_now: Division, proposed: Sequence[Division]) -> list[tuple[Division, float]]:
    """The candidates, each with the level of its interval: Bonferroni's, half for the present division."""
    error = (1 - LEVEL) / 2 if as_now and proposed else 1 - LEVEL
    first = [(as_now, 1 - error)] if as_now else []
    return first + [(division, 1 - error / len(proposed)) for division in proposed]


def _chosen(
    fits: GroupFits, candidates: Sequence[Candidate], as_now: Division, judged: Mask
) -> Division | None:
    """Where a division is supported: the present one if it is, else the fewest groups; but nothing that is
    clearly worse than the best supported one.

    That one group is not enough is settled by then, so that fewer groups need to be clearly better than one
    at 95 % only.
    """
    supported = [each for each in candidates if each.supported]
    best = max(supported, key=lambda one: one.gain.mean, default=None)
    if best is None:
        return None
    one = [frozenset().union(*best.groups)]

    def rank(each: Candidate) -> tuple[bool, int, float]:
        keeps = each.supported and each.groups == as_now
        return not keeps, len(each.groups), -each.gain.mean

    for each in sorted(candidates, key=rank):
        gain = difference(fits, one, each.groups, judged)
        lacks = difference(fits, each.groups, best.groups, judged)
        if gain is not None and gain.low > 0 and (lacks is None or lacks.low <= 0):
            return each.groups
    return best.groups


def divisions(
    start: Sequence[Group], parabolas: dict[Group, Parabola], weak: _Weak
) -> list[tuple[Group, ...]]:
    """Divisions to be judged, of ever fewer groups, two at least; `start` itself is where they begin.

    Each time the two groups become one whose proposing cards speak most for one law, by the Bayes factor of
    one set of parameters against two. So large groups that agree find each other first, groups that say
    little join those they fit best, and the different come last; but before any two that speak against one
    law are joined, groups that are too weak to be judged find a home. What is finer than the proposing cards
    find likely is not judged at all, three groups and two always are. parabolas: of each unit; empty where
    there is nothing to choose.
    """
    groups = list(start)
    loss = {group: _sum(parabolas, group) for group in groups} if parabolas else {}
    evidence = {group: each.log_evidence() for group, each in loss.items()}
    speaks: dict[Group, float] = {}  # for one law, by the union of the pair

    def for_one_law(a: Group, b: Group) -> float:
        if not loss:
            return 0.0
        if a | b not in speaks:
            speaks[a | b] = (loss[a] + loss[b]).log_evidence() - evidence[a] - evidence[b]
        return speaks[a | b]

    def urgency(pair: tuple[Group, Group]) -> tuple[bool, float]:
        factor = for_one_law(*pair)
        return factor > 0 or weak(pair[0]) or weak(pair[1]), factor

    found: list[tuple[Group, ...]] = []
    while len(groups) > 1:
        a, b = max(combinations(groups, 2), key=urgency)
        if found or len(groups) <= ALWAYS_JUDGED or not urgency((a, b))[0]:
            found.append(tuple(groups))
        if loss:
            loss[a | b] = loss.pop(a) + loss.pop(b)
            evidence[a | b] = loss[a | b].log_evidence()
        groups = [group for group in groups if group not in (a, b)] + [a | b]
    return found


def _sum(parabolas: dict[Group, Parabola], group: Group) -> Parabola:
    first, *rest = (parabolas[frozenset([unit])] for unit in sorted(group))
    for one in rest:
        first = first + one
    return first

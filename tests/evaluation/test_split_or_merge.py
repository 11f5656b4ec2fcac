"""What is suggested: over simulated learners, over real logs, and rule by rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.evaluation import split_or_merge as module
from fsrs_opt.evaluation.group_fits import GroupFits
from fsrs_opt.evaluation.later_reviews import gain_on_later_reviews
from fsrs_opt.evaluation.paired import PairedDifference
from fsrs_opt.evaluation.split_or_merge import (
    Grouping,
    by_size,
    difference,
    enough,
    split_or_merge,
    together,
)
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews.history import Histories
from fsrs_opt.training.data import training_set
from fsrs_opt.training.fit import fit
from tests.evaluation.made_up import FAR_FROM_DEFAULTS, divided, put_together, schedule, simulate
from tests.logs import real_log

SEEDS = range(20)


def suggested(h: Histories, unit: np.ndarray, n_units: int, now=()) -> Grouping:
    return split_or_merge(GroupFits(training_set(h), unit, fit), n_units, now)


def learner(n_cards: int, seed: int, w: np.ndarray) -> Histories:
    return simulate(schedule(n_cards, seed), w, seed)


def two_learners(n_cards: int, seed: int) -> tuple[Histories, np.ndarray]:
    return put_together(learner(n_cards, seed, FAR_FROM_DEFAULTS), learner(n_cards, seed + 1000, DEFAULTS))


def sets(found: Grouping) -> set[frozenset[int]]:
    return set(found.groups)


def test_two_learners_are_told_apart_from_2000_items_each():
    split = [len(suggested(*two_learners(380, seed), 2).groups) for seed in SEEDS]
    assert split.count(2) >= 19


def test_one_learner_divided_at_random_stays_one():
    found = []
    for seed in SEEDS:
        h = learner(400, seed, FAR_FROM_DEFAULTS)
        found.append(len(suggested(h, divided(h, 2, seed), 2).groups))
    assert found == [1] * len(SEEDS)


@pytest.mark.parametrize("n_decks", [5, 8])
def test_one_learner_in_many_random_decks_stays_one(n_decks):
    found = []
    for seed in SEEDS[:6]:
        h = learner(500, seed, FAR_FROM_DEFAULTS)
        found.append(len(suggested(h, divided(h, n_decks, seed), n_decks).groups))
    assert found == [1] * 6


def test_six_decks_of_two_learners_are_sorted():
    exact = 0
    for seed in SEEDS[:5]:
        h, person = two_learners(600, seed)
        found = suggested(h, 3 * person + divided(h, 3, seed), 6)
        exact += sets(found) == {frozenset([0, 1, 2]), frozenset([3, 4, 5])}
        assert all(max(group) < 3 or min(group) >= 3 or len(group) == 6 for group in found.groups)
    assert exact >= 4


def test_too_few_reviews_are_never_divided():
    found = suggested(*two_learners(15, 1), 2)
    assert len(found.groups) == 1
    assert found.candidates == ()
    # nor is a deck of a few cards beside a large one
    h, unit = put_together(learner(400, 1, DEFAULTS), learner(12, 2, FAR_FROM_DEFAULTS))
    assert len(suggested(h, unit, 2).groups) == 1


def test_a_deck_that_cannot_be_judged_joins_what_it_fits():
    """Two learners told apart, and thirty cards more of the first in a deck of their own."""
    h, unit = put_together(
        learner(500, 1, FAR_FROM_DEFAULTS), learner(500, 2, DEFAULTS), learner(30, 3, FAR_FROM_DEFAULTS)
    )
    fits = GroupFits(training_set(h), unit, fit)
    found = split_or_merge(fits, 3)
    assert not enough(fits, frozenset([2]), found.judged)
    assert sets(found) == {frozenset([0, 2]), frozenset([1])}


def test_one_unit_and_decks_that_are_divided_by_preset_now():
    h = learner(100, 1, DEFAULTS)
    assert suggested(h, np.zeros(100, dtype=int), 1).groups == (frozenset([0]),)
    h, person = two_learners(600, 3)
    now = [frozenset([0, 1]), frozenset([2, 3])]
    found = suggested(h, 2 * person + divided(h, 2, 3), 4, now)
    assert sets(found) == set(now)
    assert set(found.candidates[0].groups) == set(now)
    assert found.candidates[0].level == pytest.approx(0.975)
    others = found.candidates[1:]
    assert [one.level for one in others] == pytest.approx([1 - 0.025 / len(others)] * len(others))


def test_all_comparisons_together_err_as_rarely_as_one():
    h = learner(500, 5, FAR_FROM_DEFAULTS)
    found = suggested(h, divided(h, 5, 5), 5)
    assert len(found.candidates) >= 2
    assert sum(1 - one.level for one in found.candidates) == pytest.approx(0.05)
    assert suggested(*two_learners(300, 1), 2).candidates[0].level == pytest.approx(0.95)


def test_proposing_cards_do_not_judge_where_there_is_a_choice():
    h = learner(300, 6, DEFAULTS)
    fits = GroupFits(training_set(h), divided(h, 3, 6), fit)
    found = split_or_merge(fits, 3)
    assert not np.any(found.judged & fits.proposing[fits.data.items.card])
    assert 0.5 < found.judged.mean() < 0.8
    assert split_or_merge(GroupFits(training_set(h), divided(h, 2, 6), fit), 2).judged.all()


def test_the_same_input_gives_the_same_advice():
    h, person = two_learners(300, 7)
    unit = 2 * person + divided(h, 2, 7)
    first, second = suggested(h, unit, 4), suggested(h, unit, 4)
    assert first.groups == second.groups
    assert [one.gain for one in first.candidates] == [one.gain for one in second.candidates]


def test_the_gain_is_the_difference_of_the_losses():
    h, unit = two_learners(300, 8)
    fits = GroupFits(training_set(h), unit, fit)
    one, two = [frozenset([0, 1])], [frozenset([0]), frozenset([1])]
    everything = np.ones(len(fits.data), dtype=bool)
    label = fits.data.items.label

    def loss(groups):
        r = together(fits, groups)
        return -np.where(label, np.log(r), np.log1p(-r)).mean()

    assert difference(fits, one, two, everything).mean == pytest.approx(loss(one) - loss(two))
    assert by_size(fits, two) == tuple(sorted(two, key=lambda g: -np.count_nonzero(fits.items(g))))


def test_later_reviews_have_a_veto(monkeypatch):
    """What held-out cards support, but reviews that came later clearly speak against, is not suggested."""
    h, unit = two_learners(400, 1)
    assert len(suggested(h, unit, 2).groups) == 2
    worse = PairedDifference(-0.01, -0.02, -0.001, 0.005, 1000, 200)
    monkeypatch.setattr(module, "gain_on_later_reviews", lambda *_: worse)
    found = suggested(h, unit, 2)
    assert found.groups == (frozenset([0, 1]),)
    assert set(found.rejected) == {frozenset([0]), frozenset([1])}
    assert found.later == worse


def test_two_learners_differ_on_later_reviews_too():
    h, unit = two_learners(600, 2)
    groups = [frozenset([0]), frozenset([1])]
    found = gain_on_later_reviews(GroupFits(training_set(h), unit, fit), groups)
    assert found.low > 0
    assert found.n_items == pytest.approx(5 / 6 * len(training_set(h)), abs=2)
    # decks of different years are compared as well as those of the same time
    time = h.review_time + np.repeat(unit == 1, np.diff(h.offsets)) * 86_400_000 * 3000
    apart = gain_on_later_reviews(GroupFits(training_set(replace(h, review_time=time)), unit, fit), groups)
    assert apart.low > 0


def test_groups_without_items_for_splits_have_no_later_reviews():
    h, unit = put_together(learner(1, 1, DEFAULTS), learner(1, 2, DEFAULTS))
    few = replace(h, delta_t=np.where(np.arange(h.n_reviews) % 7 < 3, h.delta_t, 0))
    assert gain_on_later_reviews(GroupFits(training_set(few), unit, fit), [frozenset([0])]) is None


# --- real logs; scripts/advise_simulation.py does the same with all pairs ---


def test_two_real_people_are_told_apart(shared_real: Path):
    for a, b in (("real06", "real14"), ("real03", "real11"), ("real08", "real16")):
        assert (
            len(suggested(*put_together(real_log(shared_real, a), real_log(shared_real, b)), 2).groups) == 2
        )


def test_one_real_person_stays_one(shared_real: Path):
    for name in ("real11", "real14"):
        h = real_log(shared_real, name)
        found = [len(suggested(h, divided(h, 2, seed), 2).groups) for seed in SEEDS[:10]]
        assert found == [1] * 10

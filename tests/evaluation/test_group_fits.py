"""Held-out predictions of groups, and the evidence for one law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsrs_opt.evaluation.group_fits import N_FOLDS, GroupFits, Parabola, dealt
from fsrs_opt.evaluation.score import predict_items
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews.history import subset
from fsrs_opt.reviews.items import select
from fsrs_opt.training.data import training_set
from fsrs_opt.training.fit import fit
from fsrs_opt.training.trust_region import to_z
from tests.evaluation.made_up import FAR_FROM_DEFAULTS, schedule, simulate

A, B, BOTH = frozenset([0]), frozenset([1]), frozenset([0, 1])


def fits_of(n_cards: int = 120, seed: int = 0) -> GroupFits:
    h = simulate(schedule(n_cards, seed), FAR_FROM_DEFAULTS, seed)
    return GroupFits(training_set(h), np.arange(n_cards) % 2, fit)


def test_a_card_is_dealt_the_same_whatever_else_there_is():
    ids = np.array([1_700_000_000_000, 7, 12, 1_700_000_000_001])
    fold, proposing = dealt(ids)
    for k in range(len(ids)):
        alone = dealt(ids[k : k + 1])
        assert (alone[0][0], alone[1][0]) == (fold[k], proposing[k])


def test_cards_are_dealt_evenly_and_neighbours_independently():
    fold, proposing = dealt(1_700_000_000_000 + np.arange(30_000))
    expected = 30_000 / N_FOLDS
    assert np.all(np.abs(np.bincount(fold) - expected) < 4 * np.sqrt(expected))
    assert abs(proposing.mean() - 1 / 3) < 0.012
    together = np.bincount(fold[:-1] * N_FOLDS + fold[1:]) / (30_000 / N_FOLDS**2)
    assert np.all(np.abs(together - 1) < 0.15)
    assert all(abs(proposing[fold == k].mean() - 1 / 3) < 0.03 for k in range(N_FOLDS))


def test_held_out_predictions_are_those_of_fits_to_the_other_folds():
    fits = fits_of()
    found = fits.held_out(A)
    own = training_set(subset(fits.data.histories, fits.unit == 0))
    assert len(found) == len(own) == np.count_nonzero(fits.items(A))
    fold = dealt(own.histories.card_id)[0][own.items.card]
    for k in range(N_FOLDS):
        rest = training_set(own.histories, select(own.items, fold != k))
        expected = predict_items(own, fit(rest).parameters)
        np.testing.assert_allclose(found[fold == k], expected[fold == k], atol=1e-9)


def test_outcomes_of_held_out_cards_have_no_say():
    """A card's last answer is seen by no prediction of its own history."""
    fits = fits_of()
    h = fits.data.histories
    fold, _ = dealt(h.card_id)
    rating = h.rating.copy()
    last = h.offsets[1:] - 1
    rating[last[fold == 0]] = 5 - rating[last[fold == 0]]
    other = GroupFits(training_set(replace(h, rating=rating)), fits.unit, fit)
    in_fold = fold[fits.data.items.card] == 0
    before, after = fits.held_out(BOTH), other.held_out(BOTH)
    np.testing.assert_array_equal(before[in_fold], after[in_fold])
    assert np.abs(before - after)[~in_fold].max() > 1e-6


def test_nothing_known_costs_nothing():
    nothing = Parabola(3.0, np.zeros(21), np.zeros((21, 21)))
    assert nothing.log_evidence() == pytest.approx(-3.0)


def test_evidence_of_one_direction_by_integration():
    """The prior of J in z: normal with variance 1/2 for w4 and later, around the default (z = 0)."""
    slope, curvature = np.zeros(21), np.zeros((21, 21))
    slope[8], curvature[8, 8] = -30.0, 25.0
    z = np.linspace(-20, 20, 400_001)
    log_of = 30.0 * z - 12.5 * z**2 - z**2 - np.log(np.pi) / 2
    by_hand = np.log(np.trapezoid(np.exp(log_of - log_of.max()), z)) + log_of.max()
    assert Parabola(0.0, slope, curvature).log_evidence() == pytest.approx(by_hand, rel=1e-9)
    # the same for an initial stability: variance 2, around ln default
    slope, curvature = np.zeros(21), np.zeros((21, 21))
    slope[2], curvature[2, 2] = -4.0, 2.0
    log_of = 4.0 * z - z**2 - (z - np.log(DEFAULTS[2])) ** 2 / 4 - np.log(4 * np.pi) / 2
    by_hand = np.log(np.trapezoid(np.exp(log_of - log_of.max()), z)) + log_of.max()
    assert Parabola(0.0, slope, curvature).log_evidence() == pytest.approx(by_hand, rel=1e-9)


def test_a_parabola_touches_the_loss_where_it_was_made():
    fits = fits_of(200)
    own = fits.data
    chosen = training_set(own.histories, select(own.items, fits.proposing[own.items.card]))
    w = fit(chosen).parameters
    r = predict_items(chosen, w)
    loss = -(chosen.weights * np.where(chosen.items.label, np.log(r), np.log1p(-r))).sum()
    found, z = fits.parabola(BOTH), to_z(w)
    assert found.constant + found.slope @ z + z @ found.curvature @ z / 2 == pytest.approx(loss, rel=1e-5)


def test_the_evidence_knows_one_learner_from_two():
    one = fits_of(300)
    h = one.data.histories
    other = simulate(h, DEFAULTS, 1)
    mixed = np.repeat(np.arange(h.n_cards) % 2 == 1, np.diff(h.offsets))
    two = GroupFits(training_set(replace(h, rating=np.where(mixed, other.rating, h.rating))), one.unit, fit)

    def speaks_for_one_law(fits: GroupFits) -> float:
        a, b = fits.parabola(A), fits.parabola(B)
        return (a + b).log_evidence() - a.log_evidence() - b.log_evidence()

    assert speaks_for_one_law(one) > 2
    assert speaks_for_one_law(two) < -2

"""The paired difference: by hand, and its interval on simulated cards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from fsrs_opt.evaluation.paired import _student_quantile, paired_difference


def test_mean_is_the_difference_of_the_log_losses():
    labels, a, b = np.array([True, False]), np.array([0.8, 0.3]), np.array([0.9, 0.2])
    found = paired_difference(labels, a, b, np.array([0, 1]))
    assert found.mean == pytest.approx((math.log(0.9 / 0.8) + math.log(0.8 / 0.7)) / 2)
    assert paired_difference(labels, b, a, np.array([0, 1])).mean == pytest.approx(-found.mean)


def test_standard_error_by_hand():
    # three cards with the differences d1, d2 + d3, d4: residuals sum per card, C / (C - 1) = 3 / 2
    a, b = np.array([0.5, 0.6, 0.7, 0.8]), np.array([0.6, 0.8, 0.6, 0.9])
    labels, card = np.ones(4, dtype=bool), np.array([3, 5, 5, 9])
    d = np.log(b / a)
    off = d - d.mean()
    expected = math.sqrt(1.5 * (off[0] ** 2 + (off[1] + off[2]) ** 2 + off[3] ** 2)) / 4
    found = paired_difference(labels, a, b, card)
    assert found.standard_error == pytest.approx(expected)
    assert (found.n_items, found.n_cards) == (4, 3)


def test_repeating_a_card_s_reviews_adds_no_certainty():
    rng = np.random.default_rng(0)
    labels, a, b = rng.random(200) < 0.9, rng.uniform(0.7, 0.95, 200), rng.uniform(0.7, 0.95, 200)
    once = paired_difference(labels, a, b, np.arange(200))
    five = paired_difference(*(np.repeat(x, 5) for x in (labels, a, b, np.arange(200))))
    assert five.mean == pytest.approx(once.mean)
    assert five.standard_error == pytest.approx(once.standard_error)
    independent = paired_difference(*(np.repeat(x, 5) for x in (labels, a, b)), np.arange(1000))
    assert independent.standard_error < once.standard_error / 2


def test_interval_covers_the_truth_as_often_as_it_says():
    """Cards differ in how much better b is; the mean over cards is known."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        gain = np.repeat(rng.normal(0.1, 0.3, 60), 5)  # 60 cards of 5 reviews: the truth is 0.1
        a = np.full(300, 0.4)
        found = paired_difference(np.ones(300, dtype=bool), a, 0.4 * np.exp(gain), np.arange(300) // 5)
        covered += found.low <= 0.1 <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_one_card_has_no_interval_and_no_items_no_difference():
    one = paired_difference(np.array([True]), np.array([0.5]), np.array([0.6]), np.array([4]))
    assert (one.low, one.high) == (-math.inf, math.inf)
    nothing = np.array([])
    assert paired_difference(nothing, nothing, nothing, nothing) is None


@pytest.mark.parametrize("degrees", [19, 30, 200])
@pytest.mark.parametrize("p", [0.95, 0.975, 0.995])
def test_quantile_of_student_s_t(p, degrees):
    assert _student_quantile(p, degrees) == pytest.approx(student.ppf(p, degrees), abs=2e-4)

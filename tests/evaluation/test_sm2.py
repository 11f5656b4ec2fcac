"""SM-2 by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fsrs_opt.evaluation.sm2 import sm2_retrievability
from tests.logs import history_of


def test_good_answers_grow_by_the_ease():
    # grades 4: ease stays 2.5; intervals 1, 6, 15, 38 (37.5 + 0.01 rounded)
    h = history_of([(3, 0), (3, 1), (3, 6), (3, 20), (3, 38)])
    expected = [0.9 ** (1 / 1), 0.9 ** (6 / 6), 0.9 ** (20 / 15), 0.9 ** (38 / 38)]
    np.testing.assert_allclose(sm2_retrievability(h)[1:], expected)
    assert np.isnan(sm2_retrievability(h)[0])


def test_a_lapse_starts_again_and_costs_ease():
    # Again is grade 2: ease 2.5 - 0.32 = 2.18; then 1, 6, round(6 * 2.18) = 13 days
    h = history_of([(1, 0), (3, 2), (3, 3), (3, 10), (3, 5)])
    expected = [0.9**2, 0.9 ** (3 / 1), 0.9 ** (10 / 6), 0.9 ** (5 / 13)]
    np.testing.assert_allclose(sm2_retrievability(h)[1:], expected)


def test_ease_moves_with_the_button_and_has_a_floor():
    # Easy (grade 5) adds 0.1, Hard (grade 3) takes 0.14: third interval with the ease after two answers
    easy, hard = [(4, 0), (4, 1), (4, 6), (3, 16)], [(2, 0), (2, 1), (2, 6), (3, 13)]
    assert sm2_retrievability(history_of(easy))[3] == pytest.approx(0.9 ** (16 / round(6 * 2.7)))
    assert sm2_retrievability(history_of(hard))[3] == pytest.approx(0.9 ** (13 / round(6 * 2.22)))
    lapses = [(1, 0), *[(1, 1)] * 6, (3, 1), (3, 1), (3, 6), (3, 8)]
    assert sm2_retrievability(history_of(lapses))[-1] == pytest.approx(0.9 ** (8 / round(6 * 1.3 + 0.01)))


def test_same_day_reviews_have_no_say():
    with_steps = history_of([(1, 0), (1, 0), (3, 0), (3, 2), (1, 3), (3, 0), (3, 1)])
    without = history_of([(1, 0), (3, 2), (1, 3), (3, 1)])
    found = sm2_retrievability(with_steps)
    assert np.isnan(found[[0, 1, 2, 5]]).all()
    np.testing.assert_allclose(found[[3, 4, 6]], sm2_retrievability(without)[1:])


def test_cards_do_not_mix():
    one, other = [(3, 0), (3, 1), (3, 6)], [(1, 0), (4, 2)]
    both = sm2_retrievability(history_of(one, other))
    np.testing.assert_allclose(both[1:3], sm2_retrievability(history_of(one))[1:])
    np.testing.assert_allclose(both[4:], sm2_retrievability(history_of(other))[1:])

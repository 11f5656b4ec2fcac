"""Metrics by hand, and against the definitions written out plainly. (tests/reviews/test_items.py compares log
loss and RMSE(bins) of real logs with fsrs-rs.)"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.evaluation.metrics import auc, bins, item_losses, log_loss, rmse_bins, universal_metric

NOTHING = np.array([])


def arrays(*values):
    return [np.array(value) for value in values]


# --- log loss ---


def test_log_loss_is_the_mean_cross_entropy():
    labels, r = arrays([True, False], [0.8, 0.5])
    assert log_loss(labels, r) == pytest.approx((-math.log(0.8) - math.log(0.5)) / 2)
    assert log_loss(labels, r, np.array([1, 3])) == pytest.approx((-math.log(0.8) - 3 * math.log(0.5)) / 4)


def test_log_loss_of_certain_predictions_is_finite():
    labels, r = arrays([True, False], [1.0, 1.0])
    assert log_loss(labels[:1], r[:1]) == pytest.approx(1e-7, rel=1e-6)
    assert log_loss(labels[1:], r[1:]) == pytest.approx(-math.log(1e-7))
    assert log_loss(labels[:1], np.array([0.0], dtype=np.float32)) == pytest.approx(-math.log(1e-7))


# --- RMSE(bins) ---


def test_rmse_bins_by_hand():
    # items 1 and 2 share a bin, item 3 differs from them in its lapses only
    labels, r, delta_t, count, lapses = arrays([1, 0, 1], [0.9, 0.7, 0.6], [4, 5, 4], [3, 3, 3], [0, 0, 1])
    expected = math.sqrt((2 * (0.8 - 0.5) ** 2 + 0.4**2) / 3)
    assert rmse_bins(labels, r, delta_t, count, lapses) == pytest.approx(expected)


def test_weights_weigh_bins_and_not_the_means_in_them():
    labels, r, delta_t, count, lapses = arrays([1, 0, 1], [0.9, 0.7, 0.6], [4, 5, 4], [3, 3, 3], [0, 0, 1])
    expected = math.sqrt((5 * (0.8 - 0.5) ** 2 + 2 * 0.4**2) / 7)
    assert rmse_bins(labels, r, delta_t, count, lapses, np.array([1, 4, 2])) == pytest.approx(expected)


def triple(delta_t: int, count: int, lapses: int) -> tuple[float, int, int]:
    return (
        round(2.48 * 3.62 ** math.floor(math.log(delta_t, 3.62)), 2),
        round(1.99 * 1.89 ** math.floor(math.log(count + 1, 1.89))),
        round(1.65 * 1.73 ** math.floor(math.log(lapses, 1.73))) if lapses else 0,
    )


@pytest.mark.parametrize("column", [0, 1, 2])
def test_bins_are_those_of_the_triples(column):
    values = np.unique(np.concatenate([np.arange(1, 3000), np.geomspace(3000, 2**31 - 2, 500).astype(int)]))
    if column == 2:
        values = np.concatenate([[0], values])
    of = [np.ones_like(values)] * 3
    of[column] = values
    triples = [triple(*(int(value) for value in item)) for item in zip(*of, strict=True)]
    ours = bins(*of).tolist()
    assert len(set(ours)) == len(set(triples)) == len(set(zip(ours, triples, strict=True)))


def test_bins_keep_the_three_parts_apart():
    grid = np.array(
        [(t, n, k) for t in (1, 4, 14, 48, 40000) for n in (1, 3, 6, 999) for k in (0, 1, 2, 3, 999)]
    )
    assert len(set(bins(*grid.T).tolist())) == len({triple(*item) for item in grid.tolist()}) == 100


# --- AUC ---


def test_auc_by_hand():
    assert auc(*arrays([1, 1, 0], [0.9, 0.4, 0.5])) == 0.5
    assert auc(*arrays([1, 0, 1, 0], [0.9, 0.1, 0.8, 0.2])) == 1.0
    assert auc(*arrays([0, 1], [0.9, 0.1])) == 0.0


def test_auc_of_ties_is_a_half():
    assert auc(*arrays([1, 0, 1, 0, 0], [0.9] * 5)) == 0.5
    assert auc(*arrays([1, 0, 1], [0.9, 0.9, 0.5])) == 0.25


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40))
def test_auc_is_the_share_of_pairs_in_the_right_order(items):
    recalled = [r for label, r in items if label]
    forgotten = [r for label, r in items if not label]
    measured = auc(*arrays(*zip(*items, strict=True)))
    if not recalled or not forgotten:
        assert measured is None
    else:
        right = sum((a > b) + (a == b) / 2 for a in recalled for b in forgotten)
        assert measured == pytest.approx(right / len(recalled) / len(forgotten))


# --- the universal metric ---


def test_universal_metric_by_hand():
    # B says 0.5 (floor(21^0.5) - 1 = 3) twice and 0.9 (floor(21^0.9) - 1 = 14) once; A says 0.8 throughout
    a, b, labels = arrays([0.8, 0.8, 0.8], [0.5, 0.5, 0.9], [1, 0, 1])
    a_by_b = math.sqrt((2 * (0.8 - 0.5) ** 2 + 1 * (0.8 - 1) ** 2) / 3)
    b_by_a = abs(1.9 / 3 - 2 / 3)
    assert universal_metric(a, b, labels) == pytest.approx((a_by_b, b_by_a))
    assert universal_metric(b, a, labels) == pytest.approx((b_by_a, a_by_b))


def test_universal_bins_end_at_both_sides():
    # 21^0 - 1 = 0 and 21^0.1 - 1 = 0.36 share bin 0; 21^1 - 1 = 20 and 21^0.99 - 1 = 19.4 share bin 19
    b = np.array([0.0, 0.1, 0.99, 1.0])
    a, labels = arrays([0.0, 0.2, 0.8, 1.0], [0, 0, 1, 1])
    assert universal_metric(a, b, labels)[0] == pytest.approx(0.1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_universal_metric_is_its_definition(items):
    def judged(mine, other):
        total = 0.0
        of = [min(max(math.floor(21 ** item[other]) - 1, 0), 19) for item in items]
        for each in set(of):
            members = [item for item, where in zip(items, of, strict=True) if where == each]
            total += (sum(item[mine] for item in members) - sum(item[2] for item in members)) ** 2 / len(
                members
            )
        return math.sqrt(total / len(items))

    a, b, labels = arrays(*zip(*items, strict=True))
    assert universal_metric(a, b, labels) == pytest.approx((judged(0, 1), judged(1, 0)), abs=1e-12)


# --- what is undefined, and mistakes ---


def test_without_items_everything_is_undefined():
    assert log_loss(NOTHING, NOTHING) is None
    assert rmse_bins(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING) is None
    assert auc(NOTHING, NOTHING) is None
    assert universal_metric(NOTHING, NOTHING, NOTHING) is None


def test_without_weight_everything_is_undefined():
    one, zero = np.ones(1), np.zeros(1)
    assert log_loss(one, one, zero) is None
    assert rmse_bins(one, one, one, one, zero, zero) is None


def test_losses_of_certain_predictions_are_finite():
    np.testing.assert_allclose(item_losses(*arrays([False, True], [1.0, 1.0])), [16.118, 0], atol=1e-3)


def test_one_class_has_no_auc_but_a_log_loss():
    labels, r = arrays([1, 1], [0.5, 0.9])
    assert auc(labels, r) is None
    assert log_loss(labels, r) == pytest.approx(-math.log(0.45) / 2)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="differ in shape"):
        log_loss(np.ones(3), np.ones(2))

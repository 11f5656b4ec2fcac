"""Anki's health check by hand."""

from __future__ import annotations

import pytest

from fsrs_opt.evaluation.health import health_check


def test_ratios_by_hand():
    # r = 0.9: usual log loss 0.623 * 0.36^0.738 = 0.29310; n = 1000, r^0.504 = 0.94828: usual RMSE(bins)
    # 0.0135 / -0.19172 + 0.176 / 3.22 + 0.101 = 0.08524
    found = health_check(0.2931, 0.2, recall=0.9, n_items=1000)
    assert found.log_loss_ratio == pytest.approx(1.0, abs=1e-3)
    assert found.rmse_bins_ratio == pytest.approx(0.2 / 0.08524, abs=1e-3)
    assert found.healthy is True
    assert found.reason == ""


def test_one_of_the_two_is_enough():
    bad, good = (0.4, 0.2), (0.3, 0.1)
    assert health_check(bad[0], good[1], recall=0.9, n_items=1000).healthy is True
    assert health_check(good[0], bad[1], recall=0.9, n_items=1000).healthy is True
    assert health_check(*bad, recall=0.9, n_items=1000).healthy is False


@pytest.mark.parametrize(
    ("log_loss", "recall", "n_items", "why"),
    [
        (0.3, 0.9, 300, "more than 300"),
        (0.3, 1.0, 1000, "all recalled"),
        (0.3, 0.0, 1000, "all recalled"),
        (0.3, None, 1000, "all recalled"),
        (None, 0.9, 1000, "no fits"),
    ],
)
def test_what_is_undefined_says_why(log_loss, recall, n_items, why):
    found = health_check(log_loss, 0.1, recall=recall, n_items=n_items)
    assert found.healthy is None
    assert found.log_loss_ratio is None
    assert why in found.reason

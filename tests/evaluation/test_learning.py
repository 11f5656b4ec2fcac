"""When to optimize again: the curve's fit, and the advice that follows from it."""

from __future__ import annotations

import numpy as np
import pytest

from fsrs_opt.evaluation.learning import WORTH, PastGain, _fit_curve, learning_curve
from fsrs_opt.evaluation.time_series import SplitFit, TimeSeries, no_time_series
from fsrs_opt.model.parameters import DEFAULTS

PAIRS = [(100, 200), (100, 300), (200, 300), (100, 400), (200, 400), (300, 400)]


def gains(b: float, c: float) -> list[PastGain]:
    return [PastGain(n, m, b * (1 / n - 1 / m) + c * (m - n), 1e-3) for n, m in PAIRS]


@pytest.mark.parametrize(("b", "c"), [(2.0, 0.0), (0.0, 1e-5), (1.5, 2e-6), (0.0, 0.0)])
def test_the_curve_is_found_again(b, c):
    assert _fit_curve(gains(b, c)) == pytest.approx((b, c), abs=1e-9)


def test_neither_part_is_ever_negative():
    assert _fit_curve(gains(-1.0, -1e-6)) == (0, 0)
    b, c = _fit_curve(gains(2.0, -1e-6))
    assert b > 0
    assert c == 0


def series_with(losses_after: dict[tuple[int, int], float], n: int = 60) -> TimeSeries:
    """Four splits of n items each, recalled throughout. losses_after[fit, split]: log loss of a fit there."""
    split = np.repeat(np.arange(4, dtype=np.int8), n)
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.001, 4 * n)
    of_fit = np.array(
        [
            np.exp(-np.array([losses_after.get((fit, s), 0.3) for s in split]) + noise * (fit + 1))
            for fit in range(4)
        ]
    )
    return TimeSeries(
        fits=tuple(SplitFit(DEFAULTS, n * (k + 1), n, "all") for k in range(4)),
        first=n,
        split=split,
        label=np.ones(4 * n, dtype=bool),
        card=np.arange(4 * n) % 40,
        predictions={"new": of_fit[split, np.arange(4 * n)]},
        of_fit=of_fit,
    )


def test_older_fits_are_judged_after_newer_ones():
    b = 6.0
    losses = {(fit, s): 0.2 + b / (60 * (fit + 1)) for fit in range(4) for s in range(4)}
    found = learning_curve(series_with(losses), 300)
    assert [(one.n_before, one.n_after) for one in found.past] == [
        *((60, 120), (60, 180), (120, 180)),
        *((60, 240), (120, 240), (180, 240)),
    ]
    assert found.past[0].gain == pytest.approx(b * (1 / 60 - 1 / 120), abs=1e-3)
    assert found.b == pytest.approx(b, rel=0.05)
    assert found.log_loss == pytest.approx([0.2 + b / (60 * (k + 1)) for k in range(4)], abs=1e-3)
    assert found.n_train == (60, 120, 180, 240)


def test_the_curve_starts_at_nothing_and_grows():
    losses = {(fit, s): 0.2 + 6 / (60 * (fit + 1)) for fit in range(4) for s in range(4)}
    found = learning_curve(series_with(losses), 300)
    assert found.expected_gain[0] == 0
    assert (np.diff(found.expected_gain) >= 0).all()
    assert (found.new_reviews[0], found.new_reviews[-1]) == (0, 600)
    assert 30 <= found.optimize_after <= 300
    m = found.optimize_after
    gain = found.b * (1 / 300 - 1 / (300 + m)) + found.c * m
    assert gain == pytest.approx(WORTH, rel=0.2) or m == 30  # not before a tenth more


def test_where_nothing_was_gained_there_is_no_hurry():
    found = learning_curve(series_with({}), 300)
    assert found.optimize_after == 300
    assert "no hurry" in found.advice


def test_too_few_fits_say_why():
    found = learning_curve(no_time_series(20), 20)
    assert found.b is None
    assert found.optimize_after is None
    assert found.reason == "no splits were fitted"
    assert len(found.new_reviews) == 0

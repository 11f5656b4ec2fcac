"""Parameters of FSRS: conversion of older sets, ranges, the ceiling of same-day growth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsrs_opt.model import parameters
from fsrs_opt.model.parameters import DEFAULTS, LOWER, UPPER, clip, convert, same_day_ceiling


def test_nineteen_values_gain_no_slowing_and_the_old_decay() -> None:
    old = [float(k) for k in range(19)]
    assert convert(old).tolist() == [*old, 0.0, 0.5]


def test_seventeen_values_convert_by_the_published_formula() -> None:
    old = [0.4, 0.9, 2.3, 10.9, 4.93, 0.94, 0.86, 0.01, 1.49, 0.14, 0.94, 2.18, 0.05, 0.34, 1.26, 0.29, 2.61]
    new = convert(old)
    assert new[4] == pytest.approx(4.93 + 2 * 0.94)
    assert new[5] == pytest.approx(math.log(3 * 0.94 + 1) / 3)
    assert new[6] == pytest.approx(0.86 + 0.5)
    assert new[17:].tolist() == [0.0, 0.0, 0.0, 0.5]
    untouched = [k for k in range(17) if k not in (4, 5, 6)]
    assert new[untouched].tolist() == [old[k] for k in untouched]


@pytest.mark.parametrize("n", [0, 1, 16, 18, 20, 22])
def test_other_lengths_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="21"):
        convert([1.0] * n)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        convert([*DEFAULTS[:20], bad])


def test_seventeen_values_without_a_logarithm_are_refused() -> None:
    with pytest.raises(ValueError, match="w5"):
        convert([1.0] * 5 + [-1.0] + [1.0] * 11)


def test_converted_sets_keep_their_zero_w19() -> None:
    assert clip(convert([*DEFAULTS[:19]]), given=True)[19] == 0.0
    assert clip(convert([*DEFAULTS[:19]]))[19] == 0.01


def test_defaults_lie_inside_their_ranges() -> None:
    assert clip(DEFAULTS).tolist() == DEFAULTS.tolist()


def test_without_short_term_the_same_day_weights_are_zero() -> None:
    assert clip(DEFAULTS, short_term=False)[17:20].tolist() == [0.0, 0.0, 0.0]


def test_two_relearning_steps_leave_the_defaults_alone() -> None:
    assert clip(DEFAULTS, relearning_steps=2)[17:20].tolist() == [0.5425, 0.0912, 0.0658]


def test_ceiling_of_several_relearning_steps() -> None:
    w11, w13, w14 = 1.4835, 0.2629, 1.6483
    by_hand = math.sqrt(-(math.log(w11) + math.log(2**w13 - 1) + 0.3 * w14) / 2)
    assert same_day_ceiling(DEFAULTS, 2) == pytest.approx(by_hand)
    w = DEFAULTS.copy()
    w[17] = w[18] = 2.0
    assert clip(w, relearning_steps=2)[17:19] == pytest.approx([by_hand, by_hand])
    assert same_day_ceiling(DEFAULTS, 1) == same_day_ceiling(DEFAULTS, 0) == 2.0


@given(st.lists(st.floats(-1e3, 1e3), min_size=21, max_size=21), st.integers(0, 5))
def test_clip_ends_inside_and_stays(values: list[float], steps: int) -> None:
    once = clip(np.array(values), relearning_steps=steps)
    assert (once >= LOWER).all()
    assert (once <= UPPER).all()
    assert clip(once, relearning_steps=steps).tolist() == once.tolist()


def test_every_parameter_has_a_meaning() -> None:
    assert len(parameters.MEANINGS) == len(set(parameters.MEANINGS)) == 21

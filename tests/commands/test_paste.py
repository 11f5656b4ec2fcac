from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fsrs_opt.commands.paste import paste_line, rounded
from fsrs_opt.model.parameters import DEFAULTS, LOWER, UPPER, clip, same_day_ceiling


def test_the_defaults_as_anki_shows_them() -> None:
    assert paste_line(DEFAULTS) == (
        "0.2120, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.0010, 1.8722, 0.1666, 0.7960, "
        "1.4835, 0.0614, 0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542"
    )


@given(arrays(np.float64, 21, elements=st.floats(0, 1)), st.integers(0, 6))
def test_rounded_parameters_stay_in_range_in_order_and_under_their_ceiling(
    place: np.ndarray, steps: int
) -> None:
    w = LOWER + place * (UPPER - LOWER)
    w[:4] = np.sort(w[:4])
    w = clip(w, relearning_steps=steps)
    line = paste_line(w, relearning_steps=steps)
    short = np.array([float(word) for word in line.split(",")])
    assert np.all(short >= LOWER)
    assert np.all(short <= UPPER)
    assert np.all(np.diff(short[:4]) >= 0)
    assert np.all(short[17:19] <= same_day_ceiling(short, steps))
    others = np.delete(np.arange(21), (17, 18))
    assert np.abs(short - w)[others].max() <= 5.0001e-5
    assert np.array_equal(clip(short, relearning_steps=steps), short)  # nothing would change it any more


def test_the_parameters_given_are_not_changed() -> None:
    w = DEFAULTS + 0.00004
    before = w.copy()
    rounded(w, relearning_steps=3)
    assert np.array_equal(w, before)

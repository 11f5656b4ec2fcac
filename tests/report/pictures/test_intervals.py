from __future__ import annotations

import numpy as np
import pytest

from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.report.pictures.intervals import N_REVIEWS, answers


def test_first_intervals_are_the_initial_stabilities_at_90_percent() -> None:
    # R(S, S) = 0.9, so the interval is w0..w3 in whole days, at least one
    assert answers(DEFAULTS, 0.9)[0].tolist() == [1, 1, 2, 8]


def test_a_life_of_good_answers_worked_out_by_hand() -> None:
    w = DEFAULTS
    decay = -w[20]
    factor = 0.9 ** (1 / decay) - 1
    s, d = w[2], w[4] - np.exp(w[5] * 2) + 1
    for days in answers(w, 0.8)[:, 2].tolist():
        interval = s / factor * (0.8 ** (1 / decay) - 1)
        assert days == min(max(1, round(interval)), 36500)
        r = (1 + factor * days / s) ** decay
        s *= 1 + np.exp(w[8]) * (11 - d) * s ** -w[9] * (np.exp(w[10] * (1 - r)) - 1)
        easiest = w[4] - np.exp(3 * w[5]) + 1
        d = np.clip(w[7] * (easiest - d) + d, 1, 10)  # Good changes difficulty only towards the mean


@pytest.mark.parametrize("retention", [0.7, 0.9, 0.99])
def test_better_answers_never_come_back_sooner(retention: float) -> None:
    table = answers(DEFAULTS, retention)
    assert table.shape == (N_REVIEWS, 4)
    assert np.all(np.diff(table, axis=1) >= 0)
    assert table.min() >= 1

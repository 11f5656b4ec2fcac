from __future__ import annotations

import numpy as np

from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.report.pictures.growth import factor


def test_growth_is_that_of_the_formula_for_good() -> None:
    w, s = DEFAULTS, 10.0
    d, r = np.array([2.0, 9.0]), np.array(0.85)
    expected = 1 + np.exp(w[8]) * (11 - d) * s ** -w[9] * (np.exp(w[10] * (1 - 0.85)) - 1)
    np.testing.assert_allclose(factor(w, s, d, r), expected, rtol=1e-12)

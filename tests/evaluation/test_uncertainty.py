"""Posterior, bands and shares, against cases with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fsrs_opt.evaluation.score import all_reviews
from fsrs_opt.evaluation.uncertainty import (
    forgetting_curves,
    posterior,
    predicted_recall,
    recall_band,
)
from fsrs_opt.model.fsrs6 import forgetting_curve
from fsrs_opt.model.parameters import DEFAULTS, LOWER, SIGMA, UPPER
from fsrs_opt.training.data import TrainingSet, training_set
from fsrs_opt.training.fit import FitResult, fit
from tests.evaluation.made_up import FAR_FROM_DEFAULTS, schedule, simulate

Z90 = 1.6448536


@pytest.fixture(scope="module")
def data() -> TrainingSet:
    return training_set(simulate(schedule(150, 2), FAR_FROM_DEFAULTS, 2))


@pytest.fixture(scope="module")
def fitted(data: TrainingSet) -> FitResult:
    return fit(data)


def inside() -> np.ndarray:
    w = DEFAULTS.copy()
    w[7] = 0.1  # its default is its lower limit
    return w


def test_without_data_it_is_the_prior():
    # ((w - default) / sigma)^2 is a normal of variance sigma^2 / 2; (ln(w / default) / 2)^2 one of variance 2
    found = posterior(inside(), np.zeros((21, 21)))
    np.testing.assert_allclose(np.diag(found.covariance), [2] * 4 + [0.5] * 17)
    assert found.low[0] == pytest.approx(DEFAULTS[0] * np.exp(-Z90 * np.sqrt(2)))
    assert found.high[4] == pytest.approx(DEFAULTS[4] + Z90 * SIGMA[4] / np.sqrt(2))
    np.testing.assert_allclose(found.data_share, 0, atol=1e-9)
    assert found.effective_parameters == pytest.approx(0, abs=1e-9)


def test_information_equal_to_the_prior_s_counts_half():
    fisher = np.zeros((21, 21))
    fisher[9, 9] = 2 / SIGMA[9] ** 2
    found = posterior(inside(), fisher)
    assert found.data_share[9] == pytest.approx(50)
    assert found.effective_parameters == pytest.approx(0.5)
    assert found.covariance[9, 9] == pytest.approx(0.25)


def test_what_is_at_a_limit_is_held_and_its_interval_one_sided():
    w = DEFAULTS.copy()
    w[19], w[16] = LOWER[19], UPPER[16]
    found = posterior(w, np.zeros((21, 21)))
    assert found.held[[7, 16, 19]].all()
    assert np.isnan(found.data_share[[7, 16, 19]]).all()
    assert (found.covariance[[7, 16, 19]] == 0).all()
    assert found.low[19] == LOWER[19]
    # half a normal of variance sigma^2 / 2 holds 90 % within 1.645 standard deviations
    assert found.high[19] == pytest.approx(LOWER[19] + Z90 * SIGMA[19] / np.sqrt(2))
    assert found.high[16] == UPPER[16]
    assert found.low[16] == pytest.approx(UPPER[16] - Z90 * SIGMA[16] / np.sqrt(2))


def test_without_short_term_its_parameters_are_known():
    w = DEFAULTS.copy()
    w[17:20] = 0
    found = posterior(w, np.eye(21), short_term=False)
    assert found.held[17:20].all()
    assert (found.low[17:20] == 0).all()
    assert (found.high[17:20] == 0).all()


def test_initial_stabilities_that_lie_on_each_other_move_as_one():
    w = inside()
    w[1] = w[2]
    fisher = np.zeros((21, 21))
    fisher[2, 2] = 9.5 / w[2] ** 2  # in ln w: 9.5, with both priors' 1/2 together 10.5
    found = posterior(w, fisher)
    np.testing.assert_allclose(found.covariance[1:3, 1:3], 1 / 10.5)


def test_it_is_the_inverse_of_the_curvature_of_j(fitted: FitResult):
    """In z, without limits: (Fisher + prior)^-1."""
    found = posterior(fitted.parameters, fitted.fisher)
    scale = np.concatenate([fitted.parameters[:4], SIGMA[4:]])
    precision = fitted.fisher * np.outer(scale, scale) + np.diag([0.5] * 4 + [2.0] * 17)
    free = ~found.held
    expected = np.linalg.inv(precision[np.ix_(free, free)])
    np.testing.assert_allclose(found.covariance[np.ix_(free, free)], expected, rtol=1e-6)
    assert (found.low <= fitted.parameters).all()
    assert (fitted.parameters <= found.high).all()
    assert 0 < found.effective_parameters < 21
    assert found.effective_parameters == pytest.approx(np.nansum(found.data_share) / 100, rel=1e-6)


def test_band_by_hand():
    # one parameter with standard deviation 0.1, dR/dz = 0.2 at R = 0.8: logit off by 1.645 * 0.02 / 0.16
    covariance = np.zeros((21, 21))
    covariance[3, 3] = 0.01
    by_z = np.zeros((1, 21))
    by_z[0, 3] = 0.2
    found = recall_band(np.array([0.8]), by_z, covariance)
    reach = np.exp(Z90 * 0.02 / 0.16)
    assert found.low[0] == pytest.approx(4 / reach / (1 + 4 / reach))
    assert found.high[0] == pytest.approx(4 * reach / (1 + 4 * reach))


def test_forgetting_curves(fitted: FitResult):
    found = posterior(fitted.parameters, fitted.fisher)
    curves = forgetting_curves(found, longest=100)
    assert [one.first_rating for one in curves] == [1, 2, 3, 4]
    w = torch.tensor(fitted.parameters)
    for one in curves:
        assert (one.delta_t[0], one.delta_t[-1]) == (0, 100)
        expected = forgetting_curve(torch.tensor(one.delta_t), w[one.first_rating - 1], w)
        np.testing.assert_allclose(one.band.recall, expected)
        assert (one.band.low <= one.band.recall).all()
        assert (one.band.recall <= one.band.high).all()
        assert one.band.high[0] == pytest.approx(1)


def test_the_curve_s_band_is_that_of_a_prediction_after_one_review(
    fitted: FitResult, data: TrainingSet
) -> None:
    """Derivatives by formula, against numeric ones through the whole model."""
    found = posterior(fitted.parameters, fitted.fisher)
    which = data.items.review[data.items.long_term_count == 1]
    h = data.histories
    alone = which[h.delta_t[which - 1] == 0][:50]
    alone = alone[np.isin(alone - 1, h.offsets[:-1])]  # no same-day review in between
    band = predicted_recall(all_reviews(data), alone, found)
    for k, review in enumerate(alone.tolist()):
        days, rating = float(h.delta_t[review]), int(h.rating[review - 1])
        curve = forgetting_curves(found, longest=days)[rating - 1].band
        assert band.recall[k] == pytest.approx(curve.recall[-1], abs=1e-5)
        assert band.low[k] == pytest.approx(curve.low[-1], abs=2e-4)
        assert band.high[k] == pytest.approx(curve.high[-1], abs=2e-4)

"""The solver: it goes down, keeps every limit at every accepted point, and ends at a minimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.model.fsrs6 import FSRS6
from fsrs_opt.model.parameters import DEFAULTS, bounds, clip, same_day_ceiling
from fsrs_opt.model.pass_result import PassResult
from fsrs_opt.training.data import training_set
from fsrs_opt.training.fit import fit
from fsrs_opt.training.objective import MapPrior, Objective
from fsrs_opt.training.recipes import map_objective
from fsrs_opt.training.solver import Solver
from fsrs_opt.training.step import training_step
from fsrs_opt.training.trust_region import to_w, to_z
from tests.logs import fsrs_rs_items, real_index, real_log

LOGS = ["real36", "real22", "real21", "real14", "real16", "real08", "real11"]


def test_coordinates_are_those_of_the_prior() -> None:
    rng = np.random.default_rng(0)
    w = DEFAULTS * np.exp(rng.normal(size=21) / 10)
    np.testing.assert_allclose(to_w(to_z(w)), w, rtol=1e-14)
    z, middle = to_z(w), to_z(DEFAULTS)
    value, _ = MapPrior()(w)
    assert value == pytest.approx(((z - middle)[:4] ** 2).sum() / 4 + (z[4:] ** 2).sum())


class Bowl:
    """A quadratic objective in z with its minimum at a known place."""

    def __init__(self, centre: np.ndarray) -> None:
        self.centre = centre

    def evaluate(self, w: np.ndarray, *, fisher: bool = False) -> PassResult:
        z_by_w = np.concatenate([1 / w[:4], to_z(DEFAULTS + 1)[4:] - to_z(DEFAULTS)[4:]])
        off = to_z(w) - self.centre
        return PassResult(
            loss=float(50 * (off**2).sum()),
            gradient=100 * off * z_by_w,
            fisher=np.diag(100 * z_by_w**2) if fisher else None,
        )


def solve(objective: object, w: np.ndarray = DEFAULTS, **kwargs: object) -> tuple[Solver, FSRS6]:
    model = FSRS6(w, **kwargs)
    solver = Solver(model)
    while not solver.done:
        training_step(model, objective, solver)
    return solver, model


def test_it_finds_a_minimum_inside_the_box() -> None:
    target = DEFAULTS * 1.05
    solver, model = solve(Bowl(to_z(target)))
    assert solver.converged
    np.testing.assert_allclose(model.parameters_array(), target, rtol=1e-3)


def test_it_ends_on_the_order_of_the_initial_stabilities() -> None:
    target = DEFAULTS.copy()
    target[1], target[2] = 8.0, 2.0  # wants w1 above w2: the best ordered pair is their geometric mean
    _, model = solve(Bowl(to_z(target)))
    assert model.parameters_array()[1:3] == pytest.approx([4.0, 4.0], rel=1e-3)


def test_it_ends_on_the_limits_of_the_box() -> None:
    target = DEFAULTS.copy()
    target[20], target[16], target[15] = 3.0, 0.2, -1.0
    _, model = solve(Bowl(to_z(target)))
    assert model.parameters_array()[[20, 16, 15]].tolist() == [0.8, 1.0, 0.0]


def test_it_stops_at_its_cap_and_says_so() -> None:
    model = FSRS6()
    solver = Solver(model, max_passes=2)
    objective = Bowl(to_z(DEFAULTS * 1.5))
    for _ in range(2):
        training_step(model, objective, solver)
    assert solver.done
    assert not solver.converged
    assert objective.evaluate(model.parameters_array()).loss == solver.objective


@pytest.mark.parametrize("steps", [2, 3, 5])
def test_every_accepted_point_obeys_the_ceiling_of_relearning_steps(shared_real: Path, steps: int) -> None:
    data = training_set(real_log(shared_real, "real14"))
    objective = map_objective(data)
    model = FSRS6(relearning_steps=steps)
    solver = Solver(model)
    last = np.inf
    while not solver.done:
        training_step(model, objective, solver)
        w = model.parameters_array()
        assert (w[17:19] <= same_day_ceiling(w, steps)).all()
        assert (np.diff(w[:4]) >= 0).all()
        assert (w >= bounds()[0]).all()
        assert (w <= bounds()[1]).all()
        assert solver.objective <= last
        last = solver.objective
    assert solver.converged
    # no better point nearby that obeys its own ceiling: the end is a minimum under the moving ceiling
    rng = np.random.default_rng(steps)
    w = model.parameters_array()
    for _ in range(60):
        near = clip(to_w(to_z(w) + rng.normal(size=21) * 0.05), relearning_steps=steps)
        near[:4] = np.sort(near[:4])
        assert objective.evaluate(near).loss >= last - 0.01


@pytest.mark.parametrize("name", LOGS)
def test_objective_is_at_most_that_of_fsrs_rs(shared_real: Path, name: str) -> None:
    fsrs_rs = pytest.importorskip("fsrs_rs_python")
    data = training_set(real_log(shared_real, name))
    result = fit(data)
    objective = map_objective(data)
    their_items, card_ids = fsrs_rs_items(fsrs_rs, data.histories, data.items)
    model = fsrs_rs.FSRS(fsrs_rs.DEFAULT_PARAMETERS)
    for ids in (card_ids, None):
        theirs = clip(np.array(model.compute_parameters(their_items, ids)), given=True)
        assert result.objective is not None
        assert result.objective <= objective.evaluate(theirs).loss


@pytest.mark.parametrize("name", ["real36", "real21", "real16"])
def test_a_search_from_other_starts_finds_nothing_better(shared_real: Path, name: str) -> None:
    data = training_set(real_log(shared_real, name))
    found = fit(data).objective
    objective = map_objective(data)
    rng = np.random.default_rng(3)
    others = []
    for _ in range(6):
        start = clip(to_w(to_z(DEFAULTS) + rng.normal(size=21) * 0.4))
        start[:4] = np.sort(start[:4])
        others.append(solve(objective, start)[0].objective)
    assert found is not None
    assert found <= min(others) * (1 + 1e-4)


def test_real_logs_are_all_there(shared_real: Path) -> None:
    assert set(LOGS) <= {row["name"] for row in real_index(shared_real)}


def test_an_objective_that_is_not_finite_at_the_start_is_an_error() -> None:
    class Broken:
        def evaluate(self, w: np.ndarray, *, fisher: bool = False) -> PassResult:
            return PassResult(float("nan"), np.zeros(21), np.eye(21))

    model = FSRS6()
    with pytest.raises(FloatingPointError, match="finite"):
        training_step(model, Objective(Broken(), MapPrior()), Solver(model))

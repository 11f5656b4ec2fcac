"""The training step: w0..w3 keep their bits while frozen, and move when pretrain did not set them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fsrs_opt.model.fsrs6 import FSRS6
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.training.objective import MapPrior, Objective
from fsrs_opt.training.solver import Solver
from fsrs_opt.training.step import freeze_initial_stability, training_step
from tests.model.cases import reference_batch, windowed

OPTIMIZERS = {
    "adam": lambda w: torch.optim.Adam([w], lr=0.04),
    "adamw": lambda w: torch.optim.AdamW([w], lr=0.04, weight_decay=0.5),
    "sgd with momentum": lambda w: torch.optim.SGD(
        [w], lr=1e-3, momentum=0.9, weight_decay=0.1, nesterov=True
    ),
    "rmsprop": lambda w: torch.optim.RMSprop([w], lr=1e-3, momentum=0.9, weight_decay=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("start", ["defaults", "at the limits"])
def test_frozen_weights_keep_their_bits(name: str, start: str) -> None:
    w = DEFAULTS.copy()
    if start == "at the limits":
        w[0], w[3] = 0.001, 100.0
    model = FSRS6(w)
    optimizer = OPTIMIZERS[name](model.w)
    objective = Objective(reference_batch(), MapPrior())
    for _ in range(3):  # momentum for all weights, from before the freeze
        training_step(model, objective, optimizer)
    with torch.no_grad():
        model.w[:4] = torch.tensor(w[:4])
    freeze_initial_stability(model)
    before = model.parameters_array()
    for _ in range(20):
        out = training_step(model, objective, optimizer)
        assert not out.gradients.grad(model.w)[:4].any()
        assert out.gradients.grad(model.w)[4:].any()
    after = model.parameters_array()
    assert after[:4].tobytes() == before[:4].tobytes()
    assert (after[4:] != before[4:]).sum() >= 12  # the others may be at a limit already


def test_frozen_weights_keep_their_bits_in_the_solver() -> None:
    w = DEFAULTS.copy()
    w[0], w[3] = 0.001, 100.0
    model = FSRS6(w)
    freeze_initial_stability(model)
    solver = Solver(model)
    cards = [[(0, k % 4 + 1), (1, 3), (3, k % 4 + 1), (9, 3), (0, 3), (20, k % 2 + 1)] for k in range(60)]
    objective = Objective(windowed(cards), MapPrior())
    while not solver.done:
        training_step(model, objective, solver)
        assert model.parameters_array()[:4].tobytes() == w[:4].tobytes()
    moved = np.flatnonzero(model.parameters_array() != w)
    # w7 starts at its lower limit, where these cards may hold it
    assert {*moved.tolist(), 7} == set(range(4, 21))


def test_weights_move_when_nothing_froze_them() -> None:
    model = FSRS6()
    training_step(model, reference_batch(), torch.optim.Adam([model.w], lr=0.04))
    assert (model.parameters_array()[:4] != DEFAULTS[:4]).all()


def test_a_frozen_weight_outside_its_range_is_brought_in_with_a_warning() -> None:
    model = FSRS6()
    with torch.no_grad():
        model.w[0] = -5.0
    with pytest.warns(UserWarning, match="outside"):
        freeze_initial_stability(model)
    assert model.w[0].item() == 0.001


def test_the_step_leaves_no_gradient_behind() -> None:
    model = FSRS6()
    training_step(model, reference_batch(), torch.optim.Adam([model.w]))
    assert model.w.grad is None

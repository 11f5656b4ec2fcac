"""How a stage is run: `map` to the minimum of J with the solver, `classic` with Adam on mini-batches.

Both take `training_step`, one step after another, until their stage is over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from fsrs_opt.model.fsrs6 import FSRS6
from fsrs_opt.training.data import TrainingSet, kept_by_filter, mini_batches, windowed_batch
from fsrs_opt.training.objective import ClassicPrior, LastPass, MapPrior, Objective
from fsrs_opt.training.solver import Solver
from fsrs_opt.training.step import training_step
from fsrs_opt.training.trust_region import FISHER_STEPS, PATIENCE, PROMISE

CLASSIC_BATCH_SIZE = 512
CLASSIC_EPOCHS = 5
CLASSIC_LEARNING_RATE = 0.04


@dataclass(frozen=True)
class Effort:
    """How far the solver goes, and how (see `trust_region.TrustRegion`)."""

    promise: float = PROMISE
    patience: int = PATIENCE
    fisher_steps: int = FISHER_STEPS


FULL_EFFORT = Effort()
# When finetune follows train it goes on from near the minimum: fewer passes in all to the same J.
BEFORE_FINETUNE = Effort(promise=3.0, patience=1)
AFTER_TRAIN = Effort(fisher_steps=1)


@dataclass(frozen=True)
class Progress:
    """Where training stands: passes over the data so far in this stage, of at most `total` or None."""

    stage: str
    passes: int
    total: int | None
    objective: float


ProgressCallback = Callable[[Progress], None]
"""Called after each step; whatever it raises ends the training."""


@dataclass(frozen=True)
class Stage:
    """A stage that was run: passes over all reviews, J at its end (in both recipes), whether it converged."""

    name: str
    passes: int
    objective: float
    converged: bool


def map_objective(data: TrainingSet, *, device: str = "cpu", kernel: str | None = None) -> Objective:
    """J of a training set: weighted loss of all its items plus the prior."""
    return Objective(windowed_batch(data, device=device, kernel=kernel), MapPrior())


def run_map(
    model: FSRS6,
    objective: LastPass,
    name: str,
    progress: ProgressCallback | None,
    *,
    effort: Effort = FULL_EFFORT,
    kernel: str | None = None,
) -> tuple[Stage, float]:
    """Steps of the solver until it promises too little to go on (or its cap is reached).

    Returns the stage and J at its start.
    """
    solver = Solver(
        model,
        promise=effort.promise,
        patience=effort.patience,
        fisher_steps=effort.fisher_steps,
        kernel=kernel,
        onward=objective.compiled if progress is None else None,
    )
    start: float | None = None
    passes, reused = 0, objective.reused
    while not solver.done:
        loss = training_step(model, objective, solver).loss
        start = loss if start is None else start
        passes = solver.passes - (objective.reused - reused)
        if progress is not None:
            progress(Progress(name, passes, None, solver.objective))
    if solver.last is not None:
        objective.remember(*solver.last)
    assert start is not None
    return Stage(name, passes, solver.objective, solver.converged), start


def run_classic(
    model: FSRS6,
    data: TrainingSet,
    name: str,
    progress: ProgressCallback | None,
    *,
    device: str = "cpu",
    kernel: str | None = None,
    seed: int = 0,
) -> None:
    """The field's usual way: 5 epochs of Adam on mini-batches of 512 items, cosine learning rate.

    fsrs-rs's objective: outlier filter, prior around the parameters that the stage starts from.
    """
    kept = kept_by_filter(data)
    prior = ClassicPrior(model.parameters_array())
    batches = [
        Objective(batch, prior, share=len(batch.labels) / len(kept))
        for batch in mini_batches(kept, CLASSIC_BATCH_SIZE, device=device, kernel=kernel)
    ]
    adam = torch.optim.Adam([model.w], betas=(0.9, 0.999), eps=1e-8)
    shuffle = torch.Generator().manual_seed(seed)
    steps, total = 0, CLASSIC_EPOCHS * len(batches)
    for epoch in range(1, CLASSIC_EPOCHS + 1):
        objective = 0.0
        for k in torch.randperm(len(batches), generator=shuffle).tolist():
            rate = CLASSIC_LEARNING_RATE * (1 + math.cos(math.pi * steps / total)) / 2
            objective += training_step(model, batches[k], adam, lr=rate).loss
            steps += 1
            if progress is not None:
                progress(Progress(name, epoch, CLASSIC_EPOCHS, objective))

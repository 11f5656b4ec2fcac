"""Stages of training, one `training_step` after another: every recipe, kernel and device.

`map` goes to the minimum of J with the solver, `classic` with Adam over mini-batches.
"""

from __future__ import annotations

import math

import torch

from fsrs_opt.model.fsrs6 import FSRS6
from fsrs_opt.model.parameters import FloatArray
from fsrs_opt.training.data import TrainingSet, kept_by_filter
from fsrs_opt.training.mini_batches import mini_batches
from fsrs_opt.training.objective import ClassicPrior, LastPass, Objective
from fsrs_opt.training.recipes import Effort, Progress, Stage, StageSettings
from fsrs_opt.training.solver import Solver
from fsrs_opt.training.step import freeze_initial_stability, training_step

CLASSIC_BATCH_SIZE = 512
CLASSIC_EPOCHS = 5
CLASSIC_LEARNING_RATE = 0.04


class Stepwise:
    """A model that stages train, one after another from parameters `w` [21] on.

    objective: J of the training set.
    """

    def __init__(self, w: FloatArray, objective: Objective, settings: StageSettings) -> None:
        self.model = FSRS6(
            w,
            device=settings.device,
            relearning_steps=settings.relearning_steps,
            short_term=settings.short_term,
        )
        self._objective = LastPass(objective)
        self._settings = settings

    @property
    def w(self) -> FloatArray:
        """The parameters so far [21]."""
        return self.model.parameters_array()

    def run_map(self, name: str, *, frozen: bool, effort: Effort) -> tuple[Stage, float]:
        """See `recipes.MapTrainer`."""
        objective = self._objective
        solver = Solver(
            self.model,
            promise=effort.promise,
            patience=effort.patience,
            fisher_steps=effort.fisher_steps,
            max_passes=effort.max_passes,
        )
        self._freeze(frozen)
        start: float | None = None
        passes, reused = 0, objective.reused
        while not solver.done:
            loss = training_step(self.model, objective, solver).loss
            start = loss if start is None else start
            passes = solver.passes - (objective.reused - reused)
            self._tell(Progress(name, passes, None, solver.objective))
        assert start is not None
        return Stage(name, passes, solver.objective, solver.converged), start

    def run_classic(self, name: str, data: TrainingSet, *, frozen: bool, seed: int) -> Stage:
        """The field's usual way: 5 epochs of Adam on mini-batches of 512 items, cosine learning rate.

        fsrs-rs's objective: outlier filter, prior around the parameters that the stage starts from. The
        stage's objective is J, as after the other recipe.
        """
        model = self.model
        self._freeze(frozen)
        kept = kept_by_filter(data)
        prior = ClassicPrior(self.w)
        device, kernel = self._settings.device, self._settings.kernel
        batches = [
            Objective(batch, prior, share=len(batch.labels) / len(kept))
            for batch in mini_batches(kept, CLASSIC_BATCH_SIZE, device=device, kernel=kernel)
        ]
        adam = torch.optim.Adam([model.w], betas=(0.9, 0.999), eps=1e-8)
        shuffle = torch.Generator().manual_seed(seed)
        steps, total = 0, CLASSIC_EPOCHS * len(batches)
        for epoch in range(1, CLASSIC_EPOCHS + 1):
            loss = 0.0
            for k in torch.randperm(len(batches), generator=shuffle).tolist():
                rate = CLASSIC_LEARNING_RATE * (1 + math.cos(math.pi * steps / total)) / 2
                loss += training_step(model, batches[k], adam, lr=rate).loss
                steps += 1
                self._tell(Progress(name, epoch, CLASSIC_EPOCHS, loss))
        return Stage(name, CLASSIC_EPOCHS, self._objective.evaluate(self.w).loss, converged=True)

    def _freeze(self, frozen: bool) -> None:
        """Whether this stage holds w0..w3. (What progress raised may have ended the one before.)"""
        self.model.initial_stability_frozen = False
        if frozen:
            freeze_initial_stability(self.model)

    def _tell(self, where: Progress) -> None:
        if self._settings.progress is not None:
            self._settings.progress(where)

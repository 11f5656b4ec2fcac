"""What a stage of training is: how far it goes, what is told of it, and what it minimizes.

It is run by compiled.py or by stepwise.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fsrs_opt.model.parameters import FloatArray
from fsrs_opt.training.data import TrainingSet, windowed_batch
from fsrs_opt.training.objective import MapPrior, Objective
from fsrs_opt.training.trust_region import FISHER_STEPS, MAX_PASSES, PATIENCE, PROMISE


@dataclass(frozen=True)
class Effort:
    """How far the solver goes, and how (see `trust_region.TrustRegion`)."""

    promise: float = PROMISE
    patience: int = PATIENCE
    fisher_steps: int = FISHER_STEPS
    max_passes: int = MAX_PASSES


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


@dataclass(frozen=True)
class StageSettings:
    """What all stages of a fit have in common; as for `fit`, but kernel is "native" or "torch"."""

    relearning_steps: int = 1
    short_term: bool = True
    device: str = "cpu"
    kernel: str = "torch"
    progress: ProgressCallback | None = None


class MapTrainer(Protocol):
    """Runs the stages of the `map` recipe, one after another from where the last one ended."""

    @property
    def w(self) -> FloatArray:
        """The parameters so far [21]."""
        ...

    def run_map(self, name: str, *, frozen: bool, effort: Effort) -> tuple[Stage, float]:
        """Steps of the solver until it promises too little to go on (or its cap is reached).

        frozen: w0..w3 stay what pretrain made them. Returns the stage and J at its start.
        """
        ...


def map_objective(data: TrainingSet, *, device: str = "cpu", kernel: str | None = None) -> Objective:
    """J of a training set: weighted loss of all its items plus the prior."""
    return Objective(windowed_batch(data, device=device, kernel=kernel), MapPrior())

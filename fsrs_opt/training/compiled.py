"""Stages of the `map` recipe in compiled code: what stepwise.py does with the solver, without torch.

native/objective.cpp takes the same steps: a pass, zeros in the place of the held entries of its gradient,
then the solver's step. On a small review log Python's part of a step takes several times as long as its pass;
and nothing else in a fit needs torch, which takes seconds to load.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fsrs_opt.model import native
from fsrs_opt.model.parameters import N_INITIAL_STABILITIES, N_PARAMETERS, FloatArray
from fsrs_opt.training.objective import Objective
from fsrs_opt.training.recipes import Effort, Progress, Stage, StageSettings

_INITIAL_STABILITY = np.arange(N_PARAMETERS) < N_INITIAL_STABILITIES
_NONE = np.zeros(N_PARAMETERS, dtype=bool)


class Compiled:
    """Parameters that stages train, one after another from `w` [21] on, which must be inside their limits.

    objective: J of the training set, over native kernels.
    """

    def __init__(self, w: FloatArray, objective: Objective, settings: StageSettings) -> None:
        assert objective.compiled is not None
        self._minimizer = native.minimizer(
            objective.compiled,
            w,
            relearning_steps=settings.relearning_steps,
            short_term=settings.short_term,
        )
        self._progress = settings.progress

    @property
    def w(self) -> FloatArray:
        """The parameters so far [21]."""
        return self._minimizer.w

    def run_map(self, name: str, *, frozen: bool, effort: Effort) -> tuple[Stage, float]:
        """See `recipes.MapTrainer`. Ctrl-C ends it between two passes."""
        passes, start, reached, converged = self._minimizer.run(
            _INITIAL_STABILITY if frozen else _NONE,
            effort.promise,
            effort.patience,
            effort.fisher_steps,
            effort.max_passes,
            native.threads(),
            progress=None if self._progress is None else partial(self._tell, name),
        )
        return Stage(name, passes, reached, converged), start

    def _tell(self, name: str, passes: int, objective: float) -> None:
        if self._progress is not None:
            self._progress(Progress(name, passes, None, objective))

"""The whole fit: the stages that the data allow, one after another, and what became of each parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fsrs_opt.errors import UsageError
from fsrs_opt.model import parameters
from fsrs_opt.model.kernel import choose
from fsrs_opt.model.parameters import DEFAULTS, N_INITIAL_STABILITIES, N_PARAMETERS, SHORT_TERM, FloatArray
from fsrs_opt.training import ladder
from fsrs_opt.training.data import TrainingSet, kept_by_filter
from fsrs_opt.training.objective import Batch, Objective
from fsrs_opt.training.pretrain import Pretrained, pretrain
from fsrs_opt.training.recipes import (
    AFTER_TRAIN,
    BEFORE_FINETUNE,
    FULL_EFFORT,
    MapTrainer,
    ProgressCallback,
    Stage,
    StageSettings,
    map_objective,
)

RECIPES = ("map", "classic")
STAGES = ("pretrain", "train", "finetune")
_AT_LIMIT = 5e-5  # what is printed with four decimals cannot be told from its limit


@dataclass(frozen=True)
class FitResult:
    """Parameters [21] and how they came about.

    kernel: "native" or "torch", what ran the passes. rung: "all", "pretrain" or "defaults", as far as the
    data allowed. objective: J at the parameters (also after the classic recipe), None without items.
    messages: sentences that a user should read. batch: what was fitted to, None without items.
    """

    parameters: FloatArray
    recipe: str
    kernel: str
    rung: str
    stages: tuple[Stage, ...]
    objective: float | None
    pretrained: Pretrained | None
    n_items: int
    messages: tuple[str, ...]
    relearning_steps: int
    short_term: bool
    batch: Batch | None = field(repr=False)

    @cached_property
    def fisher(self) -> FloatArray | None:
        """Information of the data alone (without the prior) at the parameters: float64 [21, 21].

        None without items. The first use takes a pass over the data.
        """
        if self.batch is None:
            return None
        return self.batch.evaluate(self.parameters, fisher=True).fisher

    @cached_property
    def parameter_notes(self) -> tuple[str, ...]:
        """What became of each parameter, in a few words."""
        return _notes(self)


def fit(
    data: TrainingSet,
    *,
    recipe: str = "map",
    stages: Sequence[str] = STAGES,
    relearning_steps: int = 1,
    short_term: bool = True,
    device: str = "cpu",
    kernel: str | None = None,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> FitResult:
    """Fit FSRS-6 to a training set.

    recipe: "map" (to the minimum of J) or "classic" (the field's mini-batches; no finetune stage).
    stages: which of `STAGES` to run; w0..w3 are frozen in train exactly when pretrain set them.
    relearning_steps: several of them lower the ceiling of w17 and w18. short_term: False holds w17..w19
    at 0. device, kernel: see `fsrs_opt.model.kernel.choose`. seed: of the classic recipe's shuffling.
    progress: called after each step; raise from it to stop.
    Raises UsageError for a recipe, stage or number of steps that there is not.
    """
    _check(recipe, stages, relearning_steps)
    kernel = choose(kernel, device)
    classic = recipe == "classic"
    rung, messages = ladder.rung(
        kept_by_filter(data).items if classic else data.items, left_by_filter=classic
    )
    wanted = [stage for stage in STAGES if stage in stages]

    pretrained = None
    start = DEFAULTS.copy()
    if rung != "defaults" and "pretrain" in wanted:
        pretrained = pretrain(data, kernel=kernel)
        if pretrained is None:
            messages.append(
                "The outlier filter left no first review for the pretrain stage: w0..w3 stay the defaults"
                + (" at its start and are not frozen in train." if rung == "all" else ".")
            )
        else:
            start[:N_INITIAL_STABILITIES] = pretrained.initial_stability
    start = parameters.clip(start, relearning_steps=relearning_steps, short_term=short_term, given=True)

    j = map_objective(data, device=device, kernel=kernel) if len(data) else None
    fitted, at_start = start, None
    done: list[Stage] = []
    if rung == "all" and j is not None:
        settings = StageSettings(relearning_steps, short_term, device, kernel, progress)
        frozen = pretrained is not None
        if classic:
            from fsrs_opt.training.stepwise import Stepwise

            if "train" in wanted:
                classically = Stepwise(start, j, settings)
                done.append(classically.run_classic("train", data, frozen=frozen, seed=seed))
                fitted = classically.w
        else:
            trainer = _trainer(start, j, settings)
            done, at_start = _map_stages(trainer, wanted, frozen=frozen)
            fitted = trainer.w
    messages += [
        f"The {stage.name} stage was ended after {stage.passes} passes, before it had converged."
        for stage in done
        if not stage.converged
    ]

    if not _sound(fitted):
        messages.append("Training ended in parameters that FSRS cannot use: those it started from are kept.")
        fitted, done = start, []
    if j is not None and at_start is None and (pretrained is not None or not done):
        at_start = j.evaluate(start).loss
    if pretrained is not None and at_start is not None:
        done.insert(0, Stage("pretrain", 0, at_start, converged=True))
    return FitResult(
        parameters=fitted,
        recipe=recipe,
        kernel=kernel,
        rung=rung,
        stages=tuple(done),
        objective=done[-1].objective if done else at_start,
        pretrained=pretrained,
        n_items=len(data),
        messages=tuple(messages),
        relearning_steps=relearning_steps,
        short_term=short_term,
        batch=None if j is None else j.batch,
    )


def _trainer(start: FloatArray, j: Objective, settings: StageSettings) -> MapTrainer:
    """What runs the stages of the map recipe; torch is loaded only where it is needed."""
    if settings.kernel == "native":
        from fsrs_opt.training.compiled import Compiled

        return Compiled(start, j, settings)
    from fsrs_opt.training.stepwise import Stepwise

    return Stepwise(start, j, settings)


def _map_stages(
    trainer: MapTrainer, wanted: Sequence[str], *, frozen: bool
) -> tuple[list[Stage], float | None]:
    """The stages that were run, and J at the start of the first. frozen: w0..w3 stay as they are in train."""
    both = {"train", "finetune"} <= set(wanted)
    done: list[Stage] = []
    at_start = None
    if "train" in wanted:
        effort = BEFORE_FINETUNE if both else FULL_EFFORT
        stage, at_start = trainer.run_map("train", frozen=frozen, effort=effort)
        done.append(stage)
    if "finetune" in wanted:
        effort = AFTER_TRAIN if both else FULL_EFFORT
        stage, before = trainer.run_map("finetune", frozen=False, effort=effort)
        at_start = before if at_start is None else at_start
        done.append(stage)
    return done, at_start


def _check(recipe: str, stages: Sequence[str], relearning_steps: int) -> None:
    if recipe not in RECIPES:
        raise UsageError(f"there is no recipe {recipe!r}: choose {' or '.join(RECIPES)}")
    for stage in stages:
        if stage not in STAGES:
            raise UsageError(f"there is no stage {stage!r}: choose among {', '.join(STAGES)}")
    if recipe == "classic" and list(stages) == ["finetune"]:
        raise UsageError("the classic recipe has no finetune stage: choose pretrain, train or both")
    if relearning_steps < 0:
        raise UsageError("the number of relearning steps cannot be negative")


def _sound(w: FloatArray) -> bool:
    """Finite, and the initial stabilities in order. (The ranges are enforced by every step.)"""
    values = w.tolist()
    initial = values[:N_INITIAL_STABILITIES]
    return initial == sorted(initial) and all(map(math.isfinite, values))


def _notes(result: FitResult) -> tuple[str, ...]:
    w, fisher, pretrained = result.parameters, result.fisher, result.pretrained
    ran = {stage.name for stage in result.stages}
    trained = bool(ran & {"train", "finetune"})
    low, high = parameters.bounds(short_term=result.short_term)
    ceiling = parameters.same_day_ceiling(w, result.relearning_steps)
    notes = []
    for k in range(N_PARAMETERS):
        note = "fitted" if trained else "default"
        if k < N_INITIAL_STABILITIES and pretrained is not None and "finetune" not in ran:
            note = "fitted" if pretrained.fitted[k] else "filled from the other first ratings"
        elif trained and fisher is not None and fisher[k, k] == 0:
            # it follows the prior, and the order of w0..w3
            at_default = abs(w[k] - DEFAULTS[k]) < _AT_LIMIT
            note = "no review tells about it" + (", default" if at_default else "")
        if not result.short_term and k in range(SHORT_TERM.start, SHORT_TERM.stop):
            note = "held at 0"
        elif k in (17, 18) and ceiling < high[k] and w[k] >= ceiling - _AT_LIMIT:
            note += ", at its ceiling for these relearning steps"
        elif trained or (k < N_INITIAL_STABILITIES and pretrained is not None):
            if w[k] <= low[k] + _AT_LIMIT and w[k] != DEFAULTS[k]:
                note += ", at its lower limit"
            elif w[k] >= high[k] - _AT_LIMIT:
                note += ", at its upper limit"
        if k < N_INITIAL_STABILITIES and pretrained is not None and "train" in ran:
            note += ", frozen in train"
        notes.append(note)
    return tuple(notes)

"""Fit a collection's parameters, compare them with those in use, and say which to use."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fsrs_opt.commands.current import CurrentSet
from fsrs_opt.commands.judgement import Judgement, judge, worse_for
from fsrs_opt.commands.prepare import prepare
from fsrs_opt.errors import UsageError
from fsrs_opt.evaluation.score import Scores
from fsrs_opt.evaluation.time_series import N_SPLITS, Fraction
from fsrs_opt.evaluation.verdict import Verdict
from fsrs_opt.model.parameters import DEFAULTS, FloatArray
from fsrs_opt.reviews.history import Histories
from fsrs_opt.training.data import TrainingSet
from fsrs_opt.training.fit import STAGES, FitResult, fit
from fsrs_opt.training.recipes import ProgressCallback

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection


@dataclass(frozen=True)
class Optimized:
    """What `optimize` found.

    parameters [21]: those to use, which are the current ones where the verdict is to keep them (with several
    presets in use those of the one with the most cards). scores: by "default",
    "current" (None without current parameters) and "new" (the fitted ones), on the same items, in-sample.
    judgement: what the verdict rests on. seconds: by "read", "histories", "train", "evaluate" (in-sample),
    "held_out" and "total".
    """

    collection: Collection
    histories: Histories
    data: TrainingSet
    fit: FitResult
    current: tuple[CurrentSet, ...]
    relearning_steps: int
    scores: dict[str, Scores | None]
    judgement: Judgement
    verdict: Verdict
    parameters: FloatArray
    messages: tuple[str, ...]
    seconds: dict[str, float]


def optimize(
    source: str | Path | Collection,
    *,
    recipe: str = "map",
    stages: Sequence[str] = STAGES,
    current: Sequence[float] | None = None,
    relearning_steps: int | None = None,
    short_term: bool = True,
    ignore_before: str | None = None,
    timezone: str | None = None,
    day_start: int | None = None,
    device: str = "cpu",
    kernel: str | None = None,
    splits: int = N_SPLITS,
    workers: int | None = None,
    progress: ProgressCallback | None = None,
    held_out_progress: Fraction | None = None,
) -> Optimized:
    """Fit FSRS-6 to all reviews of a collection.

    source: a file (see `fsrs_opt.sources.read`) or what `read` gave. current: parameters in use, 17, 19 or 21
    numbers; None takes those of the collection's presets. relearning_steps: None takes the number of the
    preset with the most reviews. ignore_before: `YYYY-MM-DD`, cards learned before that day (midnight UTC)
    are left out. timezone, day_start: of the day boundary, for a file. splits: time-series splits that the
    verdict is decided on, each with a fit of its own; 0 for none: it is then in-sample. workers: processes
    for the splits; None takes several where it pays. held_out_progress: called with the share of the splits
    that is done. The rest: `fsrs_opt.training.fit`. Raises SourceError for a file that cannot be read,
    UsageError for an option that means nothing, NothingToTrainError when there is no item.
    """
    check_device(device)
    prepared = prepare(
        source,
        current=current,
        relearning_steps=relearning_steps,
        ignore_before=ignore_before,
        timezone=timezone,
        day_start=day_start,
    )
    fitter = partial(
        fit,
        recipe=recipe,
        stages=stages,
        relearning_steps=prepared.relearning_steps,
        short_term=short_term,
        device=device,
        kernel=kernel,
    )
    started = time.perf_counter()
    fitted = fitter(prepared.data, progress=progress)
    trained = time.perf_counter() - started
    judged = judge(
        prepared,
        fitted.parameters,
        fitted,
        fitter,
        n_splits=splits,
        stages=stages,
        short_term=short_term,
        device=device,
        kernel=fitted.kernel,
        workers=workers,
        progress=held_out_progress,
    )
    seconds = {**prepared.seconds, "train": trained, **judged.seconds}
    return Optimized(
        collection=prepared.collection,
        histories=prepared.histories,
        data=prepared.data,
        fit=fitted,
        current=prepared.current,
        relearning_steps=prepared.relearning_steps,
        scores=judged.scores,
        judgement=judged,
        verdict=judged.verdict,
        parameters=_to_use(judged.verdict, fitted, prepared.current),
        messages=(
            *prepared.messages,
            *fitted.messages,
            *(worse_for(prepared, judged.predictions) if judged.verdict.decision == "change" else ()),
        ),
        seconds={**seconds, "total": sum(seconds.values())},
    )


def _to_use(verdict: Verdict, fitted: FitResult, in_use: Sequence[CurrentSet]) -> FloatArray:
    """The parameters to use: the new ones where the verdict is to change, else those in use (of the preset
    with the most cards, where presets hold different ones)."""
    if verdict.decision == "change":
        return fitted.parameters
    if not in_use:
        return DEFAULTS.copy()
    return max(in_use, key=lambda one: int(one.cards.sum())).parameters


def check_device(device: str) -> None:
    """Raises UsageError for a device that torch does not know, is not there, or cannot do float64."""
    if device == "cpu":
        return
    import torch

    try:
        there = not torch.zeros(1, dtype=torch.float64, device=device).is_meta
    except (RuntimeError, AssertionError, TypeError):
        there = False
    if not there:
        raise UsageError(f"the device “{device}” is not available here: leave it away to use the cpu")

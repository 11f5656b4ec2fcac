"""Judge parameters: in-sample and on held-out reviews, with how sure it all is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fsrs_opt.commands import current as current_parameters
from fsrs_opt.commands.current import FLATTERED, CurrentSet
from fsrs_opt.commands.judgement import Judgement, judge, worse_for
from fsrs_opt.commands.optimize import Optimized
from fsrs_opt.commands.prepare import prepare
from fsrs_opt.evaluation.evaluation import Evaluation, evaluation
from fsrs_opt.evaluation.time_series import N_SPLITS, Fraction
from fsrs_opt.model.parameters import FloatArray
from fsrs_opt.reviews.history import Histories
from fsrs_opt.training.data import TrainingSet
from fsrs_opt.training.fit import FitResult, fit
from fsrs_opt.training.recipes import ProgressCallback

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection


@dataclass(frozen=True)
class Evaluated:
    """What `evaluate` found.

    new [21]: the parameters that are compared with those in use; fit: how they were fitted, None where they
    were given. seconds: by "read", "histories", "train", "evaluate" (in-sample), "held_out", "figures" and
    "total".
    """

    collection: Collection
    histories: Histories
    data: TrainingSet
    new: FloatArray
    fit: FitResult | None
    current: tuple[CurrentSet, ...]
    relearning_steps: int
    evaluation: Evaluation
    messages: tuple[str, ...]
    seconds: dict[str, float]


def evaluate(
    source: str | Path | Collection,
    *,
    parameters: Sequence[float] | None = None,
    against: Sequence[float] | None = None,
    recipe: str = "map",
    relearning_steps: int | None = None,
    short_term: bool = True,
    ignore_before: str | None = None,
    timezone: str | None = None,
    day_start: int | None = None,
    splits: int = N_SPLITS,
    workers: int | None = None,
    progress: ProgressCallback | None = None,
    held_out_progress: Fraction | None = None,
) -> Evaluated:
    """Judge the parameters in use against new ones.

    parameters: those in use ("current"), 17, 19 or 21 numbers; None takes those of the collection's presets.
    against: what they are compared with ("new"); None fits them, and fits them again in each split; given
    ones are taken as they are. The rest, and the errors: `commands.optimize`.
    """
    given = None if against is None else current_parameters.parse(against)
    prepared = prepare(
        source,
        current=parameters,
        relearning_steps=relearning_steps,
        ignore_before=ignore_before,
        timezone=timezone,
        day_start=day_start,
    )
    fitter = partial(fit, recipe=recipe, relearning_steps=prepared.relearning_steps, short_term=short_term)
    started = time.perf_counter()
    fitted = fitter(prepared.data, progress=progress) if given is None else None
    new = fitted.parameters if fitted is not None else given
    assert new is not None
    trained = time.perf_counter() - started
    judged = judge(
        prepared,
        new,
        fitted,
        fitter,
        n_splits=splits,
        short_term=short_term,
        workers=workers,
        progress=held_out_progress,
    )
    started = time.perf_counter()
    seen = _evaluation(prepared.data, judged)
    messages = prepared.messages + (fitted.messages if fitted is not None else ())
    if judged.verdict.decision == "change":
        messages += tuple(worse_for(prepared, judged.predictions))
    if given is not None:
        messages += (
            "Both sets of parameters were given: if one was fitted to these reviews, they flatter it.",
        )
    elif parameters is not None:
        messages += (FLATTERED,)
    seconds = {
        **prepared.seconds,
        "train": trained,
        **judged.seconds,
        "figures": time.perf_counter() - started,
    }
    return Evaluated(
        collection=prepared.collection,
        histories=prepared.histories,
        data=prepared.data,
        new=new,
        fit=fitted,
        current=prepared.current,
        relearning_steps=prepared.relearning_steps,
        evaluation=seen,
        messages=messages,
        seconds={**seconds, "total": sum(seconds.values())},
    )


def evaluated(result: Optimized) -> Evaluated:
    """The evaluation of what `optimize` found, from the fits that it made."""
    started = time.perf_counter()
    seen = _evaluation(result.data, result.judgement)
    figures = time.perf_counter() - started
    return Evaluated(
        collection=result.collection,
        histories=result.histories,
        data=result.data,
        new=result.fit.parameters,
        fit=result.fit,
        current=result.current,
        relearning_steps=result.relearning_steps,
        evaluation=seen,
        messages=result.messages,
        seconds={**result.seconds, "figures": figures, "total": result.seconds["total"] + figures},
    )


def _evaluation(data: TrainingSet, judged: Judgement) -> Evaluation:
    return evaluation(
        data,
        judged.predictions,
        judged.series,
        judged.verdict,
        judged.posterior,
        in_sample_scores=judged.scores,
        reasons=judged.reasons,
    )

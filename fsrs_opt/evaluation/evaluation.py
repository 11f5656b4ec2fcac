"""Everything that is said about how good a fit is, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation import metrics
from fsrs_opt.evaluation.calibration import Calibration, calibration
from fsrs_opt.evaluation.health import HealthCheck, health_check
from fsrs_opt.evaluation.learning import LearningCurve, learning_curve
from fsrs_opt.evaluation.score import Scores, scores
from fsrs_opt.evaluation.sm2 import sm2_retrievability
from fsrs_opt.evaluation.time_series import TimeSeries
from fsrs_opt.evaluation.uncertainty import ForgettingCurve, Posterior, forgetting_curves
from fsrs_opt.evaluation.verdict import Verdict
from fsrs_opt.reviews.items import select
from fsrs_opt.training.data import TrainingSet

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

MODELS = ("default", "current", "new", "constant", "sm2")

ONE_OUTCOME = "the items are all recalled or all forgotten"


@dataclass(frozen=True)
class Judged:
    """The figures of one model's predictions of one set of items."""

    scores: Scores
    calibration: Calibration


@dataclass(frozen=True)
class Evaluation:
    """What is said about the parameters of one training set.

    in_sample, held_out: by model (`MODELS`), None where there is none: no current set, no held-out items. The
    recency weights are those of all items. universal: held-out universal metric by the pair (A, B) of models:
    A judged in B's bins, and B in A's. reasons: why something is None, by its name (a model, a figure,
    "held_out", "health", "posterior", "learning").
    """

    in_sample: dict[str, Judged | None]
    held_out: dict[str, Judged | None]
    universal: dict[tuple[str, str], tuple[float, float]]
    time_series: TimeSeries
    health: HealthCheck
    verdict: Verdict
    posterior: Posterior | None
    forgetting: tuple[ForgettingCurve, ...]
    learning: LearningCurve
    reasons: dict[str, str]


def evaluation(
    data: TrainingSet,
    predictions: Mapping[str, FloatArray],
    series: TimeSeries,
    verdict: Verdict,
    found: Posterior | None,
    *,
    in_sample_scores: Mapping[str, Scores | None] | None = None,
    reasons: Mapping[str, str] | None = None,
) -> Evaluation:
    """Judge predictions of all items [n_items] ("default", "new" and perhaps "current") and of the held-out
    ones.

    in_sample_scores: those that are at hand already, by model. reasons: why the caller gives no posterior or
    no current set.
    """
    said = dict(reasons or {})
    label = data.items.label
    of_all = dict(predictions)
    of_all["constant"] = np.full(len(data), label.mean() if len(data) else np.nan)
    of_all["sm2"] = sm2_retrievability(data.histories)[data.items.review]
    held_out_set = held_out_items(data, series)
    known = {name: found for name, found in (in_sample_scores or {}).items() if found is not None}
    in_sample = judge(data, of_all, known)
    held_out = judge(held_out_set, series.predictions)
    if "current" not in of_all:
        said.setdefault("current", "no parameters are in use")
    if not series.n_held_out:
        said.setdefault("held_out", f"{len(data)} items are too few for splits")
    if len(data) and label.all() == label.any():
        said["auc"] = f"{ONE_OUTCOME}"
    elif series.n_held_out and series.label.all() == series.label.any():
        said["auc"] = "the held-out items are all recalled or all forgotten"

    of_new = held_out["new"].scores if held_out["new"] is not None else None
    retrained = of_new if series.fits else None
    health = health_check(
        None if retrained is None else retrained.log_loss,
        None if retrained is None else retrained.rmse_bins,
        recall=float(label.mean()) if len(data) else None,
        n_items=len(data),
    )
    if health.healthy is None:
        said["health"] = health.reason
    learning = learning_curve(series, len(data))
    if learning.reason:
        said["learning"] = learning.reason
    return Evaluation(
        in_sample=in_sample,
        held_out=held_out,
        universal=_universal(series),
        time_series=series,
        health=health,
        verdict=verdict,
        posterior=found,
        forgetting=() if found is None else forgetting_curves(found),
        learning=learning,
        reasons=said,
    )


def judge(
    data: TrainingSet, predictions: Mapping[str, FloatArray], known: Mapping[str, Scores] | None = None
) -> dict[str, Judged | None]:
    """All figures of predictions [n_items] of the items of a set by model (`MODELS`), None where there are
    none; known: scores that are at hand already."""
    at_hand = known or {}
    of_model = {
        **at_hand,
        **scores(data, {name: each for name, each in predictions.items() if name not in at_hand}),
    }
    return {
        name: Judged(of_model[name], calibration(data.items.label, predictions[name]))
        if name in predictions
        else None
        for name in MODELS
    }


def held_out_items(data: TrainingSet, series: TimeSeries) -> TrainingSet:
    """The held-out items as a set, with the recency weights that they have among all items."""
    held_out = slice(series.first, None)
    return TrainingSet(
        data.histories, select(data.items, held_out), data.weights[held_out], data.kept[held_out]
    )


def _universal(series: TimeSeries) -> dict[tuple[str, str], tuple[float, float]]:
    found = {}
    for other in MODELS:
        if other != "new" and other in series.predictions:
            both = metrics.universal_metric(
                series.predictions["new"], series.predictions[other], series.label
            )
            if both is not None:
                found["new", other] = both
    return found

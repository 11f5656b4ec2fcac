"""Everything that is said about how good a fit is, in one value."""

from __future__ import annotations

from dataclasses import dataclass

from fsrs_opt.evaluation.calibration import Calibration
from fsrs_opt.evaluation.health import HealthCheck
from fsrs_opt.evaluation.learning import LearningCurve
from fsrs_opt.evaluation.score import Scores
from fsrs_opt.evaluation.time_series import TimeSeries
from fsrs_opt.evaluation.uncertainty import ForgettingCurve, Posterior
from fsrs_opt.evaluation.verdict import Verdict

MODELS = ("default", "current", "new", "constant", "sm2")


@dataclass(frozen=True)
class Judged:
    """The figures of one model's predictions of one set of items."""

    scores: Scores
    calibration: Calibration


@dataclass(frozen=True)
class Evaluation:
    """in_sample, held_out: by model ("default", "current", "new", "constant", "sm2"), None where there is none:
    no current set, no held-out items. universal: held-out universal metric by the pair (A, B) of models: A
    judged in B's bins and B in A's, None where undefined. reasons: why something is None, by its name
    (a model, a figure, "held_out", "health", "learning")."""

    in_sample: dict[str, Judged | None]
    held_out: dict[str, Judged | None]
    universal: dict[tuple[str, str], tuple[float, float] | None]
    time_series: TimeSeries
    health: HealthCheck
    verdict: Verdict
    posterior: Posterior | None
    forgetting: tuple[ForgettingCurve, ...]
    learning: LearningCurve
    reasons: dict[str, str]

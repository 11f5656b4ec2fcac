"""The object of `evaluate --json`. What each key means: docs/json.md."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsrs_opt import __version__
from fsrs_opt.commands import as_json
from fsrs_opt.commands.selected import selected

if TYPE_CHECKING:
    from fsrs_opt.commands.as_json import Json
    from fsrs_opt.commands.evaluate import Evaluated
    from fsrs_opt.evaluation.evaluation import Judged
    from fsrs_opt.evaluation.uncertainty import Posterior

EVALUATE_FORMAT = "fsrs-opt.evaluate/1"
DECIMALS = 7


def evaluated(result: Evaluated) -> Json:
    """The object of `evaluate --json`."""
    seen = result.evaluation
    series = seen.time_series
    return {
        "format": EVALUATE_FORMAT,
        "version": __version__,
        "source": as_json.source(result.collection),
        "day": as_json.day(result.collection),
        "selection": as_json.selection(selected(result.collection, result.histories, result.data.items)),
        "counts": as_json.counts(result.histories, len(result.data)),
        "recipe": None if result.fit is None else result.fit.recipe,
        "rung": None if result.fit is None else result.fit.rung,
        "relearning_steps": result.relearning_steps,
        "new_parameters": result.new.tolist(),
        "current_parameters": as_json.current(result.current),
        "verdict": as_json.verdict(seen.verdict),
        "in_sample": {name: _judged(one) for name, one in seen.in_sample.items()},
        "held_out": {
            "items": series.n_held_out,
            "splits": [
                {
                    "train": one.n_train,
                    "test": one.n_test,
                    "rung": one.rung,
                    "parameters": one.parameters.tolist(),
                    "log_loss": loss,
                }
                for one, loss in zip(series.fits, seen.learning.log_loss, strict=True)
            ],
            "metrics": {name: _judged(one) for name, one in seen.held_out.items()},
            "universal_metric": [
                {"a": a, "b": b, "a_in_bins_of_b": of_a, "b_in_bins_of_a": of_b}
                for (a, b), (of_a, of_b) in seen.universal.items()
            ],
        },
        "health_check": dataclasses.asdict(seen.health),
        "uncertainty": None if seen.posterior is None else _uncertainty(seen.posterior),
        "forgetting_curves": [
            {
                "first_rating": one.first_rating,
                "delta_t": _numbers(one.delta_t),
                "recall": _numbers(one.band.recall),
                "low": _numbers(one.band.low),
                "high": _numbers(one.band.high),
            }
            for one in seen.forgetting
        ],
        "learning": {
            "past": [dataclasses.asdict(one) for one in seen.learning.past],
            "b": seen.learning.b,
            "c": seen.learning.c,
            "new_reviews": _numbers(seen.learning.new_reviews),
            "expected_gain": _numbers(seen.learning.expected_gain),
            "optimize_after": seen.learning.optimize_after,
            "advice": seen.learning.advice,
        },
        "reasons": seen.reasons,
        "messages": list(result.messages),
        "seconds": {name: round(seconds, 4) for name, seconds in result.seconds.items()},
    }


def _judged(one: Judged | None) -> Json | None:
    if one is None:
        return None
    curve = one.calibration.reliability
    return {
        **dataclasses.asdict(one.scores),
        "ici": one.calibration.ici,
        "ece": one.calibration.ece,
        "mean_predicted": one.calibration.predicted,
        "mean_actual": one.calibration.actual,
        "reliability": {
            field.name: _numbers(getattr(curve, field.name)) for field in dataclasses.fields(curve)
        },
    }


def _uncertainty(found: Posterior) -> Json:
    return {
        "level": 0.9,
        "low": found.low.tolist(),
        "high": found.high.tolist(),
        "data_share": _numbers(found.data_share),
        "held": found.held.tolist(),
        "effective_parameters": found.effective_parameters,
    }


def _numbers(values: npt.NDArray[Any]) -> list[int | float | None]:
    """Numbers, null for what is undefined, with as many decimals as mean something."""
    if values.dtype.kind in "iu":
        whole: list[int | float | None] = values.tolist()
        return whole
    return [round(value, DECIMALS) if np.isfinite(value) else None for value in values.tolist()]

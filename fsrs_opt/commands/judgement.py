"""New parameters against those in use: predictions, held-out predictions, how sure it is, and the verdict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fsrs_opt.commands import current as current_parameters
from fsrs_opt.commands.current import CurrentSet
from fsrs_opt.commands.prepare import Prepared
from fsrs_opt.evaluation.metrics import log_loss
from fsrs_opt.evaluation.score import Scores, all_reviews, predict_items, scores
from fsrs_opt.evaluation.time_series import Fitter, Fraction, TimeSeries, no_time_series, time_series
from fsrs_opt.evaluation.uncertainty import Posterior, posterior
from fsrs_opt.evaluation.verdict import Verdict, held_out_verdict, in_sample_verdict
from fsrs_opt.evaluation.workload import Workload, workload
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import DEFAULTS, FloatArray
from fsrs_opt.training.data import TrainingSet
from fsrs_opt.training.fit import STAGES, FitResult

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection

DESIRED_RETENTION = 0.9  # where none is known


@dataclass(frozen=True)
class Certainty:
    """How sure a fit (None: the parameters were given) is, computed where somebody asks."""

    fitted: FitResult | None
    stages: tuple[str, ...]
    relearning_steps: int
    short_term: bool

    @property
    def why_not(self) -> str:
        """Why that cannot be said, "" where it can."""
        if self.fitted is None:
            return "the parameters were given, not fitted"
        if self.fitted.recipe != "map" or "finetune" not in self.stages:
            return "only the minimum of the map recipe has a curvature that says how sure it is"
        if self.fitted.rung != "all":
            return "there are too few reviews to fit all parameters"
        return ""

    @cached_property
    def posterior(self) -> Posterior | None:
        if self.fitted is None or self.why_not:
            return None
        assert self.fitted.fisher is not None  # there are items
        return posterior(
            self.fitted.parameters,
            self.fitted.fisher,
            relearning_steps=self.relearning_steps,
            short_term=self.short_term,
        )


@dataclass(frozen=True)
class Judgement:
    """predictions: of all items [n_items], by "default", "new" and, where there is one, "current". scores:
    the same in-sample, "current" None where there is none. reasons: why there is no posterior, no held-out
    figure. seconds: by "evaluate" and "held_out"."""

    predictions: dict[str, FloatArray]
    scores: dict[str, Scores | None]
    series: TimeSeries
    certainty: Certainty
    verdict: Verdict
    reasons: dict[str, str]
    seconds: dict[str, float]

    @property
    def posterior(self) -> Posterior | None:
        return self.certainty.posterior


def judge(
    prepared: Prepared,
    new: FloatArray,
    fitted: FitResult | None,
    fitter: Fitter,
    *,
    n_splits: int,
    stages: Sequence[str] = STAGES,
    short_term: bool = True,
    device: str = "cpu",
    kernel: str | None = None,
    workers: int | None = None,
    progress: Fraction | None = None,
) -> Judgement:
    """Judge `new` [21], which are the parameters of `fitted`, or given by hand where that is None.

    fitter: how the splits are fitted. n_splits: 0 for none: the verdict is then in-sample. The rest as in
    `commands.optimize`.
    """
    started = time.perf_counter()
    data, in_use = prepared.data, prepared.current
    batch = all_reviews(data, device=device, kernel=kernel)
    predictions = {
        "default": predict_items(data, DEFAULTS, batch=batch),
        "new": predict_items(data, new, batch=batch),
    }
    if in_use:
        predictions["current"] = predicted_in_use(data, in_use, batch)
    of_model = scores(data, predictions)
    in_sample = {name: of_model.get(name) for name in ("default", "current", "new")}
    judged_at = time.perf_counter()

    rung = "all" if fitted is None else fitted.rung
    series = no_time_series(len(data))
    if n_splits and rung != "defaults":
        series = time_series(
            data,
            fitter,
            n_splits=n_splits,
            fixed=new if fitted is None else None,
            current=predictions.get("current"),
            default=predictions["default"],
            batch=batch,
            workers=1 if device != "cpu" or (workers is None and kernel == "native") else workers,
            progress=progress,
        )
    certainty = Certainty(fitted, tuple(stages), prepared.relearning_steps, short_term)
    gain = _in_sample_gain(in_sample)
    if n_splits:
        found = certainty.posterior
        verdict = held_out_verdict(
            series,
            rung=rung,
            in_sample_gain=gain,
            workload=_workload(prepared, new, batch),
            n_items=len(data),
            data_share=None if found is None else found.data_share,
        )
    else:
        verdict = in_sample_verdict(rung=rung, in_sample_gain=gain, in_use=bool(in_use), n_items=len(data))
    reasons = {"posterior": certainty.why_not} if certainty.why_not else {}
    if not n_splits:
        reasons["held_out"] = "no splits were asked for"
    return Judgement(
        predictions=predictions,
        scores=in_sample,
        series=series,
        certainty=certainty,
        verdict=verdict,
        reasons=reasons,
        seconds={"evaluate": judged_at - started, "held_out": time.perf_counter() - judged_at},
    )


def predicted_in_use(data: TrainingSet, in_use: Sequence[CurrentSet], batch: WindowedBatch) -> FloatArray:
    """What the parameters in use predict, float64 [n_items]: for each card those of its own set. batch: all
    reviews of `data`."""
    predicted = np.empty(len(data))
    for one in in_use:
        mine = one.cards[data.items.card]
        predicted[mine] = predict_items(data, one.parameters, batch=batch)[mine]
    return predicted


def worse_for(prepared: Prepared, predictions: dict[str, FloatArray]) -> list[str]:
    """A sentence for each preset whose own parameters predict its items better than the new ones do.

    Only where presets hold different parameters: what is better for a whole collection may be worse for a
    part of it. In-sample, weighted by recency.
    """
    data, said = prepared.data, []
    for one in prepared.current if len(prepared.current) > 1 else ():
        mine = one.cards[data.items.card]
        own, new = (
            log_loss(data.items.label[mine], predictions[name][mine], data.weights[mine])
            for name in ("current", "new")
        )
        if own is not None and new is not None and new >= own:
            said.append(
                f"Leave the preset “{one.name}” as it is: its own parameters predict its reviews better than"
                f" the new ones (log loss {own:.4f} against {new:.4f}, in-sample)."
            )
    return said


def _in_sample_gain(scores: dict[str, Scores | None]) -> float | None:
    before, after = scores["current"] or scores["default"], scores["new"]
    old = None if before is None else before.log_loss_recency
    new = None if after is None else after.log_loss_recency
    return None if old is None or new is None else old - new


def _workload(prepared: Prepared, new: FloatArray, batch: WindowedBatch) -> Workload | None:
    in_use = [(one.parameters, one.cards) for one in prepared.current]
    everywhere = np.ones(prepared.histories.n_cards, dtype=bool)
    desired_retention, scheduled = schedule(prepared.collection, prepared.histories.card_id)
    return workload(
        batch,
        current=in_use or [(DEFAULTS.copy(), everywhere)],
        new=new,
        desired_retention=desired_retention,
        scheduled=scheduled,
    )


def schedule(
    collection: Collection, card_id: npt.NDArray[np.int64]
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Desired retention, and whether it will be reviewed again, of each card [n_cards].

    The desired retention of the card's deck, else of its preset, else 90 %. Cards that the collection no
    longer has or that are suspended are not scheduled; a table of reviews knows neither, so all of its cards
    are.
    """
    retention = np.full(len(card_id), DESIRED_RETENTION)
    cards = collection.cards
    if cards is None:
        return retention, np.ones(len(card_id), dtype=bool)
    scheduled = np.isin(card_id, cards["card_id"][~cards["suspended"]])
    preset_of = current_parameters.preset_of_cards(collection, card_id)
    for preset_id in np.unique(preset_of).tolist():
        preset = collection.presets.get(preset_id)
        if preset is not None and 0 < preset.desired_retention < 1:
            retention[preset_of == preset_id] = preset.desired_retention
    ids, deck_of = cards["card_id"], cards["deck_id"]
    for deck in collection.decks.values():
        if deck.desired_retention is not None and 0 < deck.desired_retention < 1:
            retention[np.isin(card_id, ids[deck_of == deck.id])] = deck.desired_retention
    return retention, scheduled

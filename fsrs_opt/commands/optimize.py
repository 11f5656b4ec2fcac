"""Fit a collection's parameters, compare them with those in use, and say which to use."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from fsrs_opt.commands import current as current_parameters
from fsrs_opt.commands.current import CurrentSet
from fsrs_opt.commands.dates import parse_date
from fsrs_opt.errors import NothingToTrainError, UsageError
from fsrs_opt.evaluation.score import Scores, all_reviews, predict_items, score
from fsrs_opt.model.parameters import DEFAULTS, FloatArray
from fsrs_opt.reviews.history import Histories, histories
from fsrs_opt.sources import read
from fsrs_opt.training.data import TrainingSet, training_set
from fsrs_opt.training.fit import STAGES, FitResult, fit
from fsrs_opt.training.recipes import ProgressCallback

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection


@dataclass(frozen=True)
class Verdict:
    """decision: "change", "keep" or "not enough data"; sentence: the same for a reader."""

    decision: str
    sentence: str


@dataclass(frozen=True)
class Optimized:
    """What `optimize` found.

    parameters [21]: those to use, which are the current ones where the verdict is to keep them (with several
    presets in use there is no one current set, and the fitted ones stand here). scores: by "default",
    "current" (None without current parameters) and "new" (the fitted ones), on the same items, in-sample.
    seconds: by "read", "histories", "train", "evaluate" and "total".
    """

    collection: Collection
    histories: Histories
    data: TrainingSet
    fit: FitResult
    current: tuple[CurrentSet, ...]
    relearning_steps: int
    scores: dict[str, Scores | None]
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
    progress: ProgressCallback | None = None,
) -> Optimized:
    """Fit FSRS-6 to all reviews of a collection.

    source: a file (see `fsrs_opt.sources.read`) or what `read` gave. current: parameters in use, 17, 19 or
    21 numbers; None takes those of the collection's presets. relearning_steps: None takes the number of the
    preset with the most reviews. ignore_before: `YYYY-MM-DD`, cards learned before that day (midnight UTC)
    are left out. timezone, day_start: of the day boundary, for a file. The rest: `fsrs_opt.training.fit`.
    Raises SourceError for a file that cannot be read, UsageError for an option that means nothing,
    NothingToTrainError when there is no item.
    """
    started = time.perf_counter()
    cutoff = 0 if ignore_before is None else parse_date(ignore_before)
    check_device(device)
    given = None if current is None else current_parameters.parse(current)
    if isinstance(source, str | Path):
        collection = read(source, timezone=timezone, day_start=day_start)
    else:
        collection = source
    read_at = time.perf_counter()

    past = histories(collection.log, collection.day.day_of, ignore_before_ms=cutoff)
    data = training_set(past)
    if not len(data):
        raise NothingToTrainError(why_nothing(collection, past, cutoff > 0))
    messages = list(collection.source.notes)
    steps, said = _relearning_steps(collection, past, relearning_steps)
    messages += said
    in_use: tuple[CurrentSet, ...]
    if given is not None:
        in_use = (CurrentSet("given", given, np.ones(past.n_cards, dtype=bool), stored=True, given=True),)
    else:
        in_use, said = current_parameters.of_presets(collection, past.card_id)
        messages += said
    prepared_at = time.perf_counter()

    fitted = fit(
        data,
        recipe=recipe,
        stages=stages,
        relearning_steps=steps,
        short_term=short_term,
        device=device,
        kernel=kernel,
        progress=progress,
    )
    messages += fitted.messages
    trained_at = time.perf_counter()

    scores = _scores(data, fitted.parameters, in_use, device, fitted.kernel)
    verdict, chosen = _verdict(fitted, in_use, scores)
    done = time.perf_counter()
    return Optimized(
        collection=collection,
        histories=past,
        data=data,
        fit=fitted,
        current=in_use,
        relearning_steps=steps,
        scores=scores,
        verdict=verdict,
        parameters=chosen,
        messages=tuple(messages),
        seconds={
            "read": read_at - started,
            "histories": prepared_at - read_at,
            "train": trained_at - prepared_at,
            "evaluate": done - trained_at,
            "total": done - started,
        },
    )


def check_device(device: str) -> None:
    """Raises UsageError for a device that torch does not know, is not there, or cannot do float64."""
    try:
        there = not torch.zeros(1, dtype=torch.float64, device=device).is_meta
    except (RuntimeError, AssertionError, TypeError):
        there = False
    if not there:
        raise UsageError(f"the device “{device}” is not available here: leave it away to use the cpu")


def why_nothing(collection: Collection, past: Histories, cut_off: bool) -> str:
    """One sentence on why there is no item at all."""
    where = collection.source.path
    if past.rows == 0:
        return f"{where} holds no reviews: study some cards first."
    if cut_off and past.left_out["before_cutoff"] and not past.n_reviews:
        return f"{where}: the cut-off leaves 0 reviews: choose an earlier date."
    if past.n_reviews == 0:
        return (
            f"{where}: none of the {past.rows} rows can be trained on, since no card has its first learning"
            " step in the log: study new cards, or export the whole collection."
        )
    return (
        f"{where}: nothing was reviewed on a later day yet, so there is nothing to fit:"
        " use the default parameters until then (in Anki: leave the field for FSRS parameters empty)."
    )


def _relearning_steps(collection: Collection, past: Histories, asked: int | None) -> tuple[int, list[str]]:
    """Number of relearning steps: as asked, else of the preset with the most reviews; and what to say."""
    if asked is not None or not collection.presets:
        return 1 if asked is None else asked, []
    preset_of = current_parameters.preset_of_cards(collection, past.card_id)
    presets, index = np.unique(preset_of, return_inverse=True)
    reviews = np.bincount(index, weights=np.diff(past.offsets))
    largest = collection.presets.get(int(presets[reviews.argmax()]))
    said = []
    if len(presets) > 1:
        said.append(
            f"{len(presets)} presets are in use: every card is compared with its own preset's parameters;"
            f" relearning steps are those of “{largest.name if largest else 'Default'}” (most reviews)."
        )
    if any(preset.ignore_before for preset in collection.presets.values()):
        said.append("The presets' own cut-off dates do not apply to the whole collection.")
    return (len(largest.relearning_steps) if largest else 1), said


def _scores(
    data: TrainingSet, fitted: FloatArray, in_use: Sequence[CurrentSet], device: str, kernel: str
) -> dict[str, Scores | None]:
    batch = all_reviews(data, device=device, kernel=kernel)
    now = None
    if in_use:
        predicted = np.empty(len(data))
        for one in in_use:
            mine = one.cards[data.items.card]
            predicted[mine] = predict_items(data, one.parameters, batch=batch)[mine]
        now = score(data, predicted)
    return {
        "default": score(data, predict_items(data, DEFAULTS, batch=batch)),
        "current": now,
        "new": score(data, predict_items(data, fitted, batch=batch)),
    }


def _verdict(
    fitted: FitResult, in_use: Sequence[CurrentSet], scores: dict[str, Scores | None]
) -> tuple[Verdict, FloatArray]:
    """What to do, and the parameters to use. The new ones must lower the log loss on the same items."""
    yours = "your current parameters" if in_use else "the defaults"
    kept = DEFAULTS.copy()
    if in_use:
        kept = in_use[0].parameters if len(in_use) == 1 else fitted.parameters
    if fitted.rung == "defaults":
        sentence = f"Not enough data: {fitted.n_items} items; keep {yours} and study on."
        return Verdict("not enough data", sentence), kept
    before, after = scores["current" if in_use else "default"], scores["new"]
    old = None if before is None else before.log_loss_recency
    new = None if after is None else after.log_loss_recency
    if old is None or new is None or new >= old:
        return Verdict("keep", f"Keep {yours}: the new ones do not predict your reviews better."), kept
    sentence = (
        f"Change: the new parameters predict your reviews better than {yours}"
        f" (log loss {new:.4f} instead of {old:.4f}, in-sample)."
    )
    return Verdict("change", sentence), fitted.parameters

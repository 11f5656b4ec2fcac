"""The task function: from a path to results. It never raises; what goes wrong is a row with its reason."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsrs_opt import __version__
from fsrs_opt.batch import remote
from fsrs_opt.batch.content import content_of
from fsrs_opt.batch.tasks import DONE, FAILED, Options, Order, Outcome, Row, failed
from fsrs_opt.commands import as_json
from fsrs_opt.commands.optimize import Optimized, optimize
from fsrs_opt.errors import FsrsOptError, SourceError, sentence
from fsrs_opt.evaluation.evaluation import held_out_items, judge
from fsrs_opt.evaluation.time_series import N_SPLITS
from fsrs_opt.model import native
from fsrs_opt.sources import read, select
from fsrs_opt.sources.dataset import user_files, with_decks
from fsrs_opt.sources.detect import read_head, reason
from fsrs_opt.sources.selection import each_preset

if TYPE_CHECKING:
    from fsrs_opt.evaluation.score import Scores
    from fsrs_opt.model.parameters import FloatArray
    from fsrs_opt.sources.collection import Collection


def one_thread() -> None:
    """Let this process compute on one core, since others of its kind have the rest."""
    import pyarrow as pa

    native.set_threads(1)
    pa.set_cpu_count(1)


def run(order: Order, fetched: Path | None = None) -> Outcome:
    """Carry out an order. fetched: the local copy of a remote file, where it is at hand already."""
    content, local = "", None
    try:
        with _local(order.task.path, fetched) as local:
            started = time.perf_counter()
            content = _content(local)
            hashed = time.perf_counter() - started
            same = content == order.content
            if same and order.split == "none" and order.done:
                return Outcome(order, content, (), kept=order.done, version=__version__)
            rows = tuple(_rows(local, order, order.done if same else (), hashed))
            return Outcome(order, content, rows, kept=order.done if same else (), version=__version__)
    except Exception as error:
        return failed(order, _named(sentence(error), order, local), content=content, version=__version__)


def _named(said: str, order: Order, local: Path | None) -> str:
    """A sentence that speaks of the file by the name that the user knows, and not of a copy of it."""
    return said if local is None else said.replace(str(local), order.task.path)


@contextmanager
def _local(path: str, fetched: Path | None) -> Iterator[Path]:
    if fetched is not None:
        yield fetched
    elif remote.is_remote(path):
        with remote.local_copy(path) as copy:
            yield copy
    else:
        yield Path(path)


def _content(path: Path) -> str:
    if path.is_dir() and not user_files(path):
        try:
            os.listdir(path)
        except OSError as error:
            raise SourceError(f"the folder {path} cannot be read: {reason(error)}.") from None
        raise SourceError(f"{path} is a folder without collections or review logs; check the name.")
    if not path.is_dir():
        read_head(path)  # what cannot be opened is told in the words of every command
    return content_of(path)


def _rows(path: Path, order: Order, done: tuple[str, ...], hashed: float) -> Iterator[Row]:
    started = time.perf_counter()
    options = order.options
    collection = read(path, timezone=options.timezone, day_start=options.day_start)
    if order.split != "none" or options.deck or options.preset:
        collection = with_decks(collection)
    collection = select(collection, **options.selection)
    parts = _parts(collection, order)
    seconds = {"hash": hashed, "read": time.perf_counter() - started}
    for selection, name, part in parts:
        if selection not in done:
            yield _row(part, order, selection, name, seconds)
            seconds = {}  # the file was read once for all of them


def _parts(collection: Collection, order: Order) -> Iterator[tuple[str, str, Collection | FsrsOptError]]:
    """Id, name and reviews of each deck or preset that has any; an error in place of the reviews of a preset
    whose search cannot be applied.

    Raises SourceError where there are none.
    """
    if order.split == "none":
        return iter([("", "", collection)])
    where, cards = collection.source.path, collection.cards
    if cards is None:
        raise SourceError(f"{where} is a table of reviews: it has no {order.split}s; leave --split away.")
    if order.split == "preset":
        of_preset = each_preset(collection, suspended=order.options.suspended)
        presets = [
            (str(each), collection.presets[each].name, part)
            for each, part in of_preset.items()
            if isinstance(part, FsrsOptError) or len(part.log)
        ]
        if presets:
            return iter(presets)
    reviewed = np.isin(cards["card_id"], collection.log["card_id"])
    decks = np.intersect1d(cards["deck_id"][reviewed], list(collection.decks)).tolist()
    if order.split == "preset" or not decks:
        if collection.selection is not None:
            raise SourceError(f"{where} has no {order.split} with reviewed cards among those selected.")
        raise SourceError(f"{where} has no {order.split} with reviewed cards: study some cards first.")
    return ((str(each), collection.decks[each].name, select(collection, deck=each)) for each in decks)


def _row(
    part: Collection | FsrsOptError, order: Order, selection: str, name: str, seconds: dict[str, float]
) -> Row:
    local = None
    try:
        if isinstance(part, FsrsOptError):
            raise part
        local = part.source.path
        row = _done(_optimized(part, order.options), selection, name, seconds)
        return replace(row, messages=tuple(_named(said, order, local) for said in row.messages))
    except Exception as error:
        why = " ".join(_named(sentence(error), order, local).split())
        return Row(selection, name, FAILED, error=why)


def _optimized(collection: Collection, options: Options) -> Optimized:
    return optimize(
        collection,
        recipe=options.recipe,
        stages=options.stages,
        current=options.current,
        relearning_steps=options.relearning_steps,
        short_term=options.short_term,
        ignore_before=options.ignore_before,
        splits=N_SPLITS if options.evaluate else 0,
        workers=1,
        device=options.device,
        kernel=options.kernel,
    )


def _done(result: Optimized, selection: str, name: str, seconds: dict[str, float]) -> Row:
    started = time.perf_counter()
    label, predictions = result.data.items.label, result.judgement.predictions
    metrics: dict[str, dict[str, Any]] = {
        "in_sample": {
            model: None if of is None else _figures(of, label, predictions[model])
            for model, of in result.scores.items()
        }
    }
    series = result.judgement.series
    if series.n_held_out:
        items = held_out_items(result.data, series)
        metrics["held_out"] = {
            model: {
                **_figures(judged.scores, items.items.label, series.predictions[model]),
                "ici": judged.calibration.ici,
            }
            for model, judged in judge(items, series.predictions).items()
            if judged is not None
        }
    took = {**result.seconds, **seconds}
    took["held_out"] += time.perf_counter() - started
    took["total"] = sum(each for step, each in took.items() if step != "total")
    return Row(
        selection,
        name,
        DONE,
        parameters=tuple(result.fit.parameters.tolist()),
        decision=result.verdict.decision,
        metrics=metrics,
        counts={
            **as_json.counts(result.histories, len(result.data)),
            "held_out_items": series.n_held_out,
        },
        messages=result.messages,
        seconds={step: round(each, 6) for step, each in took.items()},
    )


def _figures(scores: Scores, label: npt.NDArray[np.bool_], predicted: FloatArray) -> dict[str, float | None]:
    figures = {**asdict(scores), "rmse": float(np.sqrt(np.mean((label - predicted) ** 2)))}
    return {name: None if value is None else as_json.finite(value) for name, value in figures.items()}

"""A fit for each preset, as Anki does it: its cards, its cut-off date, its relearning steps, its search."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fsrs_opt import __version__
from fsrs_opt.commands import as_json
from fsrs_opt.commands.as_json import Json
from fsrs_opt.commands.inspect_file import Part, answers
from fsrs_opt.commands.optimize import check_device, optimize
from fsrs_opt.commands.selected import selected, sentences
from fsrs_opt.errors import FsrsOptError, NothingToTrainError, SourceError
from fsrs_opt.evaluation.metrics import log_loss
from fsrs_opt.evaluation.time_series import Fraction
from fsrs_opt.evaluation.verdict import Verdict
from fsrs_opt.evaluation.workers import each
from fsrs_opt.model.kernel import choose
from fsrs_opt.sources import read
from fsrs_opt.sources.selection import each_preset

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection, Preset


PAYS_FROM: Final = 3_000_000
"""Rows of the log from which several processes are faster although the compiled kernels use all cores (with
two cores half as fast at 1,000,000 rows, 1.6 times as fast at 4,000,000: scripts/benchmark_selection.py)."""


@dataclass(frozen=True)
class PresetFit:
    """The fit of one preset.

    decks: names of the decks with selected cards. part: cards, answers and items selected. result: the object
    of `optimize --json` (`commands.as_json.optimized`), None where there is none: `error` then says why, in a
    sentence. verdict: None then too. log_loss: held-out, by "current" (those in use, the defaults where none
    are) and "new", None where nothing is held out. selection: sentences on how the cards were selected.
    messages: what else a user should be told of this preset.
    """

    preset: Preset
    decks: tuple[str, ...]
    part: Part
    verdict: Verdict | None = None
    log_loss: tuple[float | None, float | None] = (None, None)
    result: Json | None = None
    error: str = ""
    selection: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


@dataclass(frozen=True)
class AllPresets:
    """fits: one a preset, in the order of their names. seconds: by "read", "fit" and "total"."""

    collection: Collection
    fits: tuple[PresetFit, ...]
    seconds: dict[str, float]


def optimize_presets(
    source: str | Path | Collection,
    *,
    tag: str | Sequence[str] | None = None,
    exclude_flag: int | Sequence[int] | None = None,
    suspended: bool | None = None,
    timezone: str | None = None,
    day_start: int | None = None,
    workers: int | None = None,
    progress: Fraction | None = None,
    **options: Any,
) -> AllPresets:
    """Fit the parameters of every preset of a collection to its own reviews.

    tag, exclude_flag, suspended: see `fsrs_opt.sources.select`. workers: processes, each for a preset at a
    time; None takes several where it pays. progress: called with the share of the reviews that is done.
    options: those of `commands.optimize`, for every preset; without them each has its own settings. A preset
    that cannot be fitted fails alone. Raises what `optimize` raises for the file and the options.
    """
    check_device(str(options.get("device", "cpu")))
    started = time.perf_counter()
    if isinstance(source, str | Path):
        collection = read(source, timezone=timezone, day_start=day_start)
    else:
        collection = source
    chosen = each_preset(collection, tag=tag, exclude_flag=exclude_flag, suspended=suspended)
    read_at = time.perf_counter()
    if workers is None and not _pays(collection, options):
        workers = 1
    presets = [collection.presets[id_] for id_ in chosen]
    parts = list(chosen.values())
    rows = [0 if isinstance(part, FsrsOptError) else len(part.log) for part in parts]
    fits = each(
        partial(_fit, options=options, workers=workers if len(presets) == 1 else 1),
        list(zip(presets, parts, strict=True)),
        [float(n + 1) for n in rows],
        size=sum(rows),
        workers=workers,
        done=progress,
    )
    if not fits:
        raise SourceError(f"{collection.source.path} holds no preset that could be fitted.")
    done_at = time.perf_counter()
    seconds = {"read": read_at - started, "fit": done_at - read_at, "total": done_at - started}
    return AllPresets(collection, tuple(fits), seconds)


def _pays(collection: Collection, options: dict[str, Any]) -> bool:
    """Whether processes of their own can save more than they cost: not where the compiled kernels are on all
    cores already, unless there is much else to do; not where the presets would share a device."""
    device = str(options.get("device", "cpu"))
    native = choose(options.get("kernel"), device) == "native"
    return device == "cpu" and (not native or len(collection.log) >= PAYS_FROM)


def _fit(
    preset: Preset, chosen: Collection | FsrsOptError, *, options: dict[str, Any], workers: int | None
) -> PresetFit:
    """Plain values only: they come back from another process."""
    if isinstance(chosen, FsrsOptError):
        return PresetFit(preset, (), Part(0, 0, 0), error=_sentence(chosen))
    assert chosen.cards is not None
    in_decks = set(chosen.cards["deck_id"].tolist())
    decks = tuple(sorted(deck.name for deck in chosen.decks.values() if deck.id in in_decks))
    try:
        found = optimize(chosen, workers=workers, **options)
    except (NothingToTrainError, SourceError) as error:  # a wrong option is wrong for all presets
        part = Part(len(chosen.cards), int(answers(chosen.log).sum()), 0)
        return PresetFit(preset, decks, part, error=_sentence(error))
    seen = selected(chosen, found.histories, found.data.items)
    series = found.judgement.series
    losses = [
        log_loss(series.label, series.predictions[name]) if name in series.predictions else None
        for name in (found.verdict.against, "new")
    ]
    return PresetFit(
        preset=preset,
        decks=decks,
        part=seen.total,
        verdict=found.verdict,
        log_loss=(losses[0], losses[1]),
        result=as_json.optimized(found),
        selection=tuple(sentences(seen)),
        messages=tuple(each for each in found.messages if each not in chosen.source.notes),
    )


def _sentence(error: FsrsOptError) -> str:
    return f"{str(error).rstrip('.')}."


def as_object(found: AllPresets) -> Json:
    """The object of `optimize --all-presets --json`."""
    return {
        "format": as_json.PRESETS_FORMAT,
        "version": __version__,
        "source": as_json.source(found.collection),
        "day": as_json.day(found.collection),
        "presets": [_preset(one) for one in found.fits],
        "seconds": {name: round(seconds, 4) for name, seconds in found.seconds.items()},
    }


def _preset(one: PresetFit) -> Json:
    result = one.result or {}
    return {
        "preset": one.preset.name,
        "preset_id": one.preset.id,
        "decks": list(one.decks),
        "cards": one.part.cards,
        "reviews": one.part.reviews,
        "items": one.part.items,
        "log_loss": {"current": one.log_loss[0], "new": one.log_loss[1]},
        "decision": "not enough data" if one.verdict is None else one.verdict.decision,
        "parameters": result.get("parameters"),
        "paste": result.get("paste"),
        "error": one.error or None,
        "result": one.result,
    }

"""From a file to what is fitted and compared: the items, and the parameters in use for each card."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fsrs_opt.commands import current as current_parameters
from fsrs_opt.commands.current import CurrentSet
from fsrs_opt.commands.cut_off import cut_off, why_nothing
from fsrs_opt.commands.dates import parse_date
from fsrs_opt.errors import NothingToTrainError
from fsrs_opt.reviews.history import Histories, histories
from fsrs_opt.sources import read
from fsrs_opt.training.data import TrainingSet, training_set

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection


@dataclass(frozen=True)
class Prepared:
    """A collection made ready. current: the sets in use, empty where none is known. messages: what a user
    should be told so far. seconds: by "read" and "histories"."""

    collection: Collection
    histories: Histories
    data: TrainingSet
    current: tuple[CurrentSet, ...]
    relearning_steps: int
    messages: tuple[str, ...]
    seconds: dict[str, float]


def prepare(
    source: str | Path | Collection,
    *,
    current: Sequence[float] | None = None,
    relearning_steps: int | None = None,
    ignore_before: str | None = None,
    timezone: str | None = None,
    day_start: int | None = None,
) -> Prepared:
    """Read a file (or take what `read` gave) and find its items. Arguments and errors:
    `commands.optimize`."""
    started = time.perf_counter()
    if ignore_before is not None:
        parse_date(ignore_before)  # a wrong date is told before the file is read
    given = None if current is None else current_parameters.parse(current)
    if isinstance(source, str | Path):
        collection = read(source, timezone=timezone, day_start=day_start)
    else:
        collection = source
    read_at = time.perf_counter()

    messages = list(collection.source.notes)
    cutoff, said = cut_off(collection, ignore_before)
    messages += said
    past = histories(collection.log, collection.day.day_of, ignore_before_ms=cutoff)
    data = training_set(past)
    if not len(data):
        raise NothingToTrainError(why_nothing(collection, past))
    if given is not None:
        in_use: tuple[CurrentSet, ...] = (
            CurrentSet("given", given, np.ones(past.n_cards, dtype=bool), stored=True, given=True),
        )
    else:
        in_use, said = current_parameters.of_presets(collection, past.card_id)
        messages += said
    steps, largest, n_presets = _relearning_steps(collection, past, relearning_steps)
    if len(in_use) > 1:
        messages.append(
            f"{n_presets} presets are in use: every card is compared with its own preset's parameters."
        )
    if n_presets > 1 and relearning_steps is None:
        messages.append(f"The number of relearning steps is that of “{largest}”, which has the most reviews.")
    by_preset = collection.selection is not None and collection.selection.presets
    dates = any(preset.ignore_before for preset in collection.presets.values())
    if ignore_before is None and not by_preset and dates:
        what = "the whole collection" if collection.selection is None else "this selection"
        messages.append(f"The presets' own cut-off dates do not apply to {what}.")
    seconds = {"read": read_at - started, "histories": time.perf_counter() - read_at}
    return Prepared(collection, past, data, in_use, steps, tuple(messages), seconds)


def _relearning_steps(collection: Collection, past: Histories, asked: int | None) -> tuple[int, str, int]:
    """Relearning steps on the day of a lapse: as asked, else of the preset with the most reviews; the name of
    that preset; and how many presets these cards have."""
    if not collection.presets:
        return 1 if asked is None else asked, "", 0
    preset_of = current_parameters.preset_in_force(collection, past.card_id)
    presets, index = np.unique(preset_of, return_inverse=True)
    reviews = np.bincount(index, weights=np.diff(past.offsets))
    largest = collection.presets.get(int(presets[reviews.argmax()]))
    steps = 1 if largest is None else largest.same_day_relearning_steps
    return steps if asked is None else asked, largest.name if largest else "Default", len(presets)

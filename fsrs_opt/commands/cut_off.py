"""The date before which learned cards do not count, and why nothing may be left to train on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fsrs_opt.commands import current as current_parameters
from fsrs_opt.commands.dates import parse_date
from fsrs_opt.commands.selected import nothing_selected
from fsrs_opt.errors import UsageError
from fsrs_opt.reviews.history import Histories

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection

Int64 = npt.NDArray[np.int64]


def cut_off(
    collection: Collection, ignore_before: str | None
) -> tuple[int | Callable[[Int64], Int64], list[str]]:
    """The time (ms) before which learned cards are left out, or a function that gives it for card ids, and
    sentences about dates that cannot be read.

    The date that was asked for; else that of the selected preset, or of each card's own where several presets
    with different ones were selected; else none.
    """
    if ignore_before is not None:
        return parse_date(ignore_before), []
    said = []
    chosen = collection.selection
    dates = {} if chosen is None else chosen.cut_offs
    if len(set(dates.values())) <= 1:
        dates = {0: collection.ignore_before}
    times = {}
    for preset_id, date in dates.items():
        try:
            times[preset_id] = parse_date(date) if date else 0
        except UsageError:
            times[preset_id] = 0
            said.append(f"The preset's cut-off date “{date}” cannot be read and is ignored.")
    if len(times) == 1:
        if chosen is not None and all(times.values()):
            said.append(f"Cards learned before {collection.ignore_before} are left out, as the preset says.")
        return next(iter(times.values())), said
    said.append("Cards learned before the cut-off date of their own preset are left out.")

    def of_cards(card_id: Int64) -> Int64:
        preset_of = current_parameters.preset_of_cards(collection, card_id)
        since = np.zeros(len(card_id), dtype=np.int64)
        for preset_id, time_ms in times.items():
            since[preset_of == preset_id] = time_ms
        return since

    return of_cards, said


def why_nothing(collection: Collection, past: Histories) -> str:
    """One sentence on why there is no item at all."""
    where = collection.source.path
    if past.rows == 0 and collection.selection is not None:
        return nothing_selected(collection)
    if past.rows == 0:
        return f"{where} holds no reviews: study some cards first."
    if past.left_out["before_cutoff"] and not past.n_reviews:
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

"""Write the review log of any file as a CSV or Parquet table, and nothing else of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fsrs_opt.atomic_file import check_target, replacing
from fsrs_opt.commands.cut_off import cut_off, why_nothing
from fsrs_opt.commands.dates import DAY_MS, parse_date
from fsrs_opt.commands.selected import Selected, selected
from fsrs_opt.errors import NothingToTrainError, UsageError
from fsrs_opt.reviews.history import histories
from fsrs_opt.reviews.items import items
from fsrs_opt.reviews.log import RESCHEDULED
from fsrs_opt.sources import read, select

if TYPE_CHECKING:
    from fsrs_opt.reviews.log import ReviewLog
    from fsrs_opt.sources.collection import Collection
    from fsrs_opt.sources.days import DayBoundary

FORMATS = (".csv", ".parquet")
REVLOG_COLUMNS = {
    "kind": "type",
    "factor": "factor",
    "interval": "ivl",
    "last_interval": "lastIvl",
}
_MANUAL_STATE = 5
_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Exported:
    """What was written: the file, its rows, its columns in order, and sentences a user should be told.

    selected: None where nothing was selected and all rows were written.
    """

    path: Path
    rows: int
    columns: tuple[str, ...]
    messages: tuple[str, ...]
    selected: Selected | None = None


def export(
    source: str | Path | Collection,
    target: str | Path,
    *,
    timezone: str | None = None,
    day_start: int | str | None = None,
    selection: Mapping[str, Any] | None = None,
    ignore_before: str | None = None,
    force: bool = False,
) -> Exported:
    """Write the review log of `source` to `target`, a .csv or .parquet file.

    Columns: see `table`. Read back with the same day settings the file gives the same items. The file is
    written whole or not at all. force: replace an existing file. timezone, day_start: of the day boundary;
    they matter only to files that give days without times. selection: arguments of `fsrs_opt.sources.select`.
    ignore_before: as of `optimize`: the rows of cards learned before that date, or before that of a selected
    preset, are left out.
    Raises UsageError for a target that must not be written, SourceError for a source that cannot be read.
    """
    target = Path(target)
    suffix = target.suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(f"{target} is not named .csv or .parquet: the suffix chooses the format")
    if isinstance(source, str | Path):
        check_target(target, Path(source), force=force)
        collection = read(source, timezone=timezone, day_start=day_start, columns="all")
    else:
        collection = source
        check_target(target, collection.source.path, force=force)
    collection = select(collection, **(selection or {}))
    chosen: Selected | None = None
    left_out: tuple[str, ...] = ()
    if collection.selection is not None or ignore_before is not None:
        collection, chosen, left_out = _cut(collection, ignore_before)
    frame, messages = table(collection.log, collection.day)
    # pandas writes its own notes about a frame into the file; none of them is part of the review log
    rows = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    with replacing(target) as part:
        if suffix == ".csv":
            with part.open("wb") as file:
                file.write((",".join(rows.column_names) + "\n").encode())
                pyarrow.csv.write_csv(rows, file, pyarrow.csv.WriteOptions(include_header=False))
        else:
            pyarrow.parquet.write_table(rows, part, compression="zstd")
    messages = (*collection.source.notes, *left_out, *messages)
    return Exported(target, len(frame), tuple(frame.columns), messages, chosen)


def _cut(collection: Collection, ignore_before: str | None) -> tuple[Collection, Selected, tuple[str, ...]]:
    """The collection without the rows of cards learned before the cut-off, what was selected, and sentences
    about it. Raises NothingToTrainError where no row is left."""
    since, said = cut_off(collection, ignore_before)
    log, day_of = collection.log, collection.day.day_of
    past = histories(log, day_of, ignore_before_ms=since)
    if past.cards_left_out["before_cutoff"]:
        early = np.setdiff1d(histories(log, day_of).card_id, past.card_id)
        kept = ~np.isin(log["card_id"], early)
        collection = replace(collection, log=log.rows(kept))
        said.append(f"{len(early):,} cards learned before the cut-off date were left out.")
    if not len(collection.log):
        raise NothingToTrainError(why_nothing(collection, past))
    return collection, selected(collection, past, items(past)), tuple(said)


def table(log: ReviewLog, day: DayBoundary) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows of a review log in the field's columns, and sentences a user should be told.

    card_id (text where the file named its cards by text), review_time (ms since 1970 UTC), review_rating (the
    button), review_state (1 learning, 2 review, 3 relearning, 4 filtered, 5 manual), and where the log knows
    them review_duration (ms) and the revlog's own type, factor, ivl, lastIvl. day: used where the log has day
    numbers in place of times.
    """
    kind = log["kind"].astype(np.int64)
    known_state = (kind >= 0) & (kind < RESCHEDULED)
    time = log["review_time"]
    messages: tuple[str, ...] = ()
    if "day" in log and len(log):
        time, messages = _times_of_days(time, day)
    card_id, names = log["card_id"], log.card_names
    columns: dict[str, Any] = {
        "card_id": card_id if names is None else pd.Series(names, dtype="str").to_numpy()[card_id],
        "review_time": time,
        "review_rating": log["rating"],
        "review_state": np.where(known_state, kind + 1, _MANUAL_STATE).astype(np.int8),
    }
    if "duration" in log:
        columns["review_duration"] = log["duration"]
    columns |= {theirs: log[ours] for ours, theirs in REVLOG_COLUMNS.items() if ours in log}
    return pd.DataFrame(columns), messages


def _times_of_days(
    time: npt.NDArray[np.int64], day: DayBoundary
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Made-up times moved so that the day boundary puts every row on its own day.

    time: a whole number of days and nearly the same time of day in every row, as the reader makes them up.
    They are moved to the middle of the days of `day`, from 2000 on, where they are sure to be read as ms.
    """
    start = parse_date("2000-01-01")
    days = day.day_of(start + np.arange(25) * _HOUR_MS)
    middle = (int(np.argmax(np.diff(days) > 0)) + 1 + 12) * _HOUR_MS
    moved = time - (time.min() - time.min() % DAY_MS) + start + middle - time.min() % DAY_MS
    return moved, ("The file gives days but no times: review_time was made up, in the middle of each day.",)

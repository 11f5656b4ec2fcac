"""The review logs that are compared: found, read, and written as the packages that whole commands read."""

from __future__ import annotations

import csv
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fsrs_opt.errors import UsageError
from fsrs_opt.reviews.history import histories
from fsrs_opt.reviews.log import FILTERED, ReviewLog
from fsrs_opt.sources import DayBoundary, FixedGrid, WallClock, read
from fsrs_opt.training.data import TrainingSet, training_set

SUFFIXES = (".parquet", ".csv", ".colpkg", ".apkg", ".anki2", ".anki21", ".anki21b")
INDEX = "index.csv"
DAY_SECONDS = 86_400
DEFAULT_DAY_START = 4  # hour UTC, where nothing says how a table counts its days
UNKNOWN_FACTOR = 2500  # what Anki gives a new card: not 0, so that no row counts as a preview or reset

_TABLES = """
create table col (id integer primary key, crt, mod, scm, ver, dty, usn, ls, conf, models, decks, dconf, tags);
create table cards (id integer primary key, nid, did, ord, mod, usn, type, queue, due, ivl, factor, reps,
                    lapses, left, odue, odid, flags, data);
create table revlog (id integer primary key, cid, usn, ease, ivl, lastIvl, factor, time, type);
create table notes (id integer primary key, guid, mid, mod, usn, tags, flds, sfld, csum, flags, data);
create table graves (usn, oid, type);
create index ix_revlog_cid on revlog (cid);
"""


@dataclass(frozen=True)
class LogFile:
    """One review log: `name` (of its file), the table itself, the days it was counted in, and its items."""

    name: str
    log: ReviewLog
    day: DayBoundary
    data: TrainingSet

    @property
    def day_start(self) -> int:
        """Second of the day (UTC) at which its days start."""
        if isinstance(self.day, FixedGrid):
            return self.day.next_day_at % DAY_SECONDS
        return self.day.rollover * 3600


def find(paths: Iterable[Path], only: Sequence[str]) -> list[Path]:
    """The log files among `paths` (files, and folders of them); only those named in `only`, if any."""
    found = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.iterdir() if p.suffix in SUFFIXES and p.name != INDEX)
        else:
            found.append(path)
    return [path for path in found if not only or path.stem in only]


def load(path: Path) -> LogFile:
    """Read a log. A table's days start where an index.csv beside it says (columns name and
    day_start_utc_secs), else at 04:00 UTC; a collection knows its own."""
    collection = read(path, columns="all")
    day, log = collection.day, collection.log
    if collection.schema is None:
        day = WallClock("UTC", DEFAULT_DAY_START)
        start = _indexed_day_start(path)
        if start is not None and len(log):
            newest_day = int(log["review_time"].max()) // 1000 // DAY_SECONDS
            day = FixedGrid(start + (newest_day + 2) * DAY_SECONDS)
    return LogFile(path.stem, log, day, training_set(histories(log, day.day_of)))


def _indexed_day_start(path: Path) -> int | None:
    index = path.parent / INDEX
    if not index.exists():
        return None
    with index.open(newline="", encoding="utf-8") as file:
        starts = {row.get("name"): row.get("day_start_utc_secs") for row in csv.DictReader(file)}
    return int(float(starts[path.stem])) if starts.get(path.stem) else None


def write_colpkg(file: LogFile, path: Path) -> None:
    """Write the log as a package that old and new programs read: schema 11 in `collection.anki21`.

    Every card of the log is there as a card in review, in one deck, and the collection's creation time makes
    Anki count days as `file.day` does.
    """
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "collection.anki21"
        with closing(sqlite3.connect(database)) as connection:
            connection.executescript(_TABLES)
            _fill(connection, file)
            connection.commit()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
            package.write(database, database.name)
            package.writestr("media", "{}")
            package.writestr("meta", b"\x08\x02")  # protobuf, field 1 = 2: the database is anki21


def _fill(connection: sqlite3.Connection, file: LogFile) -> None:
    if "day" in file.log:
        raise UsageError(
            f"{file.name} gives day numbers, which no package can hold: leave the table time away"
        )
    log = file.log.rows(np.argsort(file.log["review_time"], kind="stable"))
    n = len(log)
    # The revlog's ids are unique: equal times move on by a millisecond.
    ids = np.maximum.accumulate(log["review_time"] - np.arange(n)) + np.arange(n)
    kind = log["kind"]
    optional = {
        "interval": np.ones(n, dtype=np.int64),
        "last_interval": np.ones(n, dtype=np.int64),
        "factor": np.where(kind >= FILTERED, UNKNOWN_FACTOR, 0),
        "duration": np.full(n, 5000),
    }
    known = {**optional, **log.arrays}
    interval, last_interval, factor, duration = (known[name] for name in optional)
    rating = log["rating"]
    cards = log["card_id"]
    if n and cards.min() < 1:
        cards = cards - cards.min() + 1
    columns = (ids, cards, np.zeros(n, int), rating, interval, last_interval, factor, duration, kind)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    connection.executemany("insert into revlog values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.executemany(
        "insert into cards values (?, 1, 1, 0, 0, 0, 2, 2, 1, 1, 2500, 1, 0, 0, 0, 0, 0, '')",
        ((card,) for card in np.unique(cards).tolist()),
    )
    first = int(ids[0]) // 1000 if n else 0
    created = first - (first - file.day_start) % DAY_SECONDS
    deck = {"1": {"id": 1, "name": "Default", "conf": 1, "dyn": 0}}
    preset = {"1": {"id": 1, "name": "Default", "lapse": {"delays": [10.0]}}}
    texts = ({"schedVer": 1}, {}, deck, preset, {})
    connection.execute(
        "insert into col values (1, ?, 0, 0, 11, 0, 0, 0, ?, ?, ?, ?, ?)",
        (created, *(json.dumps(text) for text in texts)),
    )

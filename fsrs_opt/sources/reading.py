"""`read`: any supported file -> `Collection`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from fsrs_opt.errors import SourceError
from fsrs_opt.sources import days
from fsrs_opt.sources.collection import Collection, Source
from fsrs_opt.sources.database import Database, open_live, open_still, temporary_file
from fsrs_opt.sources.dataset import user_files
from fsrs_opt.sources.detect import detect
from fsrs_opt.sources.package import MEMBERS, unpack, unpack_zstd
from fsrs_opt.sources.schemas import knowledge, tables

if TYPE_CHECKING:
    from fsrs_opt.reviews.columns import Columns
    from fsrs_opt.reviews.log import ReviewLog

EXPORT_WITH_SCHEDULING: Final = (
    'in Anki choose File > Export, tick "Include scheduling information" and export again'
)
_EXPORT_AGAIN: Final = "in Anki choose File > Export and export the collection again"


def read(
    path: str | PathLike[str],
    *,
    timezone: str | None = None,
    day_start: float | str | None = None,
    now: float | None = None,
    columns: Literal["training", "all"] = "training",
) -> Collection:
    """Read a collection or a table of reviews. The file, and the folder it lies in, are left as they are.

    path: an Anki database (.anki2, .anki21, .anki21b; schemas 11 to 18), a .colpkg or .apkg, or a CSV or
    Parquet file (the raw revlog, FSRS-Optimizer's columns, or those of the FSRS research data set). Its
    content decides. Or one user's folder of that data set (revlogs/user_id=N).
    timezone, day_start: a zone's name and an hour 0..23, in place of what the file says about its days.
    now: seconds since 1970 UTC, default the machine's clock; the day boundary counts from there.
    columns: "training" reads what training needs, "all" the optional columns of `fsrs_opt.reviews.log` too.

    Raises SourceError for a file that cannot be read as reviews, UsageError for a zone or hour that is none.
    """
    if columns not in ("training", "all"):
        raise ValueError(f'columns is "training" or "all", not {columns!r}')
    if timezone is not None:
        days.check_timezone(timezone)
    if day_start is not None:
        day_start = days.check_day_start(day_start)
    path = Path(path)
    of_user = user_files(path)
    form = "parquet" if of_user else detect(path)
    if form in ("text", "parquet"):
        from fsrs_opt.sources.tables import read_parquet, read_table

        table = read_parquet(path, columns, of_user) if of_user else read_table(path, form, columns)
        day, day_notes = days.boundary(None, None, timezone=timezone, day_start=day_start, now=now)
        if "day" in table.log:
            day_notes = ("The file gives its own day numbers, so no day start is needed.",)
        kind = "csv" if form == "text" else "parquet"
        source = Source(path, kind, form=table.form, notes=(*table.notes, *day_notes))
        return Collection(table.log, None, {}, {}, day, None, source)

    with _open(path, form) as opened:
        stored = _stored(opened, columns)
        known = knowledge(opened.database.connection)
        day, day_notes = days.boundary(
            known.settings, known.created, timezone=timezone, day_start=day_start, now=now
        )
        notes = (*opened.database.notes, *known.notes, *day_notes)
        source = Source(path, opened.kind, member=opened.member, notes=notes)
        return Collection(*stored, known.decks, known.presets, day, known.schema, source)


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The database of a file that `read` has read, for what else is to be looked up in it."""
    with _open(path, detect(path)) as found:
        yield found.database


@dataclass(frozen=True)
class _Opened:
    database: Database
    kind: str
    member: str = ""
    placeholder: bool = False


@contextmanager
def _open(path: Path, form: str) -> Iterator[_Opened]:
    if form == "sqlite":
        with open_live(path) as database:
            yield _Opened(database, "anki2")
        return
    with temporary_file() as file:
        if form == "zstd":
            unpack_zstd(path, file)
            with open_still(file, named=path) as database:
                yield _Opened(database, "anki21b")
            return
        member, placeholder = unpack(path, file)
        suffix = path.suffix.lower()
        kind = suffix[1:] if suffix in (".colpkg", ".apkg") else "package"
        with open_still(file, named=path) as database:
            yield _Opened(database, kind, member, placeholder)


def _stored(opened: _Opened, columns: str) -> tuple[ReviewLog, Columns]:
    """The log and the cards; SourceError where the database cannot have any reviews for a known reason."""
    from fsrs_opt.sources import revlog

    database = opened.database
    if not {"col", "cards", "revlog"} <= tables(database.connection):
        raise SourceError(f"{database.named} is an SQLite database but not an Anki collection.")
    log, cards = revlog.read_log(database, columns), revlog.read_cards(database)
    if opened.placeholder or (opened.member == MEMBERS[-1] and not len(log) and _asks_to_update(database)):
        raise SourceError(
            f"{database.named} holds only the placeholder card that asks to update Anki, and no collection; "
            f"{_EXPORT_AGAIN}."
        )
    if opened.kind in ("apkg", "package") and not len(log) and len(cards):
        raise SourceError(
            f"{database.named} was exported without scheduling information: it holds {len(cards)} cards "
            f"and no reviews; {EXPORT_WITH_SCHEDULING}."
        )
    return log, cards


def _asks_to_update(database: Database) -> bool:
    """One note in the database, and it speaks of Anki (in the user's language)."""
    notes = database.connection.execute("select flds from notes limit 2").fetchall()
    return len(notes) == 1 and "Anki" in str(notes[0][0])

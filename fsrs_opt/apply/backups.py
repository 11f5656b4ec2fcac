"""Backups of a collection: whole copies in a folder, each with a record of what was then written."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from fsrs_opt import __version__
from fsrs_opt.atomic_file import replacing
from fsrs_opt.errors import RefusedError, SourceError
from fsrs_opt.sources.detect import reason

FOLDER: Final = "fsrs-opt-backups"
FORMAT: Final = "fsrs-opt.backup/1"


@dataclass(frozen=True)
class Written:
    """What was written into one preset: its parameters before (as stored, may be none) and after."""

    preset: str
    preset_id: int
    old: tuple[float, ...]
    new: tuple[float, ...]


@dataclass(frozen=True)
class Backup:
    """A backup and its record.

    file: the copy; sha256: of its bytes. made: local time. collection: what it is a copy of. kind: "apply",
    or "undo" for what a forced undo replaced. before, after: fingerprints of the collection (see
    `live.fingerprint`) before and after the change. undone: when it was restored, "" while it was not.
    """

    file: Path
    made: str
    collection: str
    kind: str
    sha256: str
    before: str
    after: str
    memory: str = "keep"
    written: tuple[Written, ...] = ()
    anki: str = ""
    undone: str = ""
    size: int = field(default=0, compare=False)

    @property
    def record(self) -> Path:
        """The side file of this backup."""
        return self.file.with_suffix(".json")

    @property
    def when(self) -> str:
        """When it was made, to the second and without the offset."""
        return f"{datetime.datetime.fromisoformat(self.made):%Y-%m-%d %H:%M:%S}"


def folder_of(collection: Path, given: Path | None) -> Path:
    """The folder of a collection's backups: beside it, unless another one is given."""
    return collection.resolve().parent / FOLDER if given is None else given.absolute()


def new_file(folder: Path, collection: Path) -> Path:
    """A name in the folder that is not taken, with date and time in it."""
    stem = f"{collection.stem}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    names = (f"{stem}{f'-{n}' if n > 1 else ''}{collection.suffix}" for n in range(1, 10_000))
    return next(file for file in map(folder.joinpath, names) if not _taken(file))


def _taken(file: Path) -> bool:
    return file.exists() or file.with_suffix(".json").exists()


def now() -> str:
    """The local time, with its offset, as records hold it."""
    return datetime.datetime.now().astimezone().isoformat()


def save(backup: Backup) -> None:
    """Write the record; it is whole or not there. Raises OSError."""
    record = {"format": FORMAT, "version": __version__, **asdict(backup), "file": backup.file.name}
    record.pop("size")
    with replacing(backup.record) as part:
        part.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def mark_undone(backup: Backup) -> Backup:
    """Note in the record that the backup was restored."""
    marked = replace(backup, undone=now())
    save(marked)
    return marked


def remove(backup: Backup) -> None:
    """Delete a backup that turned out not to be needed."""
    backup.record.unlink(missing_ok=True)
    backup.file.unlink(missing_ok=True)


def backups(folder: Path, collection: Path) -> list[Backup]:
    """The backups of a collection in a folder, newest first. Copies without a readable record are left out.

    Beside the collection all count (the folder may have been moved with it); in a folder that was given only
    those made of this very file.
    """
    whole = collection.resolve()
    beside = folder.resolve() == whole.parent / FOLDER
    found = [
        each
        for each in _records(folder)
        if Path(each.collection).name == whole.name and (beside or each.collection == str(whole))
    ]
    return sorted(found, key=lambda each: datetime.datetime.fromisoformat(each.made), reverse=True)


def _records(folder: Path) -> Iterator[Backup]:
    try:
        files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    except OSError as error:
        raise SourceError(f"{folder} cannot be opened: {reason(error)}.") from None
    for file in files:
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            if record.pop("format") == FORMAT:
                yield _of(record, folder)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # not one of ours, or not readable


def _of(record: dict[str, Any], folder: Path) -> Backup:
    record.pop("version")
    datetime.datetime.fromisoformat(record["made"])
    file = folder / Path(record.pop("file")).name
    written = tuple(
        Written(each["preset"], each["preset_id"], tuple(each["old"]), tuple(each["new"]))
        for each in record.pop("written")
    )
    size = file.stat().st_size if file.exists() else 0
    return Backup(file=file, written=written, size=size, **record)


def make_folder(folder: Path) -> None:
    """Make the folder where it is not there; RefusedError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"The folder {folder} for the backup cannot be made: {reason(error)}.") from None

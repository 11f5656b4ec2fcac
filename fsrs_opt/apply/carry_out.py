"""Write a plan into the collection: backup, Anki's own code on a copy, checks, and one transaction."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from fsrs_opt.apply import anki_package, backups, live
from fsrs_opt.apply.backups import Backup, Written
from fsrs_opt.apply.differences import only_parameters
from fsrs_opt.apply.live import Live
from fsrs_opt.apply.plan import Plan
from fsrs_opt.atomic_file import flush_folder
from fsrs_opt.errors import RefusedError
from fsrs_opt.sources.detect import reason

_MARGIN_BYTES: Final = 256 * 1024
_WORK: Final = ".fsrs-opt-work-"

Doing = Callable[[str], None]


@dataclass(frozen=True)
class Applied:
    """What was done. cards: how many cards got new memory states or due dates."""

    plan: Plan
    backup: Backup
    cards: int


def carry_out(plan: Plan, *, backup_dir: Path | None = None, doing: Doing | None = None) -> Applied:
    """Write the changes of a plan into its collection.

    The collection is locked all the while. A backup is made and checked; Anki's backend writes a copy of it;
    the copy is checked (by Anki's backend, and row by row against the backup) and then takes the place of the
    collection's content in one transaction of SQLite's. Killed at any moment, the collection is as it was or
    as it should be.

    backup_dir: default a folder beside the collection. doing: called with what begins. Raises RefusedError;
    nothing has changed then.
    """
    say = doing or (lambda _: None)
    changes = plan.to_write
    parameters = {each.preset_id: each.new for each in changes if each.new is not None}
    folder = backups.folder_of(plan.collection, backup_dir)
    say("waiting for the collection")
    with live.locked(plan.collection, plan.seen) as collection, work_folder(folder, collection.path) as work:
        check_room(collection.path, folder)
        say("making a backup")
        saved, sha256 = copy_for_backup(collection, work)
        before = collection.fingerprint()
        say("Anki's own code writes a copy")
        copy = work / "collection.anki2"
        with disk_errors(folder):
            shutil.copyfile(saved, copy)
        with anki_package.opened(copy) as col:
            anki_package.check(col, plan.collection)
            anki_package.write(col, parameters, plan.memory, plan.deck_ids)
        say("checking the copy")
        with anki_package.opened(copy) as col:
            anki_package.check(col, copy)
            stored = anki_package.read_back(col, parameters)
        for preset_id, values in parameters.items():
            if not np.array_equal(as_stored(stored[preset_id]), as_stored(values)):
                raise RefusedError("Anki does not read the new parameters back as they were written.")
        n_cards = only_parameters(saved, copy, parameters, plan.card_ids if plan.memory != "keep" else None)
        backup = Backup(
            file=backups.new_file(folder, collection.path),
            made=backups.now(),
            collection=str(collection.path),
            kind="apply",
            sha256=sha256,
            before=before,
            after=live.fingerprint(copy),
            memory=plan.memory,
            written=tuple(Written(each.preset, each.preset_id, each.old, each.new or ()) for each in changes),
            anki=plan.anki,
        )
        install(collection, copy, saved, backup, say)
    return Applied(plan, backup, n_cards)


def as_stored(values: Sequence[float]) -> npt.NDArray[np.float32]:
    """Parameters with the precision in which Anki stores them."""
    return np.array(values, dtype=np.float32)


def install(collection: Live, content: Path, saved: Path, backup: Backup, say: Doing) -> None:
    """Keep the backup `saved` with its record, then make `content` the collection's content.

    RefusedError, and no backup left, where that is not possible.
    """
    with disk_errors(backup.file.parent):
        saved.rename(backup.file)
        flush_folder(backup.file.parent)
        backups.save(backup)
    say("writing the collection")
    try:
        collection.install(content)
    except BaseException:
        # SQLite has rolled back, unless Ctrl-C came just after the end of the transaction
        with suppress(OSError, RefusedError):
            collection.settle()
            if collection.fingerprint() == backup.before:
                backups.remove(backup)
        raise
    collection.settle()
    if collection.fingerprint() != backup.after:
        raise RefusedError(
            f"{collection.path} is not as it was meant to become: fsrs-opt undo --force, or copy the backup"
            f" {backup.file} over it."
        )


def copy_for_backup(collection: Live, work: Path) -> tuple[Path, str]:
    """A copy of the collection in the work folder, read again to be sure, and its SHA-256."""
    saved = work / "backup.anki2"
    with disk_errors(work.parent):
        sha256 = collection.copy_to(saved)
        saved.chmod(collection.path.stat().st_mode & 0o777)
    if live.sha256(saved) != sha256:
        raise RefusedError(
            f"The backup in {work.parent} does not read as it was written: is that disk sound?"
        )
    return saved, sha256


def check_room(collection: Path, folder: Path, copies: int = 2) -> None:
    """RefusedError where there is no room for `copies` of the collection in the folder of the backups, and
    for one more in SQLite's log beside the collection."""
    size = collection.stat().st_size
    needed = {folder: copies * size, collection.parent: size}
    if folder.stat().st_dev == collection.parent.stat().st_dev:
        needed = {folder: (copies + 1) * size}
    for place, n_bytes in needed.items():
        free = shutil.disk_usage(place).free
        if free < n_bytes + _MARGIN_BYTES:
            raise RefusedError(
                f"There is no room for the backup: {place} has {free / 1e6:,.1f} MB free and"
                f" {(n_bytes + _MARGIN_BYTES) / 1e6:,.1f} MB are needed; make room, or name another folder"
                " with"
                " --backup-dir."
            )


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """What the system says against writing into the folder, as RefusedError."""
    try:
        yield
    except OSError as error:
        raise RefusedError(
            f"The backup could not be written to {folder} ({reason(error)}), so that nothing was changed."
        ) from None


@contextmanager
def work_folder(folder: Path, collection: Path) -> Iterator[Path]:
    """A private folder for copies among the backups, on the same disk; it goes whatever happens.

    What a killed run left of it goes first: nobody else can be at work, since the collection is locked.
    """
    made = not folder.exists()
    backups.make_folder(folder)
    prefix = f"{_WORK}{_name_of(collection)}-"
    for leftover in folder.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        with disk_errors(folder):
            temporary = tempfile.TemporaryDirectory(prefix=prefix, dir=folder, ignore_cleanup_errors=True)
        with temporary as work:
            yield Path(work)
    finally:
        if made:
            with suppress(OSError):
                folder.rmdir()  # still empty where nothing was kept


def _name_of(collection: Path) -> str:
    """A short name for a file's path: a folder of backups can serve several collections."""
    return hashlib.sha256(str(collection).encode("utf-8", "surrogateescape")).hexdigest()[:8]

"""Take the newest `apply` back: the backup becomes the collection again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fsrs_opt.apply import backups, live
from fsrs_opt.apply.backups import Backup
from fsrs_opt.apply.carry_out import Doing, check_room, copy_for_backup, install, work_folder
from fsrs_opt.errors import RefusedError
from fsrs_opt.sources.detect import detect


@dataclass(frozen=True)
class Undone:
    """What was done. restored: the backup; False in `changed` where the collection was as it is in there
    already. kept: the backup of what a forced undo replaced."""

    collection: Path
    restored: Backup
    changed: bool
    kept: Backup | None = None


def undo(
    path: Path, *, backup_dir: Path | None = None, force: bool = False, doing: Doing | None = None
) -> Undone:
    """Restore the newest backup that was not restored yet, if nothing has changed since `apply`.

    force: even if something has; what was there is then kept as a backup too. Raises RefusedError; nothing
    has changed then.
    """
    say = doing or (lambda _: None)
    if detect(path) != "sqlite":
        raise RefusedError(f"{path} is no collection that apply could have written to.")
    folder = backups.folder_of(path, backup_dir)
    newest = next((each for each in backups.backups(folder, path) if not each.undone), None)
    if newest is None:
        raise RefusedError(
            f"There is nothing to undo: no backup of {path} that was not restored yet is in {folder}."
        )
    say("waiting for the collection")
    with live.locked(path) as collection:
        now = collection.fingerprint()
        if now == newest.before:
            return Undone(path, _marked(newest), changed=False)
        if now != newest.after and not force:
            raise RefusedError(
                f"{path} has changed since {newest.when} (it was studied, synced or opened): what came after"
                " would be"
                " lost; --force restores the backup all the same."
            )
        say("checking the backup")
        if not newest.file.exists() or live.sha256(newest.file) != newest.sha256:
            raise RefusedError(f"The backup {newest.file} is missing or was changed: it cannot be restored.")
        kept = None
        if now == newest.after:
            check_room(collection.path, folder, copies=0)
            say("restoring the collection")
            collection.install(newest.file)
            collection.settle()
        else:
            with work_folder(folder, collection.path) as work:
                check_room(collection.path, folder, copies=1)
                say("making a backup")
                saved, sha256 = copy_for_backup(collection, work)
                kept = Backup(
                    file=backups.new_file(folder, collection.path),
                    made=backups.now(),
                    collection=str(collection.path),
                    kind="undo",
                    sha256=sha256,
                    before=now,
                    after=newest.before,
                )
                install(collection, newest.file, saved, kept, say)
        if collection.fingerprint() != newest.before:
            raise RefusedError(
                f"{path} is not as it was meant to become: copy the backup {newest.file} over it."
            )
    return Undone(path, _marked(newest), changed=True, kept=kept)


def _marked(backup: Backup) -> Backup:
    with suppress(OSError):  # the next undo sees from the content that it was restored
        return backups.mark_undone(backup)
    return backup

"""`fsrs-opt undo`."""

from __future__ import annotations

from pathlib import Path

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.json_output import print_json


@click.command(short_help="Take the last apply back.", epilog="Close Anki first.")
@click.argument("collection", type=click.Path(path_type=Path))
@click.option("--list", "only_list", is_flag=True, help="List the backups and change nothing.")
@click.option(
    "--force",
    is_flag=True,
    help="Restore even if the collection has changed since; what came after is then lost.",
)
@options.backup_dir_option
@options.json_option
def undo(collection: Path, only_list: bool, force: bool, backup_dir: Path | None, as_json: bool) -> None:
    """Restore the backup that the last fsrs-opt apply made of COLLECTION, if nothing has changed since.

    Repeated, it goes back by one apply more. Backups are kept. --force keeps what it replaces as a backup
    too.

    \b
    Examples:
      fsrs-opt undo collection.anki2
      fsrs-opt undo collection.anki2 --list
    """
    if only_list:
        from fsrs_opt.apply.backups import backups, folder_of
        from fsrs_opt.cli import apply_report

        folder = folder_of(collection, backup_dir)
        found = backups(folder, collection)
        if as_json:
            from fsrs_opt.apply.as_json import listed

            print_json(listed(found))
            return
        apply_report.backups(folder, found)
        return

    from fsrs_opt.apply.undo import undo as run
    from fsrs_opt.cli.progress import Bar

    with Bar() as bar:
        done = run(collection, backup_dir=backup_dir, force=force, doing=bar.doing)
    if as_json:
        from fsrs_opt.apply.as_json import undone

        print_json(undone(done))
        return
    from fsrs_opt.cli import apply_report

    apply_report.undone(done)

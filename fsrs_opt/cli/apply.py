"""`fsrs-opt apply`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.json_output import print_json


@click.command(
    short_help="Write parameters into Anki's collection.",
    epilog="Close Anki first. fsrs-opt undo takes it back.",
)
@click.argument("collection", type=click.Path(path_type=Path))
@click.option(
    "--preset", "presets", metavar="NAME", multiple=True, help="Change this preset (may be repeated)."
)
@click.option("--all-presets", is_flag=True, help="Change every preset that has cards.")
@click.option("--optimize", is_flag=True, help="Fit each preset to its own reviews.")
@options.from_option
@click.option(
    "--parameters",
    metavar='"w0,w1,…"',
    callback=options.parameters,
    help="These parameters: 21 (19, 17) numbers.",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--force", is_flag=True, help="Change presets too whose verdict is not “change”.")
@click.option(
    "--memory-states", is_flag=True, help="Recompute the cards' memory states, as Anki's deck options do."
)
@click.option("--reschedule", is_flag=True, help="Recompute memory states and due dates.")
@options.backup_dir_option
@options.workers_option
@options.json_option
def apply(
    collection: Path,
    presets: tuple[str, ...],
    all_presets: bool,
    optimize: bool,
    from_file: Path | None,
    parameters: tuple[float, ...] | None,
    yes: bool,
    dry_run: bool,
    force: bool,
    memory_states: bool,
    reschedule: bool,
    backup_dir: Path | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Write FSRS parameters into the presets of COLLECTION, the collection.anki2 that Anki itself uses.

    Shows what would change and asks. Makes a backup first. Anki's own code writes, so that the next sync is
    an ordinary one. Needs Anki's code: pip install "fsrs-opt[anki]".

    \b
    Examples:
      fsrs-opt apply collection.anki2 --optimize
      fsrs-opt apply collection.anki2 --preset Languages --from result.json
      fsrs-opt apply collection.anki2 --all-presets --optimize --dry-run
    """
    from fsrs_opt.errors import RefusedError, UsageError

    if as_json and not (yes or dry_run):
        raise UsageError("--json asks no question: add --yes, or --dry-run")
    if not (yes or dry_run or sys.stdin.isatty()):
        raise RefusedError("There is no terminal to ask on: add --yes to write, or --dry-run to only look.")

    from fsrs_opt.apply.plan import plan_apply
    from fsrs_opt.cli import apply_report
    from fsrs_opt.cli.progress import Bar

    with Bar() as bar:
        bar.doing(f"reading {collection.name}")
        found = plan_apply(
            collection,
            presets=presets,
            all_presets=all_presets,
            optimize=optimize,
            from_file=from_file,
            numbers=parameters,
            force=force,
            memory="reschedule" if reschedule else "recompute" if memory_states else "keep",
            workers=workers,
            progress=bar.training,
            held_out_progress=bar.held_out,
        )
    if not as_json:
        apply_report.plan(found)
    if not found.to_write or dry_run:
        if as_json:
            from fsrs_opt.apply.as_json import planned

            print_json(planned(found))
        elif dry_run:
            click.echo("Nothing was written (--dry-run).")
        apply_report.nothing_to_write(found)
        return
    if not yes and not click.confirm("Write this into the collection?", err=True):
        click.echo("Nothing was written.")
        return

    from fsrs_opt.apply.carry_out import carry_out

    with Bar() as bar:
        done = carry_out(found, backup_dir=backup_dir, doing=bar.doing)
    if as_json:
        from fsrs_opt.apply.as_json import planned

        print_json(planned(found, done))
        return
    apply_report.done(done)

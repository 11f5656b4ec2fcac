"""`fsrs-opt advise`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.json_output import print_json
from fsrs_opt.cli.reading import reading


@click.command(short_help="Find out which decks deserve parameters of their own.")
@options.path_argument
@options.selection_options
@click.option(
    "--by",
    type=click.Choice(("deck", "preset")),
    default="deck",
    show_default=True,
    help="What is compared.",
)
@click.option(
    "--level",
    metavar="N|leaf",
    callback=options.deck_level,
    help="Tell decks apart by the first N parts of their names. [default: leaf, every deck by itself]",
)
@click.option(
    "--min-items",
    metavar="N",
    type=click.IntRange(1),
    default=400,
    show_default=True,
    help="Decks with fewer items are counted to their parents.",
)
@click.option(
    "-o",
    "--output",
    metavar="PICTURE",
    type=click.Path(path_type=Path),
    help="Draw the advice too, to a .png or .svg file.",
)
@click.option("--force", is_flag=True, help="Replace PICTURE if it exists.")
@options.fit_options
@options.day_options
@options.json_option
@click.option("--quiet", is_flag=True, help="Print only the advice and the lines to paste; no progress.")
def advise(
    path: Path,
    selection: dict[str, Any],
    by: str,
    level: int | None,
    min_items: int,
    output: Path | None,
    force: bool,
    relearning_steps: int | None,
    no_short_term: bool,
    ignore_before: str | None,
    timezone: str | None,
    day_start: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Which decks in PATH deserve parameters of their own, and which should share?

    PATH is an Anki collection (.anki2) or an export (.colpkg, .apkg). Decided on cards that the parameters
    were not fitted to: a split is suggested only where they are clearly better predicted. Then the parameters
    of each group, ready to paste, and the presets that they belong to.

    \b
    Examples:
      fsrs-opt advise collection.colpkg
      fsrs-opt advise collection.colpkg --level 1 -o advice.png
      fsrs-opt advise collection.colpkg --by preset --json
    """
    if by == "preset" and level is not None:
        raise click.UsageError("--level is about decks: leave it away with --by preset.")
    if output is not None:
        from fsrs_opt.report import targets

        targets.check_picture(output, path, force=force)

    with reading(path, selection, timezone=timezone, day_start=day_start, quiet=quiet) as job:
        from fsrs_opt.commands.advise import advise as run

        found = run(
            job.collection,
            by=by,
            level=level,
            min_items=min_items,
            relearning_steps=relearning_steps,
            short_term=not no_short_term,
            ignore_before=ignore_before,
            progress=job.bar.held_out,
        )
        if output is not None:
            job.bar.doing("drawing")
            from fsrs_opt.report.files import write_picture
            from fsrs_opt.report.pictures.groups import groups

            write_picture(groups(found), output)
    found = job.timed(found)
    if as_json:
        from fsrs_opt.commands.as_json_advise import advised

        print_json(advised(found))
        return
    from fsrs_opt.cli import advise_report

    (advise_report.short if quiet else advise_report.full)(found)
    if output is not None and not quiet:
        click.echo(f"\nPicture written to {output}.")

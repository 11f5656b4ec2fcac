"""`fsrs-opt export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.json_output import print_json


@click.command(short_help="Write the review log as CSV or Parquet.")
@options.path_argument
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="File to write, .csv or .parquet.",
)
@options.selection_options
@options.ignore_before_option
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@options.day_options
@options.json_option
def export(
    path: Path,
    output: Path,
    selection: dict[str, Any],
    ignore_before: str | None,
    force: bool,
    timezone: str | None,
    day_start: str | None,
    as_json: bool,
) -> None:
    """Write the review log of PATH as a table: the reviews and nothing else, no decks and no card contents.

    \b
    Examples:
      fsrs-opt export collection.colpkg -o reviews.csv
      fsrs-opt export collection.colpkg -o reviews.parquet --force
    """
    from fsrs_opt.commands.export import export as run

    done = run(
        path,
        output,
        timezone=timezone,
        day_start=day_start,
        selection=selection,
        ignore_before=ignore_before,
        force=force,
    )
    if as_json:
        from fsrs_opt.commands.as_json import exported

        print_json(exported(done))
        return
    if done.selected is not None:
        from fsrs_opt.cli import output as printed
        from fsrs_opt.cli.rows_report import selection as selection_report

        selection_report(printed.stdout(), done.selected)
        click.echo()
    for message in done.messages:
        click.echo(message)
    click.echo(f"{done.rows:,} rows written to {done.path} ({', '.join(done.columns)}).")

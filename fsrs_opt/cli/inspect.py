"""`fsrs-opt inspect`."""

from __future__ import annotations

from pathlib import Path

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.json_output import print_json


@click.command(short_help="Show what a file holds.")
@options.path_argument
@options.day_options
@options.json_option
def inspect(path: Path, timezone: str | None, day_start: str | None, as_json: bool) -> None:
    """Show what PATH holds: decks, presets, days and reviews, and what would be trained.

    \b
    Examples:
      fsrs-opt inspect collection.colpkg
      fsrs-opt inspect collection.colpkg --json
    """
    from fsrs_opt.commands.inspect_file import inspect_file

    seen = inspect_file(path, timezone=timezone, day_start=day_start)
    if as_json:
        from fsrs_opt.commands.as_json import inspected

        print_json(inspected(seen))
        return
    from fsrs_opt.cli.inspect_report import report

    report(seen)

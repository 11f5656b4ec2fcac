"""`fsrs-opt results`, and how `batch` ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.json_output import print_json

if TYPE_CHECKING:
    import pandas as pd

    from fsrs_opt.batch.job import Standing

PAGE = "summary.html"


@click.command(short_help="Write the results of a batch job, finished or not.")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--to",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write them there. [default: DIR itself; needed for several]",
)
@options.json_option
@click.option("--quiet", is_flag=True, help="Print only what failed.")
def results(folders: tuple[Path, ...], to: Path | None, as_json: bool, quiet: bool) -> None:
    """Write results.csv, results.parquet, results.jsonl and summary.html from the books in DIR...

    For a job that was stopped or is still running, and to put the parts of a job (--shard) together. Where
    several books have a result for the same task, that of the last one counts.

    \b
    Examples:
      fsrs-opt results results
      fsrs-opt results part1 part2 part3 --to all
    """
    if to is None and len(folders) > 1:
        raise click.UsageError("Say with --to where the results of several jobs go.")
    show(folders, folders[0] if to is None else to, as_json=as_json, quiet=quiet)


def show(
    folders: Sequence[Path],
    target: Path,
    *,
    standing: Standing | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Write the results of the books in `folders` to `target`, and print what they say."""
    from fsrs_opt.batch import results as tables
    from fsrs_opt.cli import batch_report
    from fsrs_opt.report.collections.summary import failures, summary

    table = tables.frame(folders)
    written = list(tables.write(table, target))
    notes = [] if standing is None else batch_report.found_notes(standing)
    waiting = tables.standing(folders)["waiting"]
    if waiting:
        notes.append(f"{waiting:,} tasks are still to be done.")
    written += _page(table, target / PAGE, notes)
    found = summary(table)
    reasons = failures(table) if standing is None else standing.reasons
    if as_json:
        print_json(batch_report.as_json(found, reasons, written, standing))
    elif quiet:
        batch_report.only_reasons(reasons)
    else:
        batch_report.full(found, reasons, written, notes)


def _page(table: pd.DataFrame, target: Path, notes: list[str]) -> list[Path]:
    """The summary page, where what draws it is installed."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None or find_spec("jinja2") is None:
        notes.append(f'There is no {target.name}: it needs matplotlib (pip install "fsrs-opt[report]").')
        return []
    from fsrs_opt.report.collections.page import write

    write(table, target)
    return [target]

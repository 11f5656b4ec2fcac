"""`fsrs-opt report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.json_output import print_json
from fsrs_opt.cli.reading import reading


@click.command(short_help="Write a page that shows how FSRS fits you.")
@options.path_argument
@options.selection_options
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="HTML file to write. [default: NAME-report.html in the current folder]",
)
@click.option(
    "--plots",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write the pictures as files to this folder too.",
)
@click.option(
    "--plot-format",
    type=click.Choice(("svg", "png")),
    default="svg",
    show_default=True,
    help="How the files of --plots are written.",
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@options.current_option
@options.workers_option
@options.fit_options
@options.day_options
@click.option("--json", "as_json", is_flag=True, help="Print the JSON object of evaluate (see docs/json.md).")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def report(
    path: Path,
    selection: dict[str, Any],
    output: Path | None,
    plots: Path | None,
    plot_format: str,
    force: bool,
    current: tuple[float, ...] | None,
    workers: int | None,
    relearning_steps: int | None,
    no_short_term: bool,
    ignore_before: str | None,
    timezone: str | None,
    day_start: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the report on the reviews in PATH: one HTML page that works without a network.

    First the verdict, then pictures of your memory, of how well FSRS predicts it, and of what the new
    parameters would change, each with its numbers as a table. Needs matplotlib: pip install
    "fsrs-opt[report]".

    \b
    Examples:
      fsrs-opt report collection.colpkg -o report.html
      fsrs-opt report collection.colpkg --plots pictures --plot-format png
    """
    from fsrs_opt.report import targets

    target = targets.default_target(path) if output is None else output
    targets.check(target, path, force=force, plots=plots, form=plot_format)

    with reading(
        path, selection, timezone=timezone, day_start=day_start, quiet=quiet, needs_torch=True
    ) as job:
        from fsrs_opt.commands.evaluate import evaluate

        found = evaluate(
            job.collection,
            parameters=current,
            relearning_steps=relearning_steps,
            short_term=not no_short_term,
            ignore_before=ignore_before,
            workers=workers,
            progress=job.bar.training,
            held_out_progress=job.bar.held_out,
        )
        job.bar.doing("drawing")
        from fsrs_opt.report.files import write

        pictures = write(found, target, plots=plots, form=plot_format)
    found = job.timed(found)
    if as_json:
        from fsrs_opt.commands.as_json_evaluation import evaluated

        print_json(evaluated(found))
    elif not quiet:
        click.echo(found.evaluation.verdict.sentence)
        click.echo(f"Report written to {target}.")
        if pictures:
            click.echo(f"{len(pictures)} pictures written to {plots}.")

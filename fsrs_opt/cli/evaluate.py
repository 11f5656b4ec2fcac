"""`fsrs-opt evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.json_output import print_json
from fsrs_opt.cli.reading import reading


@click.command(short_help="Judge your parameters, on reviews they have not seen too.")
@options.path_argument
@options.selection_options
@click.option(
    "--parameters",
    metavar='"w0,w1,…"',
    callback=options.parameters,
    help="Parameters in use, to judge. [default: what the collection holds]",
)
@options.from_option
@click.option(
    "--against",
    metavar='"w0,w1,…"',
    callback=options.parameters,
    help="Parameters to compare them with. [default: new ones, fitted to the reviews]",
)
@click.option(
    "--splits",
    metavar="N",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    help="How often to fit the past again and test on what came next.",
)
@click.option("--no-splits", is_flag=True, help="Do not fit again: nothing is held out.")
@options.workers_option
@options.recipe_option
@options.fit_options
@options.day_options
@options.json_option
@click.option("--quiet", is_flag=True, help="Print only the verdict; no progress.")
def evaluate(
    path: Path,
    selection: dict[str, Any],
    parameters: tuple[float, ...] | None,
    from_file: Path | None,
    against: tuple[float, ...] | None,
    splits: int,
    no_splits: bool,
    workers: int | None,
    recipe: str,
    relearning_steps: int | None,
    no_short_term: bool,
    ignore_before: str | None,
    timezone: str | None,
    day_start: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Judge the parameters of FSRS on the reviews in PATH.

    PATH is an Anki collection (.anki2), an export (.colpkg, .apkg), or a CSV or Parquet file of reviews. The
    parameters in use are compared with new ones, with the defaults, with SM-2 and with your average recall:
    on all reviews, and on held-out reviews, which were not there yet when the parameters were fitted.

    \b
    Examples:
      fsrs-opt evaluate collection.colpkg
      fsrs-opt evaluate collection.colpkg --json --no-splits
      fsrs-opt evaluate reviews.csv --parameters "0.4, 1.2, …" --against "0.5, 1.1, …"
    """
    file = None
    if from_file is not None:
        from fsrs_opt.commands.current import put_in_use
        from fsrs_opt.commands.from_file import read_parameters
        from fsrs_opt.errors import UsageError

        if parameters is not None:
            raise UsageError("--parameters and --from both say which parameters to judge: leave one away")
        file = read_parameters(from_file, of=path)

    with reading(path, selection, timezone=timezone, day_start=day_start, quiet=quiet) as job:
        from fsrs_opt.commands.evaluate import evaluate as run

        collection, in_use = job.collection, parameters
        if file is not None:
            collection, single = put_in_use(collection, file)
            in_use = None if single is None else tuple(single.tolist())
        result = run(
            collection,
            parameters=in_use,
            against=against,
            recipe=recipe,
            relearning_steps=relearning_steps,
            short_term=not no_short_term,
            ignore_before=ignore_before,
            splits=0 if no_splits else splits,
            workers=workers,
            progress=job.bar.training,
            held_out_progress=job.bar.held_out,
        )
    result = job.timed(result)
    if as_json:
        from fsrs_opt.commands.as_json_evaluation import evaluated

        print_json(evaluated(result))
        return
    from fsrs_opt.cli import evaluate_report

    (evaluate_report.short if quiet else evaluate_report.full)(result)

"""`fsrs-opt optimize`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.json_output import print_json
from fsrs_opt.cli.reading import reading


@click.command(
    short_help="Fit the 21 parameters to your reviews.",
    epilog="Anki: File > Export makes a .colpkg; parameters go to Deck options > FSRS.",
)
@options.path_argument
@options.selection_options
@click.option(
    "--all-presets",
    is_flag=True,
    help="Fit each preset to its own reviews, as Anki does, and print one table.",
)
@options.recipe_option
@options.stages_option
@options.current_option
@options.fit_options
@options.day_options
@options.workers_option
@click.option(
    "--no-held-out",
    is_flag=True,
    help="Decide on the reviews that were fitted to: saves five fits, and is a weaker test.",
)
@options.device_options
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the JSON object to FILE too, replacing it.",
)
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the report (see fsrs-opt report) to FILE too, replacing it.",
)
@options.json_option
@click.option("--quiet", is_flag=True, help="Print only the verdict and the line to paste; no progress.")
def optimize(
    path: Path,
    selection: dict[str, Any],
    all_presets: bool,
    recipe: str,
    stages: tuple[str, ...],
    current: tuple[float, ...] | None,
    relearning_steps: int | None,
    no_short_term: bool,
    ignore_before: str | None,
    timezone: str | None,
    day_start: str | None,
    workers: int | None,
    no_held_out: bool,
    device: str,
    kernel: str | None,
    output: Path | None,
    report: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit the 21 parameters of FSRS to the reviews in PATH.

    PATH is an Anki collection (.anki2), an export (.colpkg, .apkg), or a CSV or Parquet file of reviews.
    It is never changed. Without options the whole collection is used, with the days as it holds them.

    \b
    Examples:
      fsrs-opt optimize collection.colpkg
      fsrs-opt optimize collection.colpkg --all-presets
      fsrs-opt optimize collection.colpkg --deck "Languages::*" --exclude-flag 1
      fsrs-opt optimize collection.colpkg --json --output result.json
      fsrs-opt optimize reviews.csv --timezone Europe/Berlin --day-start 4
    """
    if all_presets:
        _check_all_presets(selection, {"--current": current, "--report": report})
    if output is not None:
        from fsrs_opt.atomic_file import check_target

        check_target(output, path)
    if report is not None:
        from fsrs_opt.report import targets

        targets.check(report, path, force=True)

    chosen = {} if all_presets else selection
    from fsrs_opt.model.kernel import choose

    # the pictures of a report, like the classic recipe, are drawn from the torch model
    torch = choose(kernel, device) == "torch" or recipe == "classic" or report is not None
    with reading(path, chosen, timezone=timezone, day_start=day_start, quiet=quiet, needs_torch=torch) as job:
        from fsrs_opt.commands import as_json as objects
        from fsrs_opt.evaluation.time_series import N_SPLITS

        fitting: dict[str, Any] = {
            "recipe": recipe,
            "stages": stages,
            "relearning_steps": relearning_steps,
            "short_term": not no_short_term,
            "ignore_before": ignore_before,
            "splits": 0 if no_held_out else N_SPLITS,
            "workers": workers,
            "device": device,
            "kernel": kernel,
        }
        if all_presets:
            from fsrs_opt.commands.all_presets import as_object, optimize_presets

            job.bar.presets(0.0)
            of_cards = {name: selection[name] for name in OF_CARDS}
            fits = optimize_presets(job.collection, progress=job.bar.presets, **of_cards, **fitting)
            found = as_object(fits := job.timed(fits))
        else:
            from fsrs_opt.commands.optimize import optimize as run

            result = run(
                job.collection,
                current=current,
                progress=job.bar.training,
                held_out_progress=job.bar.held_out,
                **fitting,
            )
            if report is not None:
                job.bar.doing("drawing the report")
                from fsrs_opt.commands.evaluate import evaluated
                from fsrs_opt.report.files import write

                write(evaluated(result), report)
            found = objects.optimized(result := job.timed(result))

    if output is not None:
        from fsrs_opt.atomic_file import replacing

        with replacing(output) as part:
            part.write_bytes(objects.dumps(found))
    if as_json:
        print_json(found)
    elif all_presets:
        from fsrs_opt.cli import presets_report

        (presets_report.short if quiet else presets_report.full)(fits)
    else:
        from fsrs_opt.cli import optimize_report

        (optimize_report.short if quiet else optimize_report.full)(result)


OF_CARDS = ("tag", "exclude_flag", "suspended")
"""What of a selection can go with --all-presets."""


def _check_all_presets(selection: dict[str, Any], others: dict[str, Any]) -> None:
    """UsageError for an option that makes no sense beside --all-presets."""
    given = [f"--{name}" for name in ("deck", "preset") if selection[name]]
    given += [name for name, value in others.items() if value is not None]
    if given:
        from fsrs_opt.errors import UsageError

        raise UsageError(
            f"--all-presets fits each preset to all of its cards and compares it with its own parameters:"
            f" leave {' and '.join(given)} away, or --all-presets"
        )

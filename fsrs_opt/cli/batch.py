"""`fsrs-opt batch`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fsrs_opt.cli import options
from fsrs_opt.cli.batch_results import show
from fsrs_opt.cli.errors import FAILED


@click.command(
    short_help="Optimize many collections, and go on where it stopped.",
    epilog="Exit codes: 0 all done, 1 some failed (with reasons), 2 wrong usage, 130 interrupted.",
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=str))
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the results and the job's book. The same command again goes on with it.",
)
@click.option(
    "--split",
    type=click.Choice(("none", "deck", "preset")),
    default="none",
    show_default=True,
    help="Fit each deck or preset that has reviews on its own.",
)
@click.option(
    "--evaluate", is_flag=True, help="Judge on held-out reviews too: five more fits for each collection."
)
@click.option(
    "--workers", metavar="N", type=click.IntRange(1, 1024), help="Processes here. [default: one a core]"
)
@click.option(
    "--memory",
    metavar="MIB",
    type=click.IntRange(min=100),
    help="What one worker may use; a file that needs more fails. [default: 90 % of the memory, shared out]",
)
@click.option(
    "--engine",
    type=click.Choice(("local", "dask")),
    default="local",
    show_default=True,
    help="Who does the work: processes here, or a dask cluster.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Of the dask cluster, such as tcp://10.0.0.1:8786, or its scheduler file.",
)
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Only the first N files.")
@click.option("--shard", metavar="I/N", callback=options.shard, help="Only part I of N, such as 1/4.")
@click.option("--retry-failed", is_flag=True, help="Do only what failed before.")
@click.option("--force", is_flag=True, help="Do all again, also what is done.")
@options.selection_options
@options.recipe_option
@options.stages_option
@options.current_option
@options.fit_options
@options.day_options
@options.device_options
@options.json_option
@click.option("--quiet", is_flag=True, help="Print only what failed; no progress.")
def batch(
    paths: tuple[str, ...],
    out: Path,
    selection: dict[str, Any],
    split: str,
    workers: int | None,
    memory: int | None,
    engine: str,
    scheduler: str | None,
    limit: int | None,
    shard: tuple[int, int] | None,
    retry_failed: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
    stages: tuple[str, ...],
    no_short_term: bool,
    **chosen: Any,
) -> int:
    """Optimize every collection in PATH..., and keep the results in DIR.

    PATH is a file, a folder (searched with its subfolders; what is no review log is passed over), a pattern
    such as 'decks/*.apkg', a URL (s3://…), a list of these (@list.txt), or the field's research data set
    (a folder with revlogs/user_id=N). A file that cannot be used fails alone. DIR then holds results.csv,
    results.parquet, results.jsonl and summary.html.

    \b
    Examples:
      fsrs-opt batch decks/ --out results
      fsrs-opt batch anki-revlogs-10k/revlogs --out results --evaluate --workers 8
      fsrs-opt batch @list.txt --out results --engine dask --scheduler tcp://10.0.0.1:8786
    """
    if retry_failed and force:
        raise click.UsageError("--retry-failed does less and --force does more: choose one of them.")
    if scheduler is not None and engine == "local":
        raise click.UsageError("--scheduler is for the dask engine: add --engine dask.")
    from fsrs_opt.batch.api import run_batch as run
    from fsrs_opt.cli.batch_progress import BatchProgress

    with BatchProgress(shown=not quiet) as progress:
        standing = run(
            list(paths),
            out,
            engine=engine,
            workers=workers,
            memory=memory,
            scheduler=scheduler,
            split=split,
            redo="failed" if retry_failed else "all" if force else "missing",
            limit=limit,
            shard=shard,
            progress=progress,
            stages=stages,
            short_term=not no_short_term,
            **{name: tuple(value) if isinstance(value, list) else value for name, value in selection.items()},
            **chosen,
        )
    show([out], out, standing=standing, as_json=as_json, quiet=quiet)
    return FAILED if standing.reasons else 0

"""Whole batch jobs as calls, for notebooks and scripts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsrs_opt.batch import job
from fsrs_opt.batch.tasks import SPLITS, Engine, Options
from fsrs_opt.errors import UsageError
from fsrs_opt.model.kernel import choose

if TYPE_CHECKING:
    import pandas as pd

ENGINES = ("local", "dask")


def run_batch(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | Path,
    *,
    engine: str = ENGINES[0],
    workers: int | None = None,
    memory: int | None = None,
    scheduler: str | None = None,
    split: str = SPLITS[0],
    redo: str = job.REDO[0],
    limit: int | None = None,
    shard: tuple[int, int] | None = None,
    progress: Callable[[job.Standing], None] | None = None,
    **options: Any,
) -> job.Standing:
    """Fit every collection that the paths name, and keep the results in the book in `out`.

    engine: "local", or "dask" with the address of its `scheduler`. workers: processes, None as many as there
    are cores. memory: MiB that one may use, None what there is, shared out. options: the fields of
    `batch.tasks.Options`. The rest, and the errors: `batch.job.run`. A script that calls this must be
    importable without running it (if __name__ == "__main__"), since workers may import it.
    """
    known = {field.name for field in fields(Options)}
    for name in options:
        if name not in known:
            raise UsageError(f"a batch has no option {name!r}: choose among {', '.join(sorted(known))}")
    for name, value, choices in (
        ("engine", engine, ENGINES),
        ("split", split, SPLITS),
        ("redo", redo, job.REDO),
    ):
        if value not in choices:
            raise UsageError(f"there is no {name} {value!r}: choose {' or '.join(choices)}")
    _check(options)
    if engine == ENGINES[0]:
        choose(options.get("kernel"), options.get("device") or "cpu")  # wrong for one task is wrong for all
    several = [paths] if isinstance(paths, str | os.PathLike) else paths

    def made() -> Engine:
        from fsrs_opt.evaluation.workers import cores

        n = cores() if workers is None else workers
        if engine == "dask":
            from fsrs_opt.batch.engine_dask import DaskEngine

            return DaskEngine(scheduler, n, memory=memory)
        from fsrs_opt.batch.engine_local import LocalEngine, default_memory

        return LocalEngine(n, memory=default_memory(n) if memory is None else memory)

    return job.run(
        several,
        out,
        Options(**options),
        made,
        split=split,
        redo=redo,
        limit=limit,
        shard=shard,
        progress=progress,
    )


def _check(options: dict[str, Any]) -> None:
    """Raises UsageError for what would make every single task fail."""
    given = {name for name, value in options.items() if value is not None}
    # each loads numpy, for which the process that only hands out orders has no other use
    if "ignore_before" in given:
        from fsrs_opt.commands.dates import parse_date

        parse_date(options["ignore_before"])
    if "current" in given:
        from fsrs_opt.commands.current import parse

        parse(options["current"])
    if given & {"timezone", "day_start"}:
        from fsrs_opt.sources import days

        if "timezone" in given:
            days.check_timezone(options["timezone"])
        if "day_start" in given:
            days.check_day_start(options["day_start"])


def batch_results(out: str | Path | Sequence[str | Path]) -> pd.DataFrame:
    """The results of one batch job, or of several, as a table: one row a task (docs/batch.md)."""
    from fsrs_opt.batch import results

    folders = [out] if isinstance(out, str | Path) else out
    return results.frame([Path(folder) for folder in folders])

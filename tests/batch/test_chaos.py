"""kill -9 of a job's main process in the middle; `scripts/chaos_batch.py` does it, and more, many times."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from scripts import chaos_batch
from tests.batch.made_up import run, write_log


def has_results(out: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{out / 'book.sqlite'}?mode=ro", uri=True)) as book:
            return bool(book.execute("select count(*) from task where status = 'done'").fetchone()[0])
    except sqlite3.Error:
        return False


def test_killed_in_the_middle_it_ends_where_it_would_have_ended(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for seed in range(30):
        write_log(logs / f"{seed}.csv", seed=seed, cards=2000)
    run([logs], tmp_path / "undisturbed")
    bench = chaos_batch.Bench(logs, tmp_path, chaos_batch.essence(tmp_path / "undisturbed"), 0.0)
    out = tmp_path / "out"
    job = chaos_batch.start(chaos_batch.command(logs, out))
    end = time.monotonic() + 120
    while not has_results(out) and time.monotonic() < end:
        time.sleep(0.02)
    workers = chaos_batch.below(job.pid)
    job.kill()
    job.communicate()
    _, left = chaos_batch.psutil.wait_procs(workers, timeout=10)
    assert left == []
    standing, _ = run([logs], out)
    assert standing.reasons == []
    chaos_batch.check(bench, out)

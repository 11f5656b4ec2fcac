"""A batch over many collections against a script on fsrs-rs that does the same from the same files.

    python scripts/benchmark_batch.py LOGS [--collections 500] [--python PYTHON] [--keep FOLDER]

LOGS: a folder of review logs. Collections are made from them by drawing cards with replacement, 200 to
50,000 rows (as many small as large ones on a logarithmic scale), each written as a package that both programs
read. PYTHON: an interpreter that has fsrs-rs-python; default this one. Prints throughput per second of wall
time and of processor time, the ratios, the peak memory of a worker, and the time of a task beyond reading and
training.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from fsrs_opt.batch.api import batch_results
from scripts.peers.log_files import LogFile, find, load, write_colpkg
from scripts.peers.run_measured import tree

SMALLEST, LARGEST = 200, 50_000  # rows
STEPS = ("read", "histories", "train")  # what a task is about
SCORING = ("evaluate", "held_out")  # the figures of the fit
PEER = Path(__file__).parent / "peers" / "fsrs_rs_batch.py"
POLL_SECONDS = 0.05
JOB = """
import sys
from fsrs_opt.batch.api import run_batch
standing = run_batch(sys.argv[1], sys.argv[2], workers=int(sys.argv[3]))
if standing.reasons:
    print(len(standing.reasons), "failed:", standing.reasons[0], file=sys.stderr)
"""


@dataclass(frozen=True)
class Run:
    """A program: wall time, processor time of all its processes [s], peak memory of the largest, and what it
    printed."""

    seconds: float
    processor: float
    peak_mib: float
    printed: str


def resampled(log: LogFile, rows: int, random: np.random.Generator) -> LogFile:
    """A log of about so many rows: whole cards drawn with replacement, with new ids, each moved by up to some
    minutes."""
    table = log.log.sort_values("card_id", kind="stable", ignore_index=True)
    ids, starts, counts = np.unique(table["card_id"].to_numpy(), return_index=True, return_counts=True)
    drawn = random.integers(len(ids), size=max(8, int(1.2 * rows / counts.mean()) + 8))
    enough = int(np.searchsorted(np.cumsum(counts[drawn]), rows)) + 1
    drawn = drawn[:enough]
    take = np.concatenate([np.arange(starts[k], starts[k] + counts[k]) for k in drawn])
    made = table.iloc[take].reset_index(drop=True)
    made["card_id"] = np.repeat(np.arange(1, len(drawn) + 1), counts[drawn])
    moved = np.repeat(random.integers(0, 300_000, size=len(drawn)), counts[drawn])
    made["review_time"] = made["review_time"].to_numpy() + moved
    return replace(log, log=made.sort_values("review_time", kind="stable", ignore_index=True))


def make(logs: Path, folder: Path, n: int, seed: int, *, largest: int = LARGEST) -> list[tuple[str, int]]:
    """Write the packages, of up to `largest` rows; (path, day start in seconds) of each."""
    random = np.random.default_rng(seed)
    sources = [log for log in (load(path) for path in find([logs], ())) if len(log.data) >= SMALLEST]
    made = []
    for k in range(n):
        rows = int(np.exp(random.uniform(np.log(SMALLEST), np.log(largest))))
        log = resampled(sources[k % len(sources)], rows, random)
        path = folder / f"{k:04d}-{log.name}.colpkg"
        write_colpkg(log, path)
        made.append((str(path), log.day_start))
    return made


def measured(command: list[str], **environment: str) -> Run:
    """Run a program, until the last process that it started has ended too. It is watched from here, so that
    watching is not counted; what a process does after the last look at it is lost."""
    processor: dict[psutil.Process, float] = {}
    peak_mib, seconds = 0.0, None
    with tempfile.TemporaryFile("w+") as output:
        started = time.perf_counter()
        program = psutil.Popen(command, stdout=output, env={**os.environ, **environment})
        while seconds is None or any(each.is_running() for each in processor):
            for pid in {*tree(program.pid), *(each.pid for each in processor)}:
                try:
                    process = psutil.Process(pid)
                    times = process.cpu_times()
                    status = Path(f"/proc/{pid}/status").read_text()
                except (psutil.Error, OSError):
                    continue
                processor[process] = times.user + times.system
                peak = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "0 0")
                peak_mib = max(peak_mib, int(peak.split()[1]) / 1024)
            time.sleep(POLL_SECONDS)
            if seconds is None and program.poll() is not None:
                seconds = time.perf_counter() - started
        if program.returncode:
            raise SystemExit(f"{command} ended with exit code {program.returncode}")
        output.seek(0)
        return Run(seconds, sum(processor.values()), peak_mib, output.read())


def job(packages: Path, out: Path, workers: int) -> Run:
    return measured([sys.executable, "-c", JOB, str(packages), str(out), str(workers)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path)
    parser.add_argument("--collections", type=int, default=500)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="keep the packages in this folder, and use those in it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch) / "packages"
        folder.mkdir(parents=True, exist_ok=True)
        listed = folder / "packages.json"
        if not listed.exists():
            made = make(options.logs, folder, options.collections, options.seed)
            listed.write_text(json.dumps(made))
        packages = json.loads(listed.read_text())
        empty = Path(scratch) / "one"
        empty.mkdir()
        (empty / "one.colpkg").write_bytes(Path(packages[0][0]).read_bytes())
        start = job(empty, Path(scratch) / "out-start", 1)
        one, two = (job(folder, Path(scratch) / f"out-{n}", n) for n in (1, 2))
        again = job(folder, Path(scratch) / "out-1", 1)
        peer = measured([options.python, str(PEER), str(listed)], RAYON_NUM_THREADS="1")
        report(batch_results(Path(scratch) / "out-1"), start, one, two, again, peer)


def report(table: pd.DataFrame, start: Run, one: Run, two: Run, again: Run, peer: Run) -> None:
    n, rows = len(table), int(table["revlog_rows"].sum())
    print(f"{n} collections, {rows:,} rows; {os.cpu_count()} cores\n")
    print(
        f"{'':34}{'wall s':>8}{'processor s':>13}{'rows / s':>10}{'rows / processor s':>20}{'peak MiB':>10}"
    )
    for name, run in (
        ("fsrs-opt batch, 1 worker", one),
        ("fsrs-opt batch, 2 workers", two),
        ("script on fsrs-rs, card ids", peer),
    ):
        rates = f"{rows / run.seconds:10,.0f}{rows / run.processor:20,.0f}"
        print(f"{name:34}{run.seconds:8.1f}{run.processor:13.1f}{rates}{run.peak_mib:10.0f}")
    theirs = json.loads(peer.printed)
    spent_there = f"{theirs['training']:.1f} s in compute_parameters, {theirs['figures']:.1f} in evaluate"
    print(f"\nof the script's processor time {spent_there}; {theirs['done']} fitted")
    print(f"start of a job with one collection: {start.seconds:.1f} s, {start.processor:.1f} processor s")
    print(f"the same command again, nothing to do: {again.seconds:.2f} s")
    spent = {step: 1000 * float(table[f"seconds_{step}"].mean()) for step in ("hash", *STEPS, *SCORING)}
    print("ms a task, 1 worker: " + ", ".join(f"{step} {value:.2f}" for step, value in spent.items()))
    net = 1000 * (one.seconds - start.seconds) / n
    of_task = sum(spent[step] for step in STEPS)
    scoring = sum(spent[step] for step in SCORING)
    print(f"ms a task beyond reading and training: {net - of_task:.2f}, of which figures {scoring:.2f}")
    net = 1000 * (one.processor - start.processor) / n
    print(f"processor ms a task, all processes, without the start: {net:.2f}")
    print("\nratios")
    print(f"  rows per processor second, fsrs-opt (1 worker) / script: {peer.processor / one.processor:.2f}")
    net = one.processor - start.processor
    print(f"  the same, without our start: {peer.processor / net:.2f}")
    bare = peer.processor - theirs["figures"]
    print(f"  the same, with our start, where the script gives no figures: {bare / one.processor:.2f}")
    print(f"  rows per second, fsrs-opt (1 worker) / script: {peer.seconds / one.seconds:.2f}")
    print(f"  two workers / one: {one.seconds / two.seconds:.2f}")
    net_two = (one.seconds - start.seconds) / (two.seconds - start.seconds)
    print(f"  two workers / one, without the start: {net_two:.2f}")


if __name__ == "__main__":
    main()

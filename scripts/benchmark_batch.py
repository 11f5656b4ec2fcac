"""A batch over many collections against a script on fsrs-rs that does the same from the same files.

    python scripts/benchmark_batch.py LOGS [--collections 500] [--rounds 3] [--python PYTHON] [--keep FOLDER]

LOGS: a folder of review logs. Collections are made from them by drawing cards with replacement, 200 to
50,000 rows (as many small as large ones on a logarithmic scale), each written as a package that both programs
read. PYTHON: an interpreter that has fsrs-rs-python; default this one. The script is there twice: it builds
its items as the example of fsrs-rs-python does, and with leaner code (peers/fsrs_rs_batch.py). The programs
take turns for several rounds. What a second core is good for is told by two leaner scripts at once, with half
of the packages each. Prints throughput per second of wall time and of processor time (medians), the ratios
(medians of those of each round, as a machine changes its speed), the peak memory of a worker, and the
time of a task beyond reading and training.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from fsrs_opt.batch.api import batch_results
from fsrs_opt.reviews import log as review_log
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

BOTH = """
import subprocess, sys
script, lists = sys.argv[1:3], sys.argv[3:]
halves = [subprocess.Popen([*script, half, "--lean"], stdout=subprocess.DEVNULL) for half in lists]
sys.exit(any([each.wait() for each in halves]))
"""


@dataclass(frozen=True)
class Run:
    """A program: wall time, processor time of all its processes [s], peak memory of the largest, and what it
    printed."""

    seconds: float
    processor: float
    peak_mib: float
    printed: str


@dataclass(frozen=True)
class Round:
    """Each program once: a job with one collection, all of them with one worker, the script as its example
    builds items, the same with lean code, two workers, two lean scripts at once with half of them each."""

    start: Run
    one: Run
    peer: Run
    lean: Run
    two: Run
    halves: Run


def resampled(log: LogFile, rows: int, random: np.random.Generator) -> LogFile:
    """A log of about so many rows: whole cards drawn with replacement, with new ids, each moved by up to some
    minutes."""
    table = log.log.rows(np.argsort(log.log["card_id"], kind="stable"))
    ids, starts, counts = np.unique(table["card_id"], return_index=True, return_counts=True)
    drawn = random.integers(len(ids), size=max(8, int(1.2 * rows / counts.mean()) + 8))
    enough = int(np.searchsorted(np.cumsum(counts[drawn]), rows)) + 1
    drawn = drawn[:enough]
    made = table.rows(np.concatenate([np.arange(starts[k], starts[k] + counts[k]) for k in drawn]))
    card_id = np.repeat(np.arange(1, len(drawn) + 1), counts[drawn])
    moved = np.repeat(random.integers(0, 300_000, size=len(drawn)), counts[drawn])
    time = made["review_time"] + moved
    moved_log = review_log.make({**made.arrays, "card_id": card_id, "review_time": time})
    return replace(log, log=moved_log.rows(np.argsort(time, kind="stable")))


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
    parser.add_argument("--rounds", type=int, default=3)
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
        halves = [Path(scratch) / f"half-{k}.json" for k in range(2)]
        by_size = sorted(packages, key=lambda package: -Path(package[0]).stat().st_size)
        for k, half in enumerate(halves):
            half.write_text(json.dumps(by_size[k::2]))
        empty = Path(scratch) / "one"
        empty.mkdir()
        (empty / "one.colpkg").write_bytes(Path(packages[0][0]).read_bytes())
        script = [options.python, str(PEER), str(listed)]
        rounds = []
        for k in range(options.rounds):
            out = Path(scratch) / f"round-{k}"
            rounds.append(
                Round(
                    start=job(empty, out / "start", 1),
                    one=job(folder, out / "one", 1),
                    peer=measured(script, RAYON_NUM_THREADS="1"),
                    lean=measured([*script, "--lean"], RAYON_NUM_THREADS="1"),
                    two=job(folder, out / "two", 2),
                    halves=measured(
                        [sys.executable, "-c", BOTH, *script[:2], *map(str, halves)], RAYON_NUM_THREADS="1"
                    ),
                )
            )
        out = Path(scratch) / "round-0" / "one"
        report(batch_results(out), rounds, job(folder, out, 1))


def report(table: pd.DataFrame, rounds: list[Round], again: Run) -> None:
    def median(of: Callable[[Round], float]) -> float:
        return statistics.median(map(of, rounds))

    def ratio(above: Callable[[Round], float], below: Callable[[Round], float]) -> float:
        return statistics.median(above(each) / below(each) for each in rounds)

    n, rows = len(table), int(table["revlog_rows"].sum())
    print(f"{n} collections, {rows:,} rows; {os.cpu_count()} cores; medians of {len(rounds)} rounds\n")
    print(
        f"{'':34}{'wall s':>8}{'processor s':>13}{'rows / s':>10}{'rows / processor s':>20}{'peak MiB':>10}"
    )
    for name, which in (
        ("fsrs-opt batch, 1 worker", "one"),
        ("fsrs-opt batch, 2 workers", "two"),
        ("script on fsrs-rs, as its example", "peer"),
        ("the same, leaner", "lean"),
    ):
        seconds, processor, peak = (
            median(lambda each: getattr(getattr(each, which), figure))  # noqa: B023
            for figure in ("seconds", "processor", "peak_mib")
        )
        rates = f"{rows / seconds:10,.0f}{rows / processor:20,.0f}"
        print(f"{name:34}{seconds:8.1f}{processor:13.1f}{rates}{peak:10.0f}")
    theirs = [json.loads(each.peer.printed) for each in rounds]
    training, figures = (statistics.median(one[name] for one in theirs) for name in ("training", "figures"))
    print(
        f"\nof the script's processor time {training:.1f} s in compute_parameters, {figures:.1f} in evaluate"
    )
    started, used = median(lambda each: each.start.seconds), median(lambda each: each.start.processor)
    print(f"start of a job with one collection: {started:.1f} s, {used:.1f} processor s")
    print(f"the same command again, nothing to do: {again.seconds:.2f} s")
    spent = {step: 1000 * float(table[f"seconds_{step}"].mean()) for step in ("hash", *STEPS, *SCORING)}
    print("ms a task, 1 worker, first round: " + ", ".join(f"{k} {value:.2f}" for k, value in spent.items()))
    net = 1000 * (rounds[0].one.seconds - rounds[0].start.seconds) / n
    beyond = net - sum(spent[step] for step in STEPS)
    scoring = sum(spent[step] for step in SCORING)
    print(f"ms a task beyond reading and training: {beyond:.2f}, of which figures {scoring:.2f}")
    net = 1000 * median(lambda each: each.one.processor - each.start.processor) / n
    print(f"processor ms a task, all processes, without the start: {net:.2f}")

    def ours(each: Round) -> float:
        return each.one.processor

    def theirs_alone(each: Round) -> float:
        figures: float = json.loads(each.lean.printed)["figures"]
        return each.lean.processor - figures

    print("\nratios, median of the rounds")
    found = ratio(lambda each: each.peer.processor, ours)
    print(f"  rows per processor second, fsrs-opt (1 worker) / script: {found:.2f}")
    found = ratio(lambda each: each.peer.processor, lambda each: ours(each) - each.start.processor)
    print(f"  the same, without our start: {found:.2f}")
    found = ratio(lambda each: each.lean.processor, ours)
    print(f"  the same, with our start, leaner script: {found:.2f}")
    found = ratio(theirs_alone, ours)
    print(f"  the same, with our start, where the leaner script gives no figures: {found:.2f}")
    found = ratio(lambda each: each.peer.seconds, lambda each: each.one.seconds)
    print(f"  rows per second, fsrs-opt (1 worker) / script: {found:.2f}")
    found = ratio(lambda each: each.one.seconds, lambda each: each.two.seconds)
    print(f"  two workers / one: {found:.2f}")
    found = ratio(
        lambda each: each.one.seconds - each.start.seconds, lambda each: each.two.seconds - each.start.seconds
    )
    print(f"  two workers / one, without the start: {found:.2f}")
    found = ratio(lambda each: each.lean.seconds, lambda each: each.halves.seconds)
    print(f"  two scripts at once / one: {found:.2f}")


if __name__ == "__main__":
    main()

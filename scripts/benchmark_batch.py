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
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import psutil

from fsrs_opt.batch.api import batch_results, run_batch
from scripts.peers.log_files import LogFile, find, load, write_colpkg

SMALLEST, LARGEST = 200, 50_000  # rows
STEPS = ("read", "histories", "train")  # what a task is about
SCORING = ("evaluate", "held_out")  # the figures of the fit
PEER = Path(__file__).parent / "peers" / "fsrs_rs_batch.py"
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Run:
    """One batch job. processor: seconds of all its processes; peak_mib: of its largest worker; spent: seconds
    by step, summed over tasks."""

    workers: int
    seconds: float
    processor: float
    peak_mib: float
    tasks: int
    spent: dict[str, float]


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


class Watch(threading.Thread):
    """Processor time and peak memory of this process's workers, while it runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_mib, self._over = 0.0, threading.Event()
        self._seen: dict[int, float] = {}

    def run(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            for process in psutil.Process().children(recursive=True):
                try:
                    times = process.cpu_times()
                    self._seen[process.pid] = times.user + times.system
                    status = Path(f"/proc/{process.pid}/status").read_text()
                    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
                    self.peak_mib = max(self.peak_mib, int(peak.split()[1]) / 1024)
                except (psutil.Error, OSError, StopIteration):
                    continue

    def stop(self) -> float:
        """Processor seconds of the workers."""
        self._over.set()
        self.join()
        return sum(self._seen.values())


def measured(folder: Path, out: Path, workers: int) -> Run:
    watch = Watch()
    watch.start()
    started, processor = time.perf_counter(), time.process_time()
    standing = run_batch(folder, out, workers=workers)
    seconds = time.perf_counter() - started
    processor = time.process_time() - processor + watch.stop()
    if standing.reasons:
        print(f"{len(standing.reasons)} failed: {standing.reasons[0]}", file=sys.stderr)
    table = batch_results(out)
    spent = {step: float(table[f"seconds_{step}"].sum()) for step in ("hash", *STEPS, *SCORING)}
    return Run(workers, seconds, processor, watch.peak_mib, len(table), spent)


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
        start = measured(empty, Path(scratch) / "out-start", 1)
        runs = [measured(folder, Path(scratch) / f"out-{n}", n) for n in (1, 2)]
        again = time.perf_counter()
        run_batch(folder, Path(scratch) / "out-1", workers=1)
        again = time.perf_counter() - again
        rows = int(batch_results(Path(scratch) / "out-1")["revlog_rows"].sum())
        peer = subprocess.run(
            [options.python, PEER, listed],
            stdout=subprocess.PIPE,
            env={**os.environ, "RAYON_NUM_THREADS": "1"},
            check=True,
        )
    report(rows, start, runs, again, json.loads(peer.stdout))


def report(rows: int, start: Run, runs: list[Run], again: float, peer: dict[str, float]) -> None:
    one, two = runs
    print(f"{one.tasks} collections, {rows:,} rows; {os.cpu_count()} cores\n")
    print(
        f"{'':34}{'wall s':>8}{'processor s':>13}{'rows / s':>10}{'rows / processor s':>20}{'peak MiB':>10}"
    )
    for name, seconds, processor, peak in (
        *(
            (f"fsrs-opt batch, {run.workers} worker(s)", run.seconds, run.processor, run.peak_mib)
            for run in runs
        ),
        ("script on fsrs-rs, card ids", peer["seconds"], peer["processor"], 0),
    ):
        shown = f"{peak:10.0f}" if peak else f"{'':>10}"
        print(
            f"{name:34}{seconds:8.1f}{processor:13.1f}{rows / seconds:10,.0f}{rows / processor:20,.0f}{shown}"
        )
    print(f"\nthe script's time in compute_parameters: {peer['training']:.1f} s; {peer['done']:.0f} fitted")
    print(f"start of a job with one collection: {start.seconds:.1f} s, {start.processor:.1f} processor s")
    print(f"the same command again, nothing to do: {again:.2f} s")
    spent = {step: 1000 * value / one.tasks for step, value in one.spent.items()}
    print("ms a task, 1 worker: " + ", ".join(f"{step} {value:.2f}" for step, value in spent.items()))
    net = 1000 * (one.seconds - start.seconds) / one.tasks
    of_task = sum(spent[step] for step in STEPS)
    scoring = sum(spent[step] for step in SCORING)
    print(f"ms a task beyond reading and training: {net - of_task:.2f}, of which figures {scoring:.2f}")
    print("\nratios")
    print(
        f"  rows per processor second, fsrs-opt (1 worker) / script: {peer['processor'] / one.processor:.2f}"
    )
    print(f"  rows per second, fsrs-opt (1 worker) / script: {peer['seconds'] / one.seconds:.2f}")
    print(f"  two workers / one: {one.seconds / two.seconds:.2f}")
    net_two = (one.seconds - start.seconds) / (two.seconds - start.seconds)
    print(f"  two workers / one, without the start: {net_two:.2f}")


if __name__ == "__main__":
    main()

"""Kill what a batch job consists of at random moments, and see that going on ends where it would have ended.

    python scripts/chaos_batch.py LOGS [--times 50] [--collections 60] [--seed 0] [--only KIND …]

LOGS: a folder of review logs; small collections are made from them. Kinds of disturbance, in turn:

    worker       kill -9 of a worker process of the local engine: the job itself must end well
    main         kill -9 of the job's main process
    disk         the results lie on a small tmpfs that runs full (as root on Linux, else left out)
    scheduler    kill -9 of the dask scheduler
    dask-worker  kill -9 of one of two dask workers

After each the same command is given again, until it ends well. Then the results must be those of an
undisturbed run, bit for bit but for times, none missing or doubled, and the book must pass SQLite's integrity
check.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil

from fsrs_opt.batch.book import Book
from fsrs_opt.batch.results import frame
from fsrs_opt.errors import FsrsOptError

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("worker", "main", "disk", "scheduler", "dask-worker")
TIMEOUT = 300
ENOUGH_MIB = 256
LATEST = 1.2  # some blows fall while tables and summary page are written
_NOT_COMPARED = ("name", "finished", "seconds_")


class ChaosError(Exception):
    """A job did not end as it must."""


@dataclass
class Bench:
    """What is disturbed. folder: of the collections; expected: `essence` of an undisturbed run; seconds: how
    long it took until all results were in its book (tables and the summary page come after that)."""

    folder: Path
    scratch: Path
    expected: pd.DataFrame
    seconds: float


@dataclass
class Cluster:
    """A dask scheduler and two workers on this machine."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


def command(folder: Path, out: Path, *more: str) -> list[str]:
    """A batch job on two workers as a process of its own."""
    return [
        sys.executable,
        "-m",
        "fsrs_opt",
        "batch",
        str(folder),
        "--out",
        str(out),
        "--workers",
        "2",
        *more,
    ]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def start(arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment()
    )


def finish(job: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = job.communicate(timeout=TIMEOUT)
    if "Traceback" in said:
        raise ChaosError(f"a traceback: {said[-2000:]}")
    return job.returncode, said


def run_to_the_end(arguments: list[str]) -> str:
    code, said = finish(start(arguments))
    if code:
        raise ChaosError(f"exit code {code}: {said[-2000:]}")
    return said


def essence(out: Path) -> pd.DataFrame:
    """All that must be the same, whatever happened."""
    table = frame([out])
    return table[[name for name in table.columns if not name.startswith(_NOT_COMPARED)]]


def check(bench: Bench, out: Path) -> None:
    """Raises ChaosError where the results in `out` are not those of the undisturbed run."""
    with closing(Book(out)) as book:
        if damage := book.damage():
            raise ChaosError(f"the book is damaged: {damage}")
        if book.counts()["waiting"]:
            raise ChaosError(f"tasks are left: {book.counts()}")
    found = essence(out)
    try:
        pd.testing.assert_frame_equal(found, bench.expected, check_exact=True)
    except AssertionError as error:
        raise ChaosError(f"other results: {error}") from None
    parts = [path.name for path in out.iterdir() if path.name.endswith(".part")]
    if parts:
        raise ChaosError(f"left behind: {parts}")


def prepare(folder: Path, scratch: Path) -> Bench:
    out = scratch / "undisturbed"
    started = time.monotonic()
    job = start(command(folder, out))
    wait_for(lambda: job.poll() is not None or all_booked(out), TIMEOUT)
    seconds = time.monotonic() - started
    code, said = finish(job)
    if code:
        raise ChaosError(f"exit code {code}: {said[-2000:]}")
    return Bench(folder, scratch, essence(out), seconds)


def all_booked(out: Path) -> bool:
    with suppress(FsrsOptError), closing(Book(out)) as book:
        counts = book.counts()
        return counts["done"] > 0 and not counts["waiting"]
    return False


def below(process: int) -> list[psutil.Process]:
    """The worker processes of a job: those that were forked by a process that the job started."""
    with suppress(psutil.Error):
        main = psutil.Process(process)
        return [each for each in main.children(recursive=True) if each.ppid() != process]
    return []


def kill_worker(bench: Bench, out: Path, moment: float) -> str:
    job = start(command(bench.folder, out))
    time.sleep(moment)
    while job.poll() is None and not below(job.pid):
        time.sleep(0.02)
    killed = 0
    for each in below(job.pid)[:1]:
        with suppress(psutil.Error):
            each.kill()
            killed += 1
    code, said = finish(job)
    if code:
        raise ChaosError(f"a job ended with {code} because a worker was killed: {said[-2000:]}")
    return "worker killed" if killed else "ended before"


def kill_main(bench: Bench, out: Path, moment: float) -> str:
    job = start(command(bench.folder, out))
    time.sleep(moment)
    workers = below(job.pid)
    alive = job.poll() is None
    job.kill()
    job.communicate()
    _, left = psutil.wait_procs(workers, timeout=10)
    if left:
        raise ChaosError("workers live on without their job")
    return "killed" if alive else "ended before"


def fill_disk(bench: Bench, out: Path, moment: float) -> str:
    """`moment` decides how large the disk is, from nothing to what an undisturbed run needs."""
    needed = sum(path.stat().st_size for path in (bench.scratch / "undisturbed").iterdir())
    size = int(needed * min(1.0, moment / bench.seconds)) // 4096 * 4096 + 8192
    out.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", out], check=True)
    try:
        code, said = finish(start(command(bench.folder, out)))
        if code not in (0, 1):
            raise ChaosError(f"exit code {code}: {said}")
        if code and "disk" not in said and "space" not in said:
            raise ChaosError(f"a full disk is not told: {said}")
        if len([line for line in said.splitlines() if line.startswith("Error")]) != code:
            raise ChaosError(f"not one sentence: {said}")
        subprocess.run(["mount", "-o", f"remount,size={ENOUGH_MIB}m", out], check=True)
        run_to_the_end(command(bench.folder, out))
        check(bench, out)
    finally:
        subprocess.run(["umount", "-l", out], check=True)
    return f"{size // 1024} KiB, ended with {code}"


@contextmanager
def cluster(scratch: Path) -> Iterator[Cluster]:
    """Start a scheduler and two workers, and end them afterwards."""
    dask = [sys.executable, "-m", "dask"]
    where = scratch / f"scheduler-{time.monotonic_ns()}.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment(), "cwd": scratch}
    with ExitStack() as stack:

        def started(*arguments: str) -> subprocess.Popen[bytes]:
            process: subprocess.Popen[bytes] = subprocess.Popen([*dask, *arguments], **quiet)  # type: ignore[call-overload]
            stack.callback(process.wait, 30)
            stack.callback(process.kill)
            return process

        common = ("--no-dashboard", "--scheduler-file", str(where))
        scheduler = started("scheduler", "--host", "127.0.0.1", "--port", "0", *common)
        workers = [started("worker", "--nthreads", "1", "--no-nanny", *common) for _ in range(2)]
        wait_for(where.exists)
        from distributed import Client

        with Client(scheduler_file=str(where), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address
        yield Cluster(address, scheduler, workers)


def on_cluster(address: str) -> tuple[str, ...]:
    return ("--engine", "dask", "--scheduler", address)


def kill_scheduler(bench: Bench, out: Path, moment: float) -> str:
    with cluster(bench.scratch) as running:
        job = start(command(bench.folder, out, *on_cluster(running.address)))
        time.sleep(moment)
        running.scheduler.kill()
        code, said = finish(job)
    if code and "scheduler" not in said:
        raise ChaosError(f"exit code {code} without a word on the scheduler: {said[-2000:]}")
    return f"ended with {code}"


def kill_dask_worker(bench: Bench, out: Path, moment: float) -> str:
    with cluster(bench.scratch) as running:
        job = start(command(bench.folder, out, *on_cluster(running.address)))
        time.sleep(moment)
        running.workers[0].kill()
        code, said = finish(job)
    if code:
        raise ChaosError(f"a job ended with {code} because a worker was killed: {said[-2000:]}")
    return "worker killed"


DISTURB: dict[str, Callable[[Bench, Path, float], str]] = {
    "worker": kill_worker,
    "main": kill_main,
    "disk": fill_disk,
    "scheduler": kill_scheduler,
    "dask-worker": kill_dask_worker,
}


def disturb(bench: Bench, kind: str, out: Path, moment: float) -> str:
    """One disturbance `moment` seconds after the start, then the same command to the end. Returns what
    happened; ChaosError where it did not end as it must."""
    happened = DISTURB[kind](bench, out, moment)
    if kind != "disk":
        run_to_the_end(command(bench.folder, out))
        check(bench, out)
    return happened


def wait_for(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise ChaosError("waited in vain")
        time.sleep(0.05)


def can_mount() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("mount") is not None


def main() -> None:
    from scripts.benchmark_batch import make

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--collections", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    kinds = [kind for kind in options.only if kind != "disk" or can_mount()]
    chance = random.Random(options.seed)
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        packages = scratch / "packages"
        packages.mkdir()
        make(options.logs, packages, options.collections, options.seed, largest=5_000)
        bench = prepare(packages, scratch)
        print(f"{len(bench.expected)} collections; an undisturbed run takes {bench.seconds:.1f} s")
        for k in range(options.times):
            kind = kinds[k % len(kinds)]
            out = scratch / f"out-{k}"
            moment = chance.uniform(0, LATEST * bench.seconds)
            happened = disturb(bench, kind, out, moment)
            counts[kind, happened if kind != "disk" else "full"] += 1
            print(
                f"{k + 1:3} {kind:12} after {moment:5.2f} s: {happened}; went on to the same results",
                flush=True,
            )
            shutil.rmtree(out, ignore_errors=True)
    print(f"\n{options.times} disturbances, all with the results of the undisturbed run")
    for (kind, happened), count in sorted(counts.items()):
        print(f"  {kind}: {happened}: {count}")


if __name__ == "__main__":
    main()

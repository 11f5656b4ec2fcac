"""Speed and memory beside the peers: fits from arrays, whole commands on up to ten million rows, threads.

    python scripts/benchmark.py LOG.parquet… [--parts fit command threads] [--rows 41000 1000000 10000000]

LOG is a review log in Parquet with the revlog's columns. Everything is measured in one run, the candidates
one after another in each round, medians over the rounds; ratios are peer / ours, so above 1 ours is faster.
On a busy machine look at processor time. Needs the extra `peers` and the package `anki`.

- fit: arrays to parameters (pretrain, train, finetune) against fsrs-rs's compute_parameters with card ids,
  whose items are made beforehand; and how much lower the objective J of ours is.
- command: `fsrs-opt optimize` on collections made from the logs (large_collection.py), against Anki's own
  backend, FSRS-Optimizer and a script on fsrs-rs. What importing the modules takes is measured apart.
- threads: two threads against one in the compiled pass.

The passes themselves, by instruction set, are in benchmark_kernels.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from benchmark_kernels import replicate
from large_collection import make
from peers.fsrs_rs_items import fsrs_rs_items
from peers.log_files import LogFile, load

from fsrs_opt.model import native
from fsrs_opt.model.parameters import DEFAULTS, clip
from fsrs_opt.training.data import windowed_batch
from fsrs_opt.training.fit import fit
from fsrs_opt.training.recipes import map_objective

HERE = Path(__file__).parent
IMPORTS = "import " + ", ".join(
    f"fsrs_opt.{name}"
    for name in ("cli.main", "cli.optimize_report", "commands.optimize", "sources.reading", "sources.revlog")
)

COLUMNS = ("rating", "delta_t", "weight")
IMPORTS_ALONE = "importing what optimize needs"


def median_ms(seconds: Sequence[float]) -> str:
    return f"{1e3 * statistics.median(seconds):9.2f} ({1e3 * min(seconds):.2f})"


def clocks(call: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor time of a call [s]."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def fits(logs: Sequence[LogFile], rounds: int) -> None:
    import fsrs_rs_python

    print("\nArrays to parameters: milliseconds, median (least) of", rounds, "rounds; J at the end")
    columns = ("ours wall", "ours cpu", "fsrs-rs wall", "fsrs-rs cpu")
    print(f"{'log':8s}{'items':>9s}", *(f"{name:>17s}" for name in columns), " wall   cpu  J lower by")
    for log in logs:
        h, chosen = log.data.histories, log.data.items
        items = fsrs_rs_items(h.offsets, h.rating, h.delta_t, chosen.review, chosen.card)
        card_ids = chosen.card.tolist()
        model = fsrs_rs_python.FSRS(list(fsrs_rs_python.DEFAULT_PARAMETERS))
        ours: list[tuple[float, float]] = []
        theirs: list[tuple[float, float]] = []
        found = fit(log.data)
        parameters = np.array(model.compute_parameters(items, card_ids))
        for _ in range(rounds):
            theirs.append(clocks(partial(model.compute_parameters, items, card_ids)))
            ours.append(clocks(partial(fit, log.data)))
        times = [[one[k] for one in runs] for runs in (ours, theirs) for k in (0, 1)]
        ratios = [statistics.median(times[k + 2]) / statistics.median(times[k]) for k in (0, 1)]
        j = map_objective(log.data).evaluate(clip(parameters, given=True)).loss
        assert found.objective is not None
        print(
            f"{log.name:8s}{len(log.data):9,}",
            *map(median_ms, times),
            *(f"{ratio:5.2f}" for ratio in ratios),
            f"{j - found.objective:10.4f}",
        )


def threads(logs: Sequence[LogFile], rounds: int, rows: int = 1_000_000) -> None:
    print(
        "\nTwo threads against one, the logs' cards repeated to",
        f"{rows:,} reviews: ns per review, wall time",
    )
    parts = [windowed_batch(log.data) for log in logs]
    times = -(-rows // sum(part.n_reviews for part in parts))
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    together = (np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS)
    offsets, rating, delta_t, weight = replicate((offsets, *together), times)
    pack = native.pack(offsets, rating, delta_t, weight)
    for name in ("loss_gradient", "loss_gradient_fisher", "forward"):
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(rounds):
            for n, runs in seconds.items():
                runs.append(clocks(partial(getattr(pack, name), DEFAULTS, n))[0])
        one, two = (1e9 * statistics.median(runs) / len(rating) for runs in seconds.values())
        least = min(seconds[1]) / min(seconds[2])
        print(f"{name:22s} one {one:7.2f}  two {two:7.2f}  ratio {one / two:.2f} (of the least {least:.2f})")


def measured(command: Sequence[str], wants: str, limit: float, typed: str = "") -> dict[str, float] | str:
    """seconds, cpu and peak_mib of a command, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        run = [sys.executable, "-S", str(HERE / "peers" / "run_measured.py"), str(output), *command]
        environment = {**os.environ, "MPLBACKEND": "Agg"}
        with subprocess.Popen(
            run,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
            start_new_session=True,
        ) as process:
            try:
                result, _ = process.communicate(typed, timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return f"not done in {limit:.0f} s"
        said = output.read_text(encoding="utf-8", errors="replace")
        found: dict[str, float] = json.loads(result)
        if found["code"] or wants not in said:
            return "failed: " + (said.strip().splitlines() or ["no message"])[-1][:100]
        return found


def commands(logs: Sequence[Path], sizes: Sequence[int], rounds: int, python: str, limit: float) -> None:
    print("\nWhole commands: medians of", rounds, "rounds (1 above 5,000,000 rows)")
    print(
        f"{'rows':>10s}  {'program':34s}{'seconds':>8s} {'processor':>10s} {'peak MiB':>9s}"
        f" {'beyond imports':>18s} {'processor':>10s} {'time/ours':>10s}"
    )
    with tempfile.TemporaryDirectory(dir=os.environ.get("FSRS_OPT_BENCHMARK_DIR")) as folder:
        for rows in sizes:
            path = Path(folder) / "collection.anki2"
            make(path, rows, logs)
            optimize = [sys.executable, "-m", "fsrs_opt", "optimize", str(path), "--quiet"]
            candidates = {
                IMPORTS_ALONE: ([sys.executable, "-c", IMPORTS], "", ""),
                "fsrs-opt optimize": (optimize, ", ", ""),
                "fsrs-opt optimize --no-held-out": ([*optimize, "--no-held-out"], ", ", ""),
                "Anki's backend": ([python, str(HERE / "peers/anki_command.py"), f"{path}.copy"], ", ", ""),
                "script on fsrs-rs, card ids": (
                    [python, str(HERE / "peers/fsrs_rs_command.py"), str(path), "14400"],
                    ", ",
                    "",
                ),
                "FSRS-Optimizer": (
                    [python, "-m", "fsrs_optimizer", f"{path}.colpkg"],
                    "Weighted loss after training",
                    "UTC\n4\n\n\n\nn\n",
                ),
            }
            shutil.copyfile(path, f"{path}.copy")
            as_package(path, Path(f"{path}.colpkg"))
            runs: dict[str, list[dict[str, float]]] = {name: [] for name in candidates}
            wrong: dict[str, str] = {}
            for _ in range(1 if rows > 5_000_000 else rounds):
                for name, (command, wants, typed) in candidates.items():
                    if name in wrong or (name == "FSRS-Optimizer" and runs[name]):
                        continue  # minutes each: once is enough
                    result = measured(command, wants, limit, typed)
                    if isinstance(result, str):
                        wrong[name] = result
                    else:
                        runs[name].append(result)
            if not runs[IMPORTS_ALONE]:
                raise SystemExit(f"importing fsrs_opt {wrong[IMPORTS_ALONE]}")
            spent = {
                name: statistics.median(one[name] for one in runs[IMPORTS_ALONE])
                for name in ("seconds", "cpu")
            }
            mine = statistics.median(one["seconds"] for one in runs["fsrs-opt optimize"])
            for name, results in runs.items():
                if not results:
                    print(f"{rows:10,}  {name:34s} {wrong[name]}")
                    continue
                wall, cpu, peak = (
                    statistics.median(one[key] for one in results) for key in ("seconds", "cpu", "peak_mib")
                )
                beyond = (
                    f"{wall - spent['seconds']:18.2f} {cpu - spent['cpu']:10.2f}"
                    if name.startswith("fsrs-opt")
                    else " " * 29
                )
                print(
                    f"{rows:10,}  {name:34s}{wall:8.2f} {cpu:10.2f} {peak:9.0f} {beyond} {wall / mine:10.2f}",
                    flush=True,
                )


def as_package(collection: Path, target: Path) -> None:
    """A legacy package of the collection's rows, which is what FSRS-Optimizer reads."""
    import zipfile

    with zipfile.ZipFile(target, "w") as archive:
        archive.write(collection, "collection.anki21")
        archive.writestr("media", "{}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument(
        "--parts", nargs="+", choices=["fit", "command", "threads"], default=["fit", "threads", "command"]
    )
    parser.add_argument("--rows", nargs="+", type=int, default=[41_000, 1_000_000, 10_000_000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--python", default=sys.executable, help="Python with the peers, if not this one")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a program is stopped")
    options = parser.parse_args()
    logs = [load(path) for path in options.logs]
    if "fit" in options.parts:
        fits(logs, options.rounds)
    if "threads" in options.parts:
        threads(logs, options.rounds)
    if "command" in options.parts:
        commands(options.logs, options.rows, options.rounds, options.python, options.limit)


if __name__ == "__main__":
    main()

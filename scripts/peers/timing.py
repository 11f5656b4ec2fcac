"""Wall time and peak memory of whole commands on one and the same package."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fsrs_opt.reviews.history import histories
from fsrs_opt.reviews.items import items
from fsrs_opt.sources import read
from peers.log_files import LogFile, write_colpkg
from peers.report import Check, Table, number

HERE = Path(__file__).parent
OURS, OURS_ONLY, RUST_IDS, RUST, SLOW = (
    "fsrs-opt optimize",
    "fsrs-opt optimize --no-held-out",
    "script on fsrs-rs, card ids",
    "script on fsrs-rs, no card ids",
    "FSRS-Optimizer",
)
TRAINING_ONLY = "FSRS-Optimizer, without simulation and evaluation"
TIMES_FASTER = 10


@dataclass(frozen=True)
class Program:
    """A command and what is typed into it; `wants` is text that it prints only when it succeeds."""

    name: str
    command: list[str]
    runs: int
    wants: str
    typed: str = ""


@dataclass(frozen=True)
class Row:
    """Medians over the runs; a program that failed has an error instead. cpu: processor seconds."""

    log: str
    log_rows: int
    program: str
    runs: int
    seconds: float | None = None
    cpu: float | None = None
    peak_mib: float | None = None
    error: str = ""


def measure(file: LogFile, runs: int, python: str, *, slow: bool) -> list[Row]:
    """Each program on the log as a package; ValueError if the package holds other items than the log."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / f"{file.name}.colpkg"
        write_colpkg(file, package)
        again = read(package)
        n_items = len(items(histories(again.log, again.day.day_of)))
        if n_items != len(file.data):
            raise ValueError(f"{file.name} as a package gives {n_items} items instead of {len(file.data)}")
        return [
            _measured(file, program, Path(folder)) for program in _programs(file, package, runs, python, slow)
        ]


def _programs(file: LogFile, package: Path, runs: int, python: str, slow: bool) -> list[Program]:
    script = [python, str(HERE / "fsrs_rs_command.py"), str(package), str(file.day_start)]
    ours = [sys.executable, "-m", "fsrs_opt", "optimize", str(package)]
    found = [
        Program(OURS, ours, runs, "arameters"),
        Program(OURS_ONLY, [*ours, "--no-held-out"], runs, "arameters"),
        Program(RUST_IDS, script, runs, ", "),
        Program(RUST, [*script, "--no-card-ids"], runs, ", "),
    ]
    if slow:
        # time zone, next day start, first date, no suspended filter, short term: yes, no graphs
        answers = f"UTC\n{file.day_start // 3600}\n\n\n\nn\n"
        command = [python, "-m", "fsrs_optimizer", str(package)]
        found.append(Program(SLOW, command, 1, "Weighted loss after training", answers))
        part = [python, str(HERE / "fsrs_optimizer_command.py"), str(package), str(file.day_start // 3600)]
        found.append(Program(TRAINING_ONLY, part, 1, "parameters:"))
    return found


def _measured(file: LogFile, program: Program, folder: Path) -> Row:
    measured = []
    for _ in range(program.runs):
        output = folder / "output"
        run = subprocess.run(
            [sys.executable, "-S", HERE / "run_measured.py", output, *program.command],
            input=program.typed,
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
            check=True,
        )
        result = json.loads(run.stdout)
        said = output.read_text(encoding="utf-8", errors="replace")
        if result["code"] or program.wants not in said:
            last = (said.strip().splitlines() or ["no message"])[-1]
            error = f"ended with code {result['code']}: {last}"
            return Row(file.name, len(file.log), program.name, program.runs, error=error)
        measured.append(result)
    seconds, cpu, peak = (
        statistics.median(one[name] for one in measured) for name in ("seconds", "cpu", "peak_mib")
    )
    return Row(file.name, len(file.log), program.name, program.runs, seconds, cpu, peak)


def table(rows: Sequence[Row]) -> Table:
    ours = {row.log: row for row in rows if row.program == OURS}
    header = [
        "program",
        "log",
        "rows",
        "runs",
        "seconds",
        "processor s",
        "peak MiB",
        "time / ours",
        "memory / ours",
    ]
    lines, notes = [], []
    for row in rows:
        start = [row.program, row.log, f"{row.log_rows:,}", str(row.runs)]
        if row.seconds is None or row.cpu is None or row.peak_mib is None:
            lines.append([*start, "fails", "", "", "", ""])
            notes.append(f"{row.log}, {row.program} {row.error}")
            continue
        by = ours[row.log]
        ratios = ["", ""]
        if by.seconds and by.peak_mib:
            ratios = [number(row.seconds / by.seconds, 2), number(row.peak_mib / by.peak_mib, 2)]
        lines.append([*start, number(row.seconds, 2), number(row.cpu, 2), number(row.peak_mib, 0), *ratios])
    return Table("Time and memory of whole commands", header, lines, notes)


def checks(rows: Sequence[Row]) -> list[Check]:
    """On the largest log timed: TIMES_FASTER times as fast as FSRS-Optimizer, and less memory."""
    log = max(rows, key=lambda row: row.log_rows).log
    by_name = {row.program: row for row in rows if row.log == log}
    if SLOW not in by_name:
        return []
    ours, slow = by_name[OURS], by_name[SLOW]
    texts = (
        f"{OURS} is at least {TIMES_FASTER} times as fast as {SLOW} on {log} ({ours.log_rows:,} rows)",
        f"{OURS} uses less memory than {SLOW} on {log}",
    )
    if ours.seconds is None or slow.seconds is None or ours.peak_mib is None or slow.peak_mib is None:
        return [Check(text, False, ours.error or slow.error) for text in texts]
    ratio = slow.seconds / ours.seconds
    memory = f"{ours.peak_mib:.0f} against {slow.peak_mib:.0f} MiB"
    return [
        Check(texts[0], ratio >= TIMES_FASTER, f"{ratio:.1f} times"),
        Check(texts[1], ours.peak_mib < slow.peak_mib, memory),
    ]

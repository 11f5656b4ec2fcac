"""Compare fsrs-opt with fsrs-rs and FSRS-Optimizer on review logs: objective, held-out loss, time, memory.

Usage: python scripts/compare_peers.py LOGS… [options]

LOGS: files that `fsrs-opt optimize` reads, or folders of them. An index.csv in a log's folder may give its
day start (columns name, day_start_utc_secs). The peers may live in a Python of their own (--peer-python);
`pip install -e '.[peers]'` brings both into this one. Ends with code 1 if something that must hold does not.
docs/comparison.md says what is compared and how.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
if importlib.util.find_spec("fsrs_opt") is None:  # not installed: take it from here, in commands too
    sys.path.insert(0, str(PROJECT))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")]))

import torch  # noqa: E402
from peers import held_out, log_files, objective, timing  # noqa: E402
from peers.log_files import LogFile  # noqa: E402
from peers.report import Check, Table  # noqa: E402

from fsrs_opt.errors import FsrsOptError, UsageError  # noqa: E402
from fsrs_opt.model import kernel  # noqa: E402

TABLES = ("objective", "held-out", "time")
MIN_ITEMS = 300  # of a log in the table of the objective
START, END = "<!-- tables: written by scripts/compare_peers.py -->", "<!-- end of tables -->"


def main() -> int:
    options = _arguments()
    torch.set_num_threads(1)  # of this process: its tensors are small, a second thread only costs
    files = []
    for path in log_files.find(options.logs, options.only):
        files.append(log_files.load(path))
        _say(f"{path.name}: {len(files[-1].data)} items")
    if not files:
        raise UsageError("there is no log to compare on: name Parquet or CSV files, packages, or a folder")
    if shutil.which(options.peer_python) is None:
        raise UsageError(
            f"{options.peer_python} cannot be run: give --peer-python a Python that has the peers"
        )

    out = _Output(options.markdown)
    setting = _setting(options.peer_python)
    out.line(setting)
    results: dict[str, Any] = {"setting": setting}
    checks: list[Check] = []
    if "objective" in options.tables:
        large = [file for file in files if len(file.data) >= MIN_ITEMS]
        rows = list(
            _each(
                "objective", large, lambda file: objective.measure(file, options.starts, options.peer_python)
            )
        )
        results["objective"] = [{**asdict(row), "excess": row.excess} for row in rows]
        if rows:
            out.table(objective.table(rows))
            checks += objective.checks(rows)
    if "held-out" in options.tables:
        split = list(_each("held-out", files, lambda file: held_out.measure(
            file, options.splits, options.peer_python, slow=not options.skip_slow)))  # fmt: skip
        scored = [row for row in split if row is not None]
        results["held_out"] = [asdict(row) for row in scored]
        results["differences"] = [asdict(one) for one in held_out.differences(scored)]
        if scored:
            for table in held_out.tables(scored):
                out.table(table)
    if "time" in options.tables:
        largest = max(files, key=lambda file: len(file.log)).name
        timed = [file for file in files if file.name in (options.time_on or [largest])]
        per_log = _each("time", timed, lambda file: timing.measure(
            file, options.runs, options.peer_python, slow=not options.skip_slow))  # fmt: skip
        times = [row for rows in per_log for row in rows]
        results["time"] = [asdict(row) for row in times]
        if times:
            out.table(timing.table(times))
            checks += timing.checks(times)

    results["checks"] = [asdict(check) for check in checks]
    out.checks(checks)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if options.into:
        out.write_into(options.into)
    return 0 if all(check.passed for check in checks) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOGS")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these logs (no suffix)")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES, help="only these tables")
    parser.add_argument("--peer-python", default=sys.executable, metavar="PATH", help="has the peers")
    parser.add_argument("--skip-slow", action="store_true", help="without FSRS-Optimizer")
    parser.add_argument("--splits", type=int, default=5, help="time-series splits (default: 5)")
    parser.add_argument("--starts", type=int, default=12, help="random starts of the search (default: 12)")
    parser.add_argument(
        "--runs", type=int, default=3, help="of a timed command (default: 3; the slow one: 1)"
    )
    parser.add_argument("--time-on", nargs="+", metavar="NAME", help="logs to time (default: the largest)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument("--into", type=Path, metavar="FILE", help="replace the tables in a Markdown FILE")
    return parser.parse_args()


class _Output:
    """Prints what it is given and remembers it for `write_into`."""

    def __init__(self, markdown: bool) -> None:
        self._markdown = markdown
        self._parts: list[str] = []

    def line(self, text: str) -> None:
        self._add(text, text)

    def table(self, table: Table) -> None:
        self._add(table.text(markdown=self._markdown), table.text(markdown=True))

    def checks(self, checks: list[Check]) -> None:
        if checks:
            lines = "\n".join(map(str, checks))
            self._add(lines, "### Must hold\n\n" + "\n".join(f"- {check}" for check in checks))

    def _add(self, printed: str, kept: str) -> None:
        print(f"{kept if self._markdown else printed}\n", flush=True)
        self._parts.append(kept)

    def write_into(self, path: Path) -> None:
        """Replace what stands between the two marks in a Markdown file."""
        before, rest = path.read_text(encoding="utf-8").split(START)
        after = rest.split(END)[1]
        text = "\n\n".join(self._parts)
        path.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def _each(what: str, files: Iterable[LogFile], measure: Callable[[LogFile], Any]) -> Iterator[Any]:
    for file in files:
        start = time.perf_counter()
        result = measure(file)
        _say(f"{what}, {file.name}: {time.perf_counter() - start:.0f} s")
        yield result


def _setting(python: str) -> str:
    """Versions of what is compared, and the machine in a few words."""
    code = (
        "import importlib.metadata as m, platform; "
        "names = [d.name + ' ' + d.version for d in m.distributions()"
        " if d.name and d.name.lower().replace('_', '-') in ('fsrs-rs-python', 'fsrs-optimizer', 'torch')]; "
        "print(', '.join(sorted(set(names))), '(Python', platform.python_version() + ')')"
    )
    theirs = subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()
    try:
        ours = f"fsrs-opt {version('fsrs-opt')}"
    except PackageNotFoundError:
        ours = "fsrs-opt"
    ours += (
        f" with torch {version('torch')} (Python {platform.python_version()}), passes by {kernel.describe()},"
    )
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    return f"{time.strftime('%Y-%m-%d')}: {ours} against {theirs or 'peers that cannot be found'}; {machine}."


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FsrsOptError as error:
        _say(f"Error: {error}")
        sys.exit(2)

"""Ctrl-C and termination, sent to the real program."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fsrs_opt.cli.interrupts import GRACE_SECONDS
from tests.cli.program import command, environment

COPIES = 30  # of the sample: enough rows to train for many seconds


@pytest.fixture(scope="module")
def large(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = (data / "sample.csv").read_text().splitlines()
    path = tmp_path_factory.mktemp("large") / "large.csv"
    with path.open("w") as file:
        print(lines[0], file=file)
        for copy in range(COPIES):
            file.writelines(f"{copy}{line}\n" for line in lines[1:])
    return path


def wait_for(terminal: int, *words: str) -> str:
    """Read a terminal until one of the words has been shown."""
    seen, end = "", time.monotonic() + 240
    while not any(word in seen for word in words):
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 65_536).decode("utf-8", "replace")
    return seen


@pytest.mark.parametrize(
    ("number", "code", "moment"),
    [
        (signal.SIGINT, 130, "reading"),
        (signal.SIGINT, 130, "loading torch"),
        (signal.SIGINT, 130, "train:"),
        (signal.SIGTERM, 143, "reading"),
    ],
)
def test_stops_at_once_and_leaves_nothing(
    large: Path, tmp_path: Path, number: signal.Signals, code: int, moment: str
) -> None:
    scratch, results = tmp_path / "scratch", tmp_path / "results"
    scratch.mkdir()
    results.mkdir()
    kernel = "torch" if moment == "loading torch" else "auto"
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        command("optimize", large, "--output", results / "out.json", "--kernel", kernel),
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(TMPDIR=str(scratch), TERM="xterm", COLUMNS="80"),
    )
    try:
        os.close(theirs)
        wait_for(ours, moment)
        program.send_signal(number)
        out, _ = program.communicate(timeout=10 * GRACE_SECONDS)
    finally:
        program.kill()
        program.wait()
        os.close(ours)
    assert program.returncode == code
    assert out == b""
    assert list(results.iterdir()) == []
    assert [file for file in scratch.iterdir() if file.name.startswith("fsrs-opt")] == []


ENDLESS_QUERY = """
import sqlite3, sys
from pathlib import Path
from fsrs_opt.cli.interrupts import interruptible
from fsrs_opt.atomic_file import replacing

with interruptible(), replacing(Path(sys.argv[1])):
    print("ready", flush=True)
    numbers = "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n"
    sqlite3.connect(":memory:").execute(numbers).fetchone()
"""


def test_ends_even_while_python_cannot_run_a_handler(tmp_path: Path) -> None:
    """The main thread is deep in one call of C code, and half of a file is written."""
    program = subprocess.Popen(
        [sys.executable, "-c", ENDLESS_QUERY, tmp_path / "out.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    assert len(list(tmp_path.iterdir())) == 1
    time.sleep(0.3)  # now it is in the query
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=10 * GRACE_SECONDS)
    assert program.returncode == 130
    assert err == b"Interrupted.\n"
    assert list(tmp_path.iterdir()) == []


NOT_TO_BE_UNWOUND = """
import sys
from fsrs_opt.cli.interrupts import ending_at_once, interruptible

with interruptible(), ending_at_once(lambda: print("first", flush=True)):
    print("ready", flush=True)
    try:
        while True:
            pass
    except BaseException:
        print("an exception in code that does not survive one", flush=True)
"""


def test_code_that_no_exception_may_reach_is_ended_on_the_spot() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", NOT_TO_BE_UNWOUND],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=10 * GRACE_SECONDS)
    assert (program.returncode, out, err) == (130, b"first\n", b"Interrupted.\n")


def test_the_fits_of_all_presets_end_with_the_program(data: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        command(
            *("optimize", data / "sample.colpkg", "--all-presets", "--workers", "2"),
            *("--output", tmp_path / "out.json"),
        ),
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(TERM="xterm", COLUMNS="80"),
    )
    try:
        os.close(theirs)
        wait_for(ours, "fitting each preset")
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=20 * GRACE_SECONDS)
    finally:
        program.kill()
        program.wait()
        os.close(ours)
    assert program.returncode == 130
    assert out == b""
    assert list(tmp_path.iterdir()) == []

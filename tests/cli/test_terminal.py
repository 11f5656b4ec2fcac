"""What is shown on a terminal, as against a pipe."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

from tests.cli.program import command, environment
from tests.cli.test_optimize import PASTE


def on_a_terminal(*arguments: str | Path, **more: str) -> str:
    """Everything the program shows on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        command(*arguments), stdout=theirs, stderr=theirs, env=environment(TERM="xterm", COLUMNS="80", **more)
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            read = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not read:
            break
        shown += read
    os.close(ours)
    assert program.wait(timeout=60) == 0
    return shown.decode("utf-8").replace("\r\n", "\n")


def test_a_terminal_shows_progress_and_colour_but_the_line_stays_plain(shared_real: Path) -> None:
    shown = on_a_terminal("optimize", shared_real / "real28.parquet", "--no-held-out")
    for stage in ("reading real28.parquet", "train: ", "finetune: "):
        assert stage in shown
    assert "\x1b[1;32m" in shown  # the verdict
    assert PASTE.search(shown) is not None
    assert shown.endswith(PASTE.search(shown)[0] + "\n")


def test_no_color_is_respected(shared_real: Path) -> None:
    shown = on_a_terminal("inspect", shared_real / "real28.parquet", NO_COLOR="1")
    assert not re.search(r"\x1b\[[\d;]*3\d[;m]", shown)
    assert re.search(r"\x1b\[[\d;]*3\d[;m]", on_a_terminal("inspect", shared_real / "real28.parquet"))

"""Run the program: in this process, or as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fsrs_opt.cli.main import run

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **more}


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "fsrs_opt", *map(str, arguments)]


def process(*arguments: str | Path, cwd: Path | None = None, **more: str) -> Outcome:
    """The real program, its output not a terminal."""
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        encoding="utf-8",
        env=environment(**more),
        cwd=cwd,
        timeout=300,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


class Here:
    """The same entry in this process, where torch is loaded once for all tests."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Outcome:
        self._capsys.readouterr()
        code = run(list(map(str, arguments)))
        captured = self._capsys.readouterr()
        return Outcome(code, captured.out, captured.err)


def rows_of(columns: str, *rows: Sequence[Any]) -> str:
    """CSV text."""
    return "\n".join([columns, *(",".join(map(str, row)) for row in rows)]) + "\n"

"""The README shows what the program really prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.program import Here

ROOT = Path(__file__).resolve().parent.parent


def test_the_shown_output_is_real(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shown = re.search(
        r"\$ fsrs-opt optimize data/sample\.colpkg\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    assert shown is not None
    seen = Here(capsys)("optimize", "data/sample.colpkg")
    assert seen.code == 0
    printed = " ".join(seen.out.split())
    parts = [" ".join(part.split()) for part in shown[1].split("…")]
    assert len(parts) >= 4
    for part in parts:
        assert part in printed

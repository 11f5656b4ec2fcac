"""The training loop in the guide runs as it stands there, prints what it says there, and freezes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

GUIDE = Path(__file__).parents[2] / "docs" / "gradients.md"


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return found[0]


def test_the_loop_of_the_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(block("python"), str(GUIDE), "exec"), names)
    assert capsys.readouterr().out == block("text")
    w = names["model"].memory.w
    assert torch.equal(w[:4], names["w_before"][:4])
    assert (w[4:] != names["w_before"][4:]).all()
    assert names["losses"][-1] < names["losses"][0]
    assert names["model"].slope != 1
    assert names["model"].memory.w.grad is None

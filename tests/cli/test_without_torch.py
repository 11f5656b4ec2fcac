"""With the compiled kernels torch is not loaded: every command here runs where it cannot be."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fsrs_opt.model import native
from tests.cli.program import command, environment

if not native.available():
    pytest.skip("installed without the native kernels", allow_module_level=True)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("optimize", ["--kernel", "native", "--json"]),
        ("optimize", ["--kernel", "native", "--all-presets", "--json"]),
        ("evaluate", ["--json"]),
        ("advise", ["--json"]),
        ("inspect", ["--json"]),
        ("batch", ["--kernel", "native", "--evaluate", "--out", "out"]),
    ],
)
def test_a_command_does_without_torch(name: str, options: list[str], data: Path, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "torch.py").write_text("raise ImportError('torch is not to be loaded')")
    path = os.pathsep.join([str(tmp_path / "first"), environment()["PYTHONPATH"]])
    done = subprocess.run(
        command(name, data / "sample.colpkg", *options),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(PYTHONPATH=path, FSRS_OPT_KERNEL="native"),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if name == "batch":
        assert "done" in (tmp_path / "out" / "results.csv").read_text()
    else:
        assert done.stdout.startswith("{")

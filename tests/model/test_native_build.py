"""The wheel, built and installed as a user would: in an empty environment, with a compiler or without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import DEFAULTS
from tests.conftest import ROOT

PARTS = ["fsrs_opt", "native", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"]
USE = """
import sys, numpy as np
from fsrs_opt import _native
w = np.array([float(x) for x in sys.argv[1].split()])
pack = _native.Pack(*(np.array(a, t) for a, t in [
    ([0, 3], "int64"), ([3, 3, 1], "int8"), ([0, 4, 9], "int32"), ([0, 1, 1], "float64")]))
loss, gradient, fisher = pack.loss_gradient_fisher(w)
assert np.isfinite(fisher).all()
print(loss)
"""


def build_wheel(folder: Path, **environment: str) -> Path:
    """The wheel made from a copy of the sources; skips where the build tools cannot be had."""
    source = folder / "source"
    source.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(ROOT / part, source / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, source / part)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder / "wheels", source],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    if done.returncode and "No matching distribution found" in done.stdout + done.stderr:
        pytest.skip("the build tools are not here and cannot be downloaded")
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (folder / "wheels").glob("*.whl")
    return wheel


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="there is no C++ compiler")
def test_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, FSRS_OPT_NATIVE="1")
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    # numpy alone of its requirements: torch would take longer than the rest of the tests
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "numpy"], check=True)
    subprocess.run([*install, "--no-deps", wheel], check=True)
    done = subprocess.run(
        [python, "-c", USE, " ".join(map(str, DEFAULTS))],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        check=False,
    )
    assert done.returncode == 0, done.stderr

    batch = WindowedBatch(
        np.array([0, 3]), np.array([3, 3, 1], np.int8), np.array([0, 4, 9], np.int32), np.array([0.0, 1, 1])
    )
    assert float(done.stdout) == pytest.approx(batch.evaluate(DEFAULTS).loss, rel=1e-5)


def test_switch_installs_without_a_compiler(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, FSRS_OPT_NATIVE="0", CXX="/nonexistent/compiler")
    names = zipfile.ZipFile(wheel).namelist()
    assert "fsrs_opt/model/native.py" in names
    assert not [name for name in names if name.endswith((".so", ".pyd"))]
    assert wheel.name.endswith("py3-none-any.whl")

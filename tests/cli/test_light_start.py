"""With the compiled kernels neither torch nor pandas is loaded, which would take longer than most fits: every
command here runs where they cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fsrs_opt.model import native
from tests.batch.made_up import write_user
from tests.cli.program import command, environment

if not native.available():
    pytest.skip("installed without the native kernels", allow_module_level=True)


def run_without(folder: Path, *names: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program where importing these packages fails, in `folder`. (Not as if they were not installed:
    pyarrow would do without.)"""
    (folder / "first").mkdir()
    for name in names:
        (folder / "first" / f"{name}.py").write_text(f"raise RuntimeError('{name} is not to be loaded')")
    path = os.pathsep.join([str(folder / "first"), environment()["PYTHONPATH"]])
    return subprocess.run(
        arguments,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(PYTHONPATH=path, FSRS_OPT_KERNEL="native"),
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("optimize", ["--kernel", "native"]),
        ("optimize", ["--kernel", "native", "--all-presets"]),
        ("optimize", ["--kernel", "native", "--deck", "*", "--no-held-out"]),
        ("evaluate", []),
        ("advise", []),
        ("inspect", []),
    ],
)
def test_a_command_does_without_both(name: str, options: list[str], data: Path, tmp_path: Path) -> None:
    arguments = command(name, data / "sample.colpkg", *options, "--json")
    done = run_without(tmp_path, "torch", "pandas", arguments=arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("{")


def test_a_batch_does_without_torch(data: Path, tmp_path: Path) -> None:
    """Its tables of results are written by pandas, once."""
    arguments = command("batch", data / "sample.colpkg", "--evaluate", "--out", "out")
    done = run_without(tmp_path, "torch", arguments=arguments)
    assert done.returncode == 0, done.stderr
    assert "done" in (tmp_path / "out" / "results.csv").read_text()


JOB = """
import sys
from fsrs_opt import run_batch
if __name__ == "__main__":
    standing = run_batch(sys.argv[1:], "out", workers=1)
    assert "numpy" not in sys.modules, "the process that hands out orders needs no numpy"
    sys.exit(f"{standing.done} done: {standing.reasons}")
"""


def test_the_workers_of_a_batch_do_without_both(data: Path, tmp_path: Path) -> None:
    """Packages, and the research data set's tables of whole numbers."""
    user = write_user(tmp_path, 4)
    done = run_without(
        tmp_path,
        "torch",
        "pandas",
        arguments=[sys.executable, "-c", JOB, str(data / "sample.colpkg"), str(user)],
    )
    assert done.stderr == "2 done: []\n"

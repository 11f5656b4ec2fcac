"""Start-up, help and version."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fsrs_opt import __version__
from fsrs_opt.cli import options
from fsrs_opt.training import fit
from tests.cli.program import ROOT, Here, environment

HEAVY = ("torch", "pandas", "pyarrow", "numpy", "rich")


def loaded_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after `code`."""
    report = "import sys; print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["optimize", "--help"], ["inspect", "-h"], ["export", "-h"], []]
)
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    loaded = loaded_after(f"from fsrs_opt.cli.main import run; run({arguments!r})")
    assert "click" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = loaded_after("import fsrs_opt; fsrs_opt.__all__; fsrs_opt.FsrsOptError")
    assert loaded.isdisjoint(HEAVY)
    assert "click" not in loaded


def test_a_missing_file_and_inspect_do_not_wait_for_torch() -> None:
    loaded = loaded_after("from fsrs_opt.cli.main import run; run(['optimize', 'no-such-file'])")
    assert "torch" not in loaded
    sample = str(ROOT / "data" / "sample.csv")
    loaded = loaded_after(f"from fsrs_opt.cli.main import run; run(['inspect', {sample!r}])")
    assert "pandas" in loaded
    assert "torch" not in loaded


def test_every_public_name_is_there() -> None:
    import fsrs_opt

    for name in fsrs_opt.__all__:
        assert getattr(fsrs_opt, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        fsrs_opt.no_such_name  # noqa: B018


def test_version(fsrs_opt: Here) -> None:
    seen = fsrs_opt("--version")
    assert (seen.code, seen.out) == (0, f"fsrs-opt {__version__}\n")


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", ["optimize", "inspect", "export"])
def test_help_shows_an_example(fsrs_opt: Here, command: str, flag: str) -> None:
    seen = fsrs_opt(command, flag)
    assert seen.code == 0
    assert f"\n    fsrs-opt {command} collection.colpkg" in seen.out


def test_help_names_all_commands(fsrs_opt: Here) -> None:
    out = fsrs_opt("--help").out
    assert all(f"\n  {command} " in out for command in ("optimize", "inspect", "export"))


def test_choices_are_those_of_the_library() -> None:
    assert options.RECIPES == fit.RECIPES
    assert options.STAGES == fit.STAGES


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["optimise"], "No such command"),
        (["optimize"], "Missing argument 'PATH'"),
        (["optimize", "x", "--recipe", "magic"], "'magic' is not one of"),
        (["optimize", "x", "--stages", "pretrain,warmup"], "no stage “warmup”"),
        (["optimize", "x", "--stages", ","], "name at least one of"),
        (["optimize", "x", "--relearning-steps", "-1"], "-1 is not in the range"),
        (["optimize", "x", "--current", "a,b"], "these are not numbers"),
        (["optimize", "x", "--current", "1,2,3"], "21 parameters (or 19 or 17 in older versions), not 3"),
        (["optimize", "x", "--current", ",".join(["nan"] * 21)], "must be finite numbers"),
        (["optimize", "x", "--ignore-before", "01/02/2023"], "use YYYY-MM-DD"),
        (["optimize", "x", "--ignore-before", "2023-2-30"], "use YYYY-MM-DD"),
        (["optimize", "x", "--timezone", "Foo/Bar"], "no time zone named 'Foo/Bar'"),
        (["optimize", "x", "--timezone", ""], "time zone is empty"),
        (["optimize", "x", "--timezone", "UTC+8"], "did you mean Etc/GMT-8"),
        (["optimize", "x", "--timezone", " Europe/Berlin"], "did you mean Europe/Berlin"),
        (["inspect", "x", "--day-start", "24"], "whole hour from 0 to 23"),
        (["inspect", "x", "--day-start", "-1"], "whole hour from 0 to 23"),
        (["export", "x", "-o", "y.csv", "--day-start", "4.5"], "whole hour from 0 to 23"),
        (["export", "x"], "Missing option '-o'"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_read(fsrs_opt: Here, arguments: list[str], said: str) -> None:
    seen = fsrs_opt(*arguments)  # the file x does not exist, which would be exit code 1
    assert seen.code == 2
    assert seen.out == ""
    assert said in seen.err
    assert "Traceback" not in seen.err


def test_no_command_is_wrong_usage_and_shows_the_help(fsrs_opt: Here) -> None:
    seen = fsrs_opt()
    assert seen.code == 2
    assert "Usage: fsrs-opt" in seen.err + seen.out

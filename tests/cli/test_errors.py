"""Whatever goes wrong: one sentence on stderr, nothing on stdout, the right exit code."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fsrs_opt.cli.errors import exit_code_of, sentence
from fsrs_opt.errors import Interrupted
from tests.cli.program import Here, Outcome, command, environment, process, rows_of

COLUMNS = "id,cid,usn,ease,ivl,lastIvl,factor,time,type"
DAY = 86_400_000
NOW = 1_700_000_000_000


def told(outcome: Outcome) -> str:
    """The one sentence on stderr."""
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("Error: ")
    return lines[0].removeprefix("Error: ")


@pytest.fixture
def bad_files(tmp_path: Path) -> dict[str, Path]:
    files = {
        name: tmp_path / name
        for name in ("missing.apkg", "folder", "empty.colpkg", "text.apkg", "cut.APKG", "other.zip")
    }
    files["folder"].mkdir()
    files["empty.colpkg"].write_bytes(b"")
    files["text.apkg"].write_text("just some words\n")
    with zipfile.ZipFile(tmp_path / "whole", "w") as archive:
        archive.writestr("collection.anki21", b"x" * 10_000)
    files["cut.APKG"].write_bytes((tmp_path / "whole").read_bytes()[:3000])
    with zipfile.ZipFile(files["other.zip"], "w") as archive:
        archive.writestr("letter.txt", "hello")
    return files


@pytest.mark.parametrize("verb", ["optimize", "inspect", "export"])
@pytest.mark.parametrize(
    "name", ["missing.apkg", "folder", "empty.colpkg", "text.apkg", "cut.APKG", "other.zip"]
)
def test_a_bad_file_is_one_sentence_that_names_it(
    fsrs_opt: Here, bad_files: dict[str, Path], tmp_path: Path, verb: str, name: str
) -> None:
    more = ["-o", tmp_path / "out.csv"] if verb == "export" else []
    seen = fsrs_opt(verb, bad_files[name], *more)
    assert seen.code == 1
    assert str(bad_files[name]) in told(seen)
    assert not (tmp_path / "out.csv").exists()


def test_json_prints_nothing_after_an_error(fsrs_opt: Here, tmp_path: Path) -> None:
    seen = fsrs_opt("optimize", tmp_path / "missing.apkg", "--json", "--output", tmp_path / "out.json")
    assert (seen.code, seen.out) == (1, "")
    assert not (tmp_path / "out.json").exists()


def test_a_package_without_scheduling_says_how_to_export(fsrs_opt: Here, shared_fixtures: Path) -> None:
    for name in ("nosched_new.apkg", "nosched_legacy.apkg"):
        seen = fsrs_opt("optimize", shared_fixtures / name)
        assert seen.code == 1
        assert "exported without scheduling information" in told(seen)


def test_a_relative_path_and_a_suffix_in_capitals(
    fsrs_opt: Here, shared_fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "decks").mkdir()
    (tmp_path / "decks" / "ALL.APKG").write_bytes((shared_fixtures / "sched_new.apkg").read_bytes())
    monkeypatch.chdir(tmp_path)
    seen = fsrs_opt("inspect", "decks/ALL.APKG")
    assert seen.code == 0
    assert "decks/ALL.APKG" in seen.out


def test_only_learning_rows_of_one_day(fsrs_opt: Here, tmp_path: Path) -> None:
    log = tmp_path / "learning.csv"
    log.write_text(rows_of(COLUMNS, *((NOW + k, k, 0, 3, -60, -60, 0, 900, 0) for k in range(300))))
    seen = fsrs_opt("optimize", log)
    assert seen.code == 1
    sentence = told(seen)
    assert "nothing was reviewed on a later day yet" in sentence
    assert "default parameters" in sentence


def test_many_times_on_one_day(fsrs_opt: Here, tmp_path: Path) -> None:
    log = tmp_path / "one-day.csv"
    rows = [(NOW + 100 * card + k, card, 0, 3, -60, -60, 0, 900, 0) for card in range(300) for k in range(5)]
    log.write_text(rows_of(COLUMNS, *rows))
    seen = fsrs_opt("optimize", log, "--json")
    assert seen.code == 1
    assert "nothing was reviewed on a later day yet" in told(seen)


def test_a_cutoff_in_the_future(fsrs_opt: Here, data: Path) -> None:
    seen = fsrs_opt("optimize", data / "sample.csv", "--ignore-before", "2999-01-01")
    assert seen.code == 1
    assert "the cut-off leaves 0 reviews" in told(seen)


def test_no_reviews_at_all(fsrs_opt: Here, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text(COLUMNS + "\n")
    seen = fsrs_opt("optimize", tmp_path / "none.csv")
    assert seen.code == 1
    assert "no reviews" in told(seen)


def test_a_device_that_is_not_there(fsrs_opt: Here, data: Path) -> None:
    for device in ("cuda:17", "meta", "toaster"):
        seen = fsrs_opt("optimize", data / "sample.csv", "--device", device)
        assert seen.code == 2
        assert f"“{device}” is not available" in told(seen)


def test_a_fault_of_ours_says_so_and_shows_where_only_when_asked(
    fsrs_opt: Here, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault\nin two lines")

    monkeypatch.setattr("fsrs_opt.commands.inspect_file.histories", broken)
    seen = fsrs_opt("inspect", data / "sample.csv")
    assert seen.code == 1
    assert "bug in fsrs-opt" in told(seen)
    assert "report" in seen.err
    assert "ZeroDivisionError: a fault in two lines" in seen.err

    monkeypatch.setenv("FSRS_OPT_DEBUG", "1")
    seen = fsrs_opt("inspect", data / "sample.csv")
    assert seen.code == 1
    assert "Traceback" in seen.err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/x/out.csv"),
            "/x/out.csv: no space left on device.",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "/x: permission denied."),
        (MemoryError(), "not enough memory"),
        (
            RuntimeError("[alloc_cpu.cpp:1] can't allocate memory: you tried"),
            "not enough memory",
        ),
    ],
)
def test_what_the_system_refuses(error: Exception, said: str) -> None:
    assert said in sentence(error)
    assert "bug" not in sentence(error)


def test_an_abort_asked_for_by_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(Interrupted("stop")) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_a_full_disk(data: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    for more in ([], ["--json"]):
        with full.open("w") as nowhere:
            done = subprocess.run(
                command("inspect", data / "sample.csv", *more),
                stdout=nowhere,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                env=environment(),
                check=False,
            )
        assert done.returncode == 1
        assert done.stderr == "Error: no space left on device.\n"


@pytest.mark.parametrize("more", ["", "--json"])
def test_a_reader_that_goes_away_is_no_error(data: Path, more: str) -> None:
    # The reader is gone before anything is written.
    line = f"{sys.executable} -m fsrs_opt inspect {data / 'sample.csv'} {more} | true"
    done = subprocess.run(line, shell=True, env=environment(), capture_output=True, check=False)
    assert done.stderr == b""


def test_a_folder_that_cannot_be_written(fsrs_opt: Here, data: Path, tmp_path: Path) -> None:
    seen = fsrs_opt("export", data / "sample.csv", "-o", tmp_path / "none" / "out.csv")
    assert seen.code == 2
    assert "does not exist" in told(seen)


def test_names_that_are_no_text(data: Path, tmp_path: Path) -> None:
    name = bytes(tmp_path) + b"/caf\xe9.csv"
    Path(os.fsdecode(name)).write_bytes((data / "sample.csv").read_bytes())
    for more in ([], ["--json"]):
        done = subprocess.run(
            [*command("inspect"), name, *more], env=environment(), capture_output=True, check=False
        )
        assert done.returncode == 0
        done.stdout.decode("utf-8")


def test_a_terminal_without_the_characters(data: Path) -> None:
    seen = process("inspect", data / "sample.colpkg", PYTHONIOENCODING="ascii")
    assert seen.code == 0
    assert "####" in seen.out

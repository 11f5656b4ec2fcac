"""`export` on the command line; what it writes: tests/commands/test_export.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.objects import strict
from tests.cli.program import Here


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".CSV"])
def test_says_what_was_written(fsrs_opt: Here, shared_fixtures: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"out{suffix}"
    seen = fsrs_opt("export", shared_fixtures / "schema18.anki2", "-o", target)
    assert (seen.code, seen.err) == (0, "")
    assert f"rows written to {target}" in seen.out
    assert list(tmp_path.iterdir()) == [target]
    # what was written can be read by the next command
    assert fsrs_opt("inspect", target).code == 0


def test_json(fsrs_opt: Here, data: Path, tmp_path: Path) -> None:
    seen = fsrs_opt("export", data / "sample.csv", "-o", tmp_path / "out.csv", "--json")
    done = strict(seen.out)
    assert done["format"] == "fsrs-opt.export/1"
    assert done["path"] == str(tmp_path / "out.csv")
    assert done["rows"] == len((data / "sample.csv").read_text().splitlines()) - 1
    assert done["columns"][:4] == ["card_id", "review_time", "review_rating", "review_state"]


@pytest.mark.parametrize("name", ["out.txt", "out", "out.csv.gz"])
def test_an_unknown_suffix_is_wrong_usage(fsrs_opt: Here, data: Path, tmp_path: Path, name: str) -> None:
    seen = fsrs_opt("export", data / "sample.csv", "-o", tmp_path / name)
    assert seen.code == 2
    assert ".csv or .parquet" in seen.err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_without_force(fsrs_opt: Here, data: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("mine")
    seen = fsrs_opt("export", data / "sample.csv", "-o", target)
    assert seen.code == 2
    assert "--force" in seen.err
    assert target.read_text() == "mine"
    assert fsrs_opt("export", data / "sample.csv", "-o", target, "--force").code == 0
    assert target.read_text().startswith("card_id,")


def test_the_file_that_is_read_is_never_overwritten(fsrs_opt: Here, data: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_bytes((data / "sample.csv").read_bytes())
    (tmp_path / "link.csv").symlink_to(log)
    for target in (log, tmp_path / "link.csv", tmp_path / "." / "log.csv"):
        seen = fsrs_opt("export", log, "-o", target, "--force")
        assert seen.code == 2
        assert "is the file that is read" in seen.err
    assert log.read_bytes() == (data / "sample.csv").read_bytes()

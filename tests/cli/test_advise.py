"""`fsrs-opt advise`: the table, the advice, the picture, and what it says when it cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.objects import strict
from tests.cli.program import Here, process


@pytest.fixture(scope="module")
def sample(data: Path) -> Path:
    return data / "sample.colpkg"


def test_the_table_the_divisions_and_the_advice(fsrs_opt: Here, sample: Path) -> None:
    seen = fsrs_opt("advise", sample, "--by", "preset")
    assert (seen.code, seen.err) == (0, "")
    lines = seen.out.splitlines()
    table = [line.split() for line in lines if line.startswith(("  Default ", "  Languages ", "  Medicine "))]
    assert [row[0] for row in table] == ["Default", "Languages", "Medicine"]
    assert sorted(row[-1] for row in table) == ["1", "2", "3"]
    assert "Leave the decks divided as they are" in seen.out
    assert "intervals must be above 0" in seen.out
    pasted = [line for line in lines if line.count(",") == 20]
    assert len(pasted) == 3
    assert lines.index("Advice") < lines.index(pasted[0])


def test_quiet_prints_the_advice_and_the_lines(fsrs_opt: Here, sample: Path) -> None:
    seen = fsrs_opt("advise", sample, "--by", "preset", "--quiet")
    assert seen.code == 0
    assert seen.out.startswith("Leave the decks")
    assert "log loss" not in seen.out
    assert sum(line.count(",") == 20 for line in seen.out.splitlines()) == 3


def test_json_and_picture(fsrs_opt: Here, sample: Path, tmp_path: Path) -> None:
    picture = tmp_path / "advice.png"
    seen = fsrs_opt("advise", sample, "--level", "1", "--json", "-o", picture)
    assert (seen.code, seen.err) == (0, "")
    found = strict(seen.out)
    assert found["format"] == "fsrs-opt.advise/1"
    assert [unit["name"] for unit in found["units"]] == ["Geography", "Languages", "Medicine"]
    assert found["seconds"]["total"] >= found["seconds"]["advise"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["advice.png"]


def test_a_picture_that_exists_is_kept_unless_forced(fsrs_opt: Here, sample: Path, tmp_path: Path) -> None:
    picture = tmp_path / "advice.svg"
    picture.write_text("mine")
    seen = fsrs_opt("advise", sample, "-o", picture)
    assert (seen.code, seen.out) == (2, "")
    assert "exists already" in seen.err
    assert picture.read_text() == "mine"
    seen = fsrs_opt("advise", sample, "--by", "preset", "-o", picture, "--force")
    assert seen.out.endswith(f"Picture written to {picture}.\n")
    assert "<svg" in picture.read_text("utf-8")


def test_wrong_usage_is_one_sentence(fsrs_opt: Here, sample: Path, data: Path, tmp_path: Path) -> None:
    for arguments, words in (
        ((data / "sample.csv",), "is a table of reviews without decks and presets"),
        ((sample, "-o", tmp_path / "advice.pdf"), "is no picture: give a name that ends with .svg or .png"),
        ((sample, "-o", tmp_path / "no" / "advice.png"), "does not exist: make it first"),
    ):
        seen = fsrs_opt("advise", *arguments)
        assert (seen.code, seen.out) == (2, "")
        assert words in seen.err
        assert seen.err.count("\n") == 1
    for arguments in (("--level", "0"), ("--level", "top"), ("--min-items", "0"), ("--by", "tag")):
        assert fsrs_opt("advise", sample, *arguments).code == 2
    seen = fsrs_opt("advise", sample, "--by", "preset", "--level", "1")
    assert seen.code == 2
    assert "--level is about decks" in seen.err
    assert fsrs_opt("advise", tmp_path / "missing.anki2").code == 1


def test_without_matplotlib_only_the_picture_is_refused(
    fsrs_opt: Here, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    seen = fsrs_opt("advise", sample, "-o", tmp_path / "advice.png")
    assert (seen.code, seen.out) == (1, "")
    assert 'pip install "fsrs-opt[report]"' in seen.err
    assert fsrs_opt("advise", sample, "--by", "preset", "--quiet").code == 0


def test_a_narrow_terminal_cuts_no_number(sample: Path) -> None:
    seen = process("advise", sample, COLUMNS="40")
    assert seen.code == 0
    assert seen.err == ""
    row = next(line for line in seen.out.splitlines() if "Rivers" in line)
    assert row.split()[-6:-4] == ["451", "+19.8"]


def test_only_some_decks(fsrs_opt: Here, sample: Path) -> None:
    seen = fsrs_opt("advise", sample, "--deck", "medicine", "--deck", "Geo*", "--json")
    assert seen.code == 0
    found = strict(seen.out)
    assert [unit["name"] for unit in found["units"]] == [
        "Geography::Capitals",
        "Geography::Rivers",
        "Medicine::Anatomy",
        "Medicine::Pharmacology",
    ]
    assert found["selection"]["items"] == sum(unit["items"] for unit in found["units"])
    assert not any("hold no items" in message for message in found["messages"])
    whole = strict(fsrs_opt("advise", sample, "--by", "preset", "--json").out)
    assert whole["selection"]["items"] == sum(unit["items"] for unit in whole["units"])

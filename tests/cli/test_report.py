"""`report` and `optimize --report` as a person and a program see them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fsrs_opt.report import svg
from tests.cli.program import Here
from tests.report import cases


@pytest.fixture(autouse=True)
def _not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pictures look like is looked at elsewhere; here only files and words matter."""
    monkeypatch.setattr(svg, "inline", lambda picture, wide: "<svg></svg>" if wide else "")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return cases.log(tmp_path / "log.csv", cards=30, reviews=4)


def test_the_page_is_named_after_the_file(
    fsrs_opt: Here, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    seen = fsrs_opt("report", log)
    assert (seen.code, seen.err) == (0, "")
    assert seen.out.endswith("Report written to log-report.html.\n")
    assert [path.name for path in elsewhere.iterdir()] == ["log-report.html"]


def test_a_file_that_exists_is_kept_unless_forced(fsrs_opt: Here, log: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("mine")
    seen = fsrs_opt("report", log, "-o", target)
    assert seen.code == 2
    assert "exists already" in seen.err
    assert target.read_text() == "mine"
    assert fsrs_opt("report", log, "-o", target, "--force", "--quiet").out == ""
    assert target.read_text("utf-8").startswith("<!DOCTYPE html>")


def test_json_is_that_of_evaluate_and_of_the_page(fsrs_opt: Here, log: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    seen = fsrs_opt("report", log, "-o", target, "--json")
    assert seen.code == 0
    result = json.loads(seen.out)
    assert result["format"] == "fsrs-opt.evaluate/1"
    page = target.read_text("utf-8")
    assert f"{result['in_sample']['new']['log_loss']:.4f}" in page
    assert f"{result['held_out']['metrics']['sm2']['log_loss']:.4f}" in page


def test_pictures_in_a_folder(fsrs_opt: Here, log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    done = fsrs_opt("report", log, "-o", tmp_path / "a.html", "--plots", folder, "--plot-format", "png")
    assert done.code == 0
    written = sorted(path.name for path in folder.iterdir())
    assert f"{len(written)} pictures written to {folder}." in done.out
    assert "intervals.png" in written
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.iterdir())
    again = fsrs_opt("report", log, "-o", tmp_path / "b.html", "--plots", folder)
    assert again.code == 2
    assert "is not empty" in again.err
    assert not (tmp_path / "b.html").exists()


def test_without_matplotlib_one_sentence_says_what_to_install(
    fsrs_opt: Here, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for arguments in (("report", log, "-o"), ("optimize", log, "--report")):
        seen = fsrs_opt(*arguments, tmp_path / "page.html")
        assert (seen.code, seen.out) == (1, "")
        assert seen.err.count("\n") == 1
        assert 'pip install "fsrs-opt[report]"' in seen.err


def test_nothing_to_train_on_writes_nothing(fsrs_opt: Here, tmp_path: Path) -> None:
    log = cases.log(tmp_path / "log.csv", cards=3, reviews=1)
    seen = fsrs_opt("report", log, "-o", tmp_path / "page.html")
    assert seen.code == 1
    assert "nothing to fit" in seen.err
    assert not (tmp_path / "page.html").exists()


def test_optimize_writes_the_report_of_its_own_run(fsrs_opt: Here, log: Path, tmp_path: Path) -> None:
    page, output = tmp_path / "page.html", tmp_path / "result.json"
    page.write_text("old")
    seen = fsrs_opt("optimize", log, "--report", page, "--output", output)
    assert (seen.code, seen.err) == (0, "")
    result = json.loads(output.read_text("utf-8"))
    text = page.read_text("utf-8")
    for name in ("new", "default"):
        assert f"{result['metrics'][name]['log_loss']:.4f}" in text
        assert f"{result['metrics'][name]['rmse_bins']:.4f}" in text
    for k, value in enumerate(result["new_parameters"]):
        assert f'<th scope="row">w{k}</th>' in text
        assert f"<td>{value:.4f}</td>" in text

"""Reports of logs that hold little, or only one kind of thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsrs_opt.commands.evaluate import Evaluated
from fsrs_opt.report import svg
from fsrs_opt.report.files import write_report
from tests.report import cases


@pytest.fixture(autouse=True)
def _wide_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has every picture twice; once is enough here."""
    draw = svg.inline
    monkeypatch.setattr(svg, "inline", lambda picture, wide: draw(picture, wide=True) if wide else "")


def report(log: Path) -> tuple[str, Evaluated]:
    page = log.with_suffix(".html")
    found = write_report(log, page, workers=1)
    text = page.read_text("utf-8")
    assert "nan" not in re.findall(r"(?<![\w-])(?:nan|inf)(?![\w-])", text.lower())
    assert "no picture here: ." not in text
    return text, found


def reasons(text: str) -> list[str]:
    return re.findall(r"There is no picture here: (.*)\.</p>", text)


@pytest.mark.parametrize("answer", [cases.always_good, cases.always_again])
def test_all_outcomes_equal(tmp_path: Path, answer: cases.Answer) -> None:
    text, found = report(cases.log(tmp_path / "log.csv", cards=60, reviews=6, answer=answer))
    assert found.evaluation.verdict.decision == "not enough data"
    assert "There is no AUC: the items are all recalled or all forgotten." in text
    assert "Fewer surprises" not in text


def test_one_card(tmp_path: Path) -> None:
    text, found = report(cases.log(tmp_path / "log.csv", cards=1, reviews=40))
    assert len(found.data) == 39
    too_few = "there are too few reviews to fit all parameters"
    assert reasons(text)[:2] == [too_few, too_few]
    assert "of 1\N{NO-BREAK SPACE}card, each on a later day" in text


def test_ten_items(tmp_path: Path) -> None:
    text, found = report(cases.log(tmp_path / "log.csv", cards=5, reviews=3))
    assert len(found.data) == 10
    assert len(reasons(text)) == 3  # forgetting curves, parameters, learning curve
    assert "Study on" in text


def test_one_item(tmp_path: Path) -> None:
    text, _ = report(cases.log(tmp_path / "log.csv", cards=1, reviews=2))
    assert "There are no held-out reviews" in text


def test_one_first_rating_and_no_current_parameters(tmp_path: Path) -> None:
    text, found = report(cases.log(tmp_path / "log.csv", cards=100, reviews=5, first=(3,)))
    assert found.current == ()
    assert reasons(text) == []
    assert "it is filled in from the other answers" in text
    assert "current parameters" not in text.lower().replace("your current parameters", "")

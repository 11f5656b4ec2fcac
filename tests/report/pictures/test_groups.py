"""The picture of the advice: every deck once, in its group, and names of every kind."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fsrs_opt.commands.advise import Advised, UnitAdvice, advise
from fsrs_opt.evaluation.paired import PairedDifference
from fsrs_opt.report import style, svg
from fsrs_opt.report.pictures.groups import MOST_ROWS, groups


@pytest.fixture(scope="module")
def found(data: Path) -> Advised:
    return advise(data / "sample.colpkg")


def drawn(found: Advised, tmp_path: Path) -> list[str]:
    """The texts of the picture."""
    target = tmp_path / "picture.svg"
    svg.save(groups(found), target, "svg")
    return re.findall(r"<text[^>]*>([^<]*)</text>|<!-- (.*?) -->", target.read_text("utf-8"))


def words(found: Advised, tmp_path: Path) -> str:
    return "\n".join(a or b for a, b in drawn(found, tmp_path))


def renamed(one: UnitAdvice, name: str) -> UnitAdvice:
    return replace(one, unit=replace(one.unit, name=name))


def test_every_deck_and_group_is_there(found: Advised, tmp_path: Path) -> None:
    seen = words(found, tmp_path)
    for one in found.units:
        assert one.unit.name in seen
    assert [f"Group {k}" in seen for k in (1, 2, 3, 4)] == [True, True, True, False]
    assert "3 sets of parameters" in seen
    assert "fewer surprises in 1,000 reviews" in seen


def test_the_table_holds_the_same_numbers(found: Advised) -> None:
    picture = groups(found)
    assert picture.table is not None
    rows = {row[0]: row for row in picture.table.rows}
    rivers = next(one for one in found.units if one.unit.name == "Geography::Rivers")
    assert rivers.gain is not None
    assert rows["Geography::Rivers"][2] == f"{rivers.gain.mean * 1000 / 0.693147:.1f}"
    assert picture.caption == found.sentences[0]


@pytest.mark.parametrize("wide", [True, False])
def test_names_of_every_kind_and_length(found: Advised, tmp_path: Path, wide: bool) -> None:
    names = [
        "語彙::日本語",
        "a $x_1$ \\frac <b>&",
        "line\nbreak\x1b[31m",
        "::".join(["long"] * 60) + "::end",
        "",
        "\N{PILE OF POO}\N{EGYPTIAN HIEROGLYPH A001}",
    ]
    odd = replace(
        found, units=tuple(renamed(one, name) for one, name in zip(found.units, names, strict=True))
    )
    with style.applied():
        made = groups(odd).draw(wide)
        canvas = FigureCanvasAgg(made)
        canvas.draw()
        texts = made.axes[0].texts
        boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
    shown = [text.get_text() for text in texts]
    assert any(text.startswith("…") and text.endswith("::end") for text in shown)
    assert not any("\n" in text or "\x1b" in text for text in shown)
    assert min(box.x0 for box in boxes) >= -1
    assert max(box.x1 for box in boxes) <= made.bbox.width + 1
    for k, a in enumerate(boxes):
        assert not any(a.overlaps(b) for b in boxes[:k] if min(a.width, b.width) > 0), shown[k]


def test_many_decks_and_decks_that_were_not_judged(found: Advised, tmp_path: Path) -> None:
    wild = PairedDifference(0.02, -5.0, 5.04, 2.5, 100, 20)
    many = tuple(
        replace(
            renamed(found.units[0], f"deck {k}"),
            group=0,
            gain=None if k % 3 == 0 else wild if k % 7 == 0 else found.units[0].gain,
        )
        for k in range(100)
    )
    one = replace(found.groups[0], units=tuple(range(100)), gain=None)
    seen = words(replace(found, units=many, groups=(one,), as_now=False), tmp_path)
    assert seen.count("too few to judge") > 5
    assert f"and {100 - MOST_ROWS}" in seen
    assert "One set of parameters for all decks" in seen

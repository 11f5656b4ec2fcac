"""Pictures as text of the page and as files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from fsrs_opt.report import style, svg
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Picture
from fsrs_opt.report.pictures.forgetting import forgetting
from fsrs_opt.report.sections import pictures, sections
from tests.report.conftest import Made

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def small(name: str = "small") -> Picture:
    def draw(wide: bool) -> Figure:
        made = style.figure(wide, 2.0)
        ax = made.subplots()
        ax.plot([1, 2, 3], [1, 4, 2], **style.NEW_LINE, **style.NEW_MARK)
        ax.set_title("a < b & $c$")
        return made

    return Picture(name, "A “small” <picture>", "", None, draw)


def test_the_same_picture_gives_the_same_text() -> None:
    assert svg.inline(small(), wide=True) == svg.inline(small(), wide=True)


def test_colours_are_those_of_the_page_and_text_is_text() -> None:
    text = svg.inline(small(), wide=False)
    assert "var(--new)" in text
    assert style.NEW not in text
    assert "a &lt; b &amp; $c$" in text
    assert "DejaVu" not in text
    assert 'aria-label="Picture: A “small” &lt;picture&gt;.' in text


def test_names_inside_pictures_of_one_page_do_not_meet(sample: Made) -> None:
    page = sample.page.read_text("utf-8")
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names))
    for used in re.findall(r'(?:href="#|url\(#)([^")]+)', page):
        assert used in names


def test_the_page_of_the_sample_is_small_and_loads_nothing(sample: Made) -> None:
    page = sample.page.read_text("utf-8")
    assert sample.page.stat().st_size < 1_500_000
    assert re.findall(r"https?://(?!www\.w3\.org/)[^\s\"<]+", page) == []


def test_all_pictures_are_written_as_files(sample: Made) -> None:
    names = {picture.name for picture in pictures(sections(Findings(sample.found)))}
    assert {path.stem for path in sample.plots.iterdir()} == names
    for path in sample.plots.iterdir():
        text = path.read_text("utf-8")
        assert text.startswith("<?xml")
        assert style.NEW in text  # no page is around it that would give colours
        assert "<dc:date>" not in text


def test_a_png_is_large_enough_to_print(sample: Made, tmp_path: Path) -> None:
    target = tmp_path / "forgetting.png"
    picture = forgetting(Findings(sample.found))
    svg.save(picture, target, "png")
    with Image.open(target) as image:
        assert image.width >= 1400
        assert image.convert("RGB").getpixel((0, 0))[0] >= 250  # on white


def test_nothing_to_draw_says_why(sample: Made) -> None:
    found = replace(
        sample.found, evaluation=replace(sample.found.evaluation, forgetting=(), reasons={"posterior": "why"})
    )
    picture = forgetting(Findings(found))
    assert picture.draw is None
    assert picture.reason == "why"

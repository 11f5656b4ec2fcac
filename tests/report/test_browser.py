"""The page as a real browser shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.report import svg
from fsrs_opt.report.files import write
from tests.report.conftest import Made

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE, PHONE = 1000, 390
PICTURES = (
    *("reviews", "calibration", "by-interval", "by-number", "forgetting", "growth", "parameters", "learning"),
    *("intervals-1", "intervals-2", "intervals-3"),  # the sample has three presets
)
MODELS = {
    "New parameters": "new",
    "Current parameters": "current",
    "Default parameters": "default",
    "Your average recall, the same for every review": "constant",
    "SM-2, Anki's older scheduler": "sm2",
}

Open = Callable[..., "Page"]


class Watch:
    """What a page says and asks for."""

    def __init__(self, page: Page) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """`opened(path, width=…, scheme=…)` gives the page with its `Watch` as `page.watch`."""
    contexts = []

    def open_page(path: Path, *, width: int = WIDE, scheme: str = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.watch = Watch(page)
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def tables(page: Page) -> dict[str, list[dict[str, str]]]:
    """Rows of every table by its caption, each by the names of the columns; no-break spaces are spaces."""
    found = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('table')].map(table => {
            const names = [...table.querySelectorAll('thead tr > *')].map(cell => cell.textContent);
            const rows = [...table.querySelectorAll('tbody tr')].map(row => Object.fromEntries(
                [...row.children].map((cell, k) => [names[k], cell.textContent.replaceAll('\\u00a0', ' ')])));
            return [table.caption.textContent.replaceAll('\\u00a0', ' '), rows];
        }))"""
    )
    assert isinstance(found, dict)
    return found


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_it_opens_without_an_error_and_asks_for_nothing(sample: Made, opened: Open, width: int) -> None:
    page = opened(sample.page, width=width)
    page.wait_for_load_state("networkidle")
    assert page.watch.said == []
    assert [url for url in page.watch.asked if not url.startswith("data:")] == [sample.page.as_uri()]


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_every_picture_is_drawn_and_nothing_in_it_is_cut_off(sample: Made, opened: Open, width: int) -> None:
    page = opened(sample.page, width=width)
    drawn = page.evaluate(
        """() => [...document.querySelectorAll('figure')].map(figure => {
            const shown = [...figure.querySelectorAll('.picture svg')].filter(svg => svg.checkVisibility());
            const box = shown[0].getBoundingClientRect();
            const scale = box.width / shown[0].viewBox.baseVal.width;
            const texts = [...shown[0].querySelectorAll('text')].map(text => {
                const at = text.getBoundingClientRect();
                return {text: text.textContent, left: at.left - box.left, right: box.right - at.right,
                        above: at.top - box.top, below: box.bottom - at.bottom,
                        size: parseFloat(getComputedStyle(text).fontSize) * scale};
            });
            return {name: figure.id, shown: shown.length, width: box.width, height: box.height,
                    shapes: shown[0].querySelectorAll('path, use').length, texts};
        })"""
    )
    assert [figure["name"] for figure in drawn] == list(PICTURES)
    for figure in drawn:
        assert figure["shown"] == 1, figure["name"]
        assert figure["width"] > 300
        assert figure["height"] > 150
        assert figure["shapes"] > 10
        for text in figure["texts"]:
            edges = (text["left"], text["right"], text["above"], text["below"])
            assert min(edges) > -2, (figure["name"], text)
            assert text["size"] >= 10, (figure["name"], text)


def test_tables_hold_the_figures_of_the_json(sample: Made, opened: Open) -> None:
    seen, json = tables(opened(sample.page)), sample.json
    for caption, figures in (
        ("How well each predicts reviews that it had not seen (held-out)", json["held_out"]["metrics"]),
        ("How well each predicts all reviews, those it was fitted to (in-sample)", json["in_sample"]),
    ):
        rows = {row[""]: row for row in seen[caption]}
        assert rows.keys() == MODELS.keys()
        for words, name in MODELS.items():
            for column, key in (
                *(("Log loss", "log_loss"), ("RMSE(bins)", "rmse_bins")),
                *(("AUC", "auc"), ("Typical miss", "ici")),
            ):
                assert rows[words][column] == f"{figures[name][key]:.4f}", (caption, words, column)

    counts = json["counts"]
    left_out = {row[""]: int(row["Rows"].replace(",", "")) for row in seen["What was left out, and why"]}
    assert left_out.pop("all") == counts["revlog_rows"]
    assert left_out.pop("used") == counts["reviews_used"]
    assert sorted(left_out.values()) == sorted(n for n in counts["left_out"].values() if n)

    months = seen["Your reviews over time"]
    assert months[-1]["Rows"] == f"{counts['revlog_rows']:,}"
    assert months[-1]["On a later day (predicted)"] == f"{counts['items']:,}"
    for name in months[-1]:
        if name != "Month":
            column = [int(row[name].replace(",", "")) for row in months]
            assert sum(column[:-1]) == column[-1]


def test_the_tables_of_the_pictures_hold_the_figures_of_the_json(sample: Made, opened: Open) -> None:
    seen, json = tables(opened(sample.page)), sample.json
    uncertainty = json["uncertainty"]
    for k, row in enumerate(seen["The parameters"]):
        assert row[""] == f"w{k}"
        assert row["New"] == f"{json['new_parameters'][k]:.4f}"
        assert row["Default"] == f"{DEFAULTS[k]:.4f}"
        assert row["90 % interval"] == f"{uncertainty['low'][k]:.4f} to {uncertainty['high'][k]:.4f}"
        for one in json["current_parameters"]:
            assert row[f"Current ({one['name']})"] == f"{one['parameters'][k]:.4f}"
        share = "at a limit" if uncertainty["held"][k] else f"{uncertainty['data_share'][k]:.0f} %"
        assert row["From your reviews"] == share

    reliability = seen["Do the predictions come true? Predicted and actual recall"]
    for who in ("new", "current"):
        curve = json["held_out"]["metrics"][who]["reliability"]
        rows = [row for row in reliability if row["Parameters"] == who]
        assert [row["Reviews"] for row in rows] == [f"{n:,}" for n in curve["count"]]
        assert [row["Predicted"] for row in rows] == [percent(p) for p in curve["predicted"]]
        assert [row["Recalled"] for row in rows] == [percent(p) for p in curve["actual"]]

    again = seen["What optimizing again brings"]
    for one, row in zip(json["learning"]["past"], again, strict=False):
        assert row["Optimizing again"] == f"past: from {one['n_before']:,} to {one['n_after']:,}"
        saved = float(row["Surprises saved in 1,000 reviews"].replace("\N{MINUS SIGN}", "-"))
        assert saved == pytest.approx(1000 * one["gain"] / np.log(2), abs=0.0051)

    for caption in ("Recall by the days since the last review", "Recall by the number of reviews"):
        total = sum(int(row["Reviews"].replace(",", "")) for row in seen[caption])
        assert total == json["held_out"]["items"]
        weighted = sum(
            int(row["Reviews"].replace(",", "")) * float(row["Predicted by new"].removesuffix(" %"))
            for row in seen[caption]
        )
        mean = json["held_out"]["metrics"]["new"]["mean_predicted"]
        assert weighted / total == pytest.approx(100 * mean, abs=0.05)


def test_the_verdict_comes_first_and_is_that_of_the_run(sample: Made, opened: Open) -> None:
    page, verdict = opened(sample.page), sample.json["verdict"]
    assert verdict["decision"] == "change"  # as the sample is made
    assert page.locator("h1").all_inner_texts() == ["Use the new parameters"]
    lead = page.locator(".lead").inner_text()
    sentence = verdict["sentence"].partition(": ")[2]
    assert sentence.lower() == lead.lower().replace("\N{NO-BREAK SPACE}", " ")
    first = page.evaluate("document.querySelector('main').firstElementChild.className")
    assert first == "verdict change"
    pasted = [float(number) for number in page.locator(".paste code").inner_text().split(",")]
    assert pasted == pytest.approx(sample.json["new_parameters"], abs=3e-4)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(sample: Made, opened: Open, scheme: str) -> None:
    page = opened(sample.page, width=PHONE, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    layouts = page.evaluate(
        "[...document.querySelectorAll('.picture svg')].map(svg => [svg.classList[0], svg.checkVisibility()])"
    )
    assert {tuple(each) for each in layouts} == {("narrow", True), ("wide", False)}


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2) of a computed colour `rgb(r, g, b)`."""
    channels = np.array([float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


COLOURS = """() => ({
    paper: getComputedStyle(document.body).backgroundColor,
    texts: [...new Set([...document.querySelectorAll('.picture svg text')]
        .map(text => getComputedStyle(text).fill))],
    lines: [...new Set([...document.querySelectorAll('#forgetting svg path')]
        .map(path => getComputedStyle(path).stroke).filter(colour => colour !== 'none'))]})"""


def test_dark_and_light_have_enough_contrast_in_the_pictures(sample: Made, opened: Open) -> None:
    light = opened(sample.page).evaluate(COLOURS)
    dark = opened(sample.page, scheme="dark").evaluate(COLOURS)
    assert luminance(light["paper"]) > 0.9
    assert luminance(dark["paper"]) < 0.05
    for colours in (light, dark):
        assert len(colours["texts"]) >= 2
        for text in colours["texts"]:
            assert contrast(text, colours["paper"]) >= 4.5
        readable = [line for line in colours["lines"] if contrast(line, colours["paper"]) >= 3]
        assert len(readable) >= 3  # new, current, what happened; the grid is fainter on purpose
    assert not set(light["texts"]) & set(dark["texts"])


def test_paper_is_white_whatever_the_screen_is(sample: Made, opened: Open) -> None:
    page = opened(sample.page, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    colours = page.evaluate(COLOURS)
    assert luminance(colours["paper"]) > 0.9
    assert all(contrast(text, colours["paper"]) >= 4.5 for text in colours["texts"])
    visible = page.evaluate("[...document.querySelectorAll('svg.wide')].every(svg => svg.checkVisibility())")
    assert visible
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
def test_axe_finds_no_serious_fault(sample: Made, opened: Open, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    page = opened(sample.page, width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    # Readers do not see what is inside an image (role="img"), and the rows of a table are alike: axe needs
    # a minute to walk through them all.
    page.evaluate("document.querySelectorAll('.picture svg').forEach(svg => svg.replaceChildren())")
    page.evaluate("document.querySelectorAll('tbody tr:nth-child(n + 5)').forEach(row => row.remove())")
    found: list[dict[str, Any]] = axe.Axe().run(page).response["violations"]
    serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
    assert [(fault["id"], [node["html"][:200] for node in fault["nodes"][:3]]) for fault in serious] == []


def test_names_from_the_collection_are_text_and_nothing_else(
    sample: Made, opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = svg.inline
    monkeypatch.setattr(
        svg, "inline", lambda of, wide: draw(of, wide=True) if wide and "s-" in of.name else ""
    )
    bad = "<img src=x onerror=\"console.log('ran')\"> $x_1$ & </title>"
    collection = sample.found.collection
    presets = {key: replace(preset, name=bad) for key, preset in collection.presets.items()}
    source = replace(collection.source, path=Path("<script>console.log('ran')</script>.colpkg"))
    found = replace(
        sample.found,
        collection=replace(collection, presets=presets, source=source),
        current=tuple(replace(one, name=bad) for one in sample.found.current),
        messages=(bad,),
    )
    target = tmp_path / "bad.html"
    write(found, target)
    page = opened(target)
    assert page.watch.said == []
    assert page.locator("img, script").count() == 0
    assert bad in page.locator("#intervals-1 h3").inner_text()
    assert page.locator("#know li").all_inner_texts().count(bad) == 1

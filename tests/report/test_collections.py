"""The summary page of a batch, made from a table and opened in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from fsrs_opt.batch.results import _typed
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.report.collections.page import page, write
from fsrs_opt.report.collections.summary import summary

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PICTURES = ["metrics", "gain", "parameters-over-all", "sizes-over-all"]


def table(n: int, *, failed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(0)
    rows = [
        {
            "path": f"/x/{k}.apkg",
            "name": f"{k}.apkg",
            "status": "done",
            "size": 1000,
            "decision": "change" if k % 2 else "keep",
            "items": 10 ** (2 + k % 4),
            "reviews_used": 5000,
            "held_out_items": 0,
            "in_sample_new_log_loss": 0.3 + 0.01 * k,
            "in_sample_default_log_loss": 0.31 + 0.01 * k,
            **{f"w{i}": DEFAULTS[i] * random.uniform(0.8, 1.2) for i in range(21)},
        }
        for k in range(n)
    ]
    bad = {
        "name": "bad",
        "size": 0,
        "status": "failed",
        "error": "<script>console.log('ran')</script> is damaged.",
    }
    rows += [{**bad, "path": f"/x/bad{k}"} for k in range(failed)]
    made = _typed(rows)
    text = made.select_dtypes("str").columns
    made[text] = made[text].fillna("")
    return made


def test_means_are_those_of_a_hand_calculation() -> None:
    found = summary(table(4, failed=1))
    loss = found.figures["log_loss"]["new"]
    assert loss.mean == pytest.approx((0.30 + 0.31 + 0.32 + 0.33) / 4)
    assert loss.weighted == pytest.approx((0.30 + 3.1 + 32 + 330) / 1111)
    assert loss.quantiles[1] == pytest.approx(0.315)
    assert (found.done, found.failed, found.change, found.better) == (4, 1, 2, 1.0)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_results_or_none_make_a_page_too(n: int) -> None:
    assert f"<strong>{n}</strong>" in page(table(n, failed=1))


@pytest.mark.parametrize("width", [1000, 390])
def test_it_opens_with_every_picture_and_nothing_cut_off(
    tmp_path: Path, browser: Browser, width: int
) -> None:
    write(table(60, failed=2), tmp_path / "summary.html")
    opened = browser.new_page(viewport={"width": width, "height": 800})
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto((tmp_path / "summary.html").as_uri())
    assert opened.locator("figure").evaluate_all("all => all.map(one => one.id)") == PICTURES
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    outside = opened.evaluate(
        """() => [...document.querySelectorAll('.picture svg')].filter(svg => svg.checkVisibility())
            .flatMap(svg => { const box = svg.getBoundingClientRect();
                return [...svg.querySelectorAll('text')].filter(text => {
                    const at = text.getBoundingClientRect();
                    return at.left < box.left - 2 || at.right > box.right + 2;
                }).map(text => text.textContent); })"""
    )
    assert outside == []
    assert opened.locator("#failed td").first.inner_text().startswith("<script>")
    assert said == []
    opened.close()

"""One report of the sample collection for all tests, and a real browser to open it in."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fsrs_opt.commands.as_json_evaluation import evaluated
from fsrs_opt.commands.evaluate import Evaluated
from fsrs_opt.report.files import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--no-sandbox",  # Chromium refuses to run as root with it
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@dataclass(frozen=True)
class Made:
    """A report, and the JSON object of the same run."""

    page: Path
    plots: Path
    found: Evaluated
    json: dict[str, Any]


@pytest.fixture(scope="session")
def sample(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The report of the sample collection with its pictures as SVG files."""
    folder = tmp_path_factory.mktemp("report")
    page, plots = folder / "report.html", folder / "plots"
    found = write_report(data / "sample.colpkg", page, plots=plots)
    return Made(page, plots, found, evaluated(found))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium as the system has it; skips where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("there is no Chromium here (on Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()

"""The report's files: the page, and the pictures in a folder of their own. Each is whole or not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsrs_opt.commands.atomic_file import check_target, replacing
from fsrs_opt.errors import UsageError
from fsrs_opt.report import style, svg
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.page import page
from fsrs_opt.report.parts import Section
from fsrs_opt.report.pictures.intervals import MOST_PRESETS
from fsrs_opt.report.sections import pictures, sections

if TYPE_CHECKING:
    from fsrs_opt.commands.evaluate import Evaluated
    from fsrs_opt.sources.collection import Collection

NAMES = (
    *("reviews", "calibration", "by-interval", "by-number", "forgetting", "growth", "parameters", "learning"),
    "intervals",
    *(f"intervals-{k}" for k in range(1, MOST_PRESETS + 1)),
)
"""What the pictures can be called; which of them there are depends on the reviews."""


def default_target(source: Path) -> Path:
    """The page of a file, in the folder one is in: `sample.colpkg` gives `sample-report.html`."""
    return Path(f"{source.stem or 'fsrs'}-report.html")


def check(
    target: Path | None, source: Path | None, *, force: bool, plots: Path | None = None, form: str = "svg"
) -> None:
    """Whether the report can be made and written, asked before any long work.

    target: the page, None for none. plots: the folder for pictures, which is made where it does not exist.
    Raises UsageError for a target, FsrsOptError where matplotlib is missing.
    """
    style.check_there()
    if target is not None:
        check_target(target, source, force=force)
    if plots is None:
        return
    if form not in svg.FORMATS:
        raise UsageError(f"pictures are written as {' or '.join(svg.FORMATS)}, not as {form!r}")
    if plots.exists() and not plots.is_dir():
        raise UsageError(f"{plots} is not a folder: give the name of a folder for the pictures")
    if not plots.exists() and not plots.parent.is_dir():
        raise UsageError(f"the folder {plots.parent} does not exist: make it first")
    if plots.is_dir():
        for name in NAMES:
            check_target(plots / f"{name}.{form}", source, force=force)


def write(
    findings: Findings, target: Path | None, *, plots: Path | None = None, form: str = "svg"
) -> tuple[Path, ...]:
    """Write the page and the pictures, replacing what is there. Returns the paths of the pictures."""
    parts = sections(findings)
    if target is not None:
        text = page(findings, parts)
        with replacing(target) as part:
            part.write_text(text, "utf-8")
    return () if plots is None else _write_plots(parts, plots, form)


def _write_plots(parts: tuple[Section, ...], folder: Path, form: str) -> tuple[Path, ...]:
    folder.mkdir(exist_ok=True)
    written = []
    for picture in pictures(parts):
        if picture.draw is None:
            continue
        target = folder / f"{picture.name}.{form}"
        with replacing(target) as part:
            svg.save(picture, part, form)
        written.append(target)
    return tuple(written)


def write_report(
    source: str | Path | Collection,
    target: str | Path,
    *,
    plots: str | Path | None = None,
    form: str = "svg",
    force: bool = False,
    **options: Any,
) -> Evaluated:
    """Evaluate a collection and write its report. Returns what was found.

    target: the page. plots, form: a folder for the pictures, and "svg" or "png". force: replace what is
    there. options: those of `fsrs_opt.evaluate`, whose errors it raises too.
    Raises UsageError for a target that cannot be written, FsrsOptError where matplotlib is missing.
    """
    from fsrs_opt.commands.evaluate import evaluate

    page_at, folder = Path(target), None if plots is None else Path(plots)
    of = Path(source) if isinstance(source, str | Path) else source.source.path
    check(page_at, of, force=force, plots=folder, form=form)
    found = evaluate(source, **options)
    write(Findings(found), page_at, plots=folder, form=form)
    return found

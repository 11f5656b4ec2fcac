"""The report's files: the page, and the pictures in a folder of their own. Each is whole or not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsrs_opt.atomic_file import replacing
from fsrs_opt.commands.evaluate import evaluate
from fsrs_opt.report import svg, targets
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.page import page
from fsrs_opt.report.parts import Picture
from fsrs_opt.report.sections import pictures, sections

if TYPE_CHECKING:
    from fsrs_opt.commands.evaluate import Evaluated
    from fsrs_opt.sources.collection import Collection


def write_report(
    source: str | Path | Collection,
    target: str | Path,
    *,
    plots: str | Path | None = None,
    form: str = targets.FORMATS[0],
    force: bool = False,
    **options: Any,
) -> Evaluated:
    """Evaluate a collection and write its report. Returns what was found.

    target: the page. plots, form: a folder for the pictures, and "svg" or "png". force: replace what is
    there. options: those of `fsrs_opt.evaluate`, whose errors it raises too.
    Raises UsageError for a target that cannot be written, FsrsOptError where matplotlib is missing.
    """
    page_at, folder = Path(target), None if plots is None else Path(plots)
    origin = Path(source) if isinstance(source, str | Path) else source.source.path
    targets.check(page_at, origin, force=force, plots=folder, form=form)
    found = evaluate(source, **options)
    write(found, page_at, plots=folder, form=form)
    return found


def write(
    found: Evaluated, target: Path, *, plots: Path | None = None, form: str = targets.FORMATS[0]
) -> tuple[Path, ...]:
    """Write the page, and the pictures to a folder, replacing what is there. Returns the paths of the
    pictures."""
    findings = Findings(found)
    parts = sections(findings)
    text = page(findings, parts)
    with replacing(target) as part:
        part.write_text(text, "utf-8")
    if plots is None:
        return ()
    plots.mkdir(exist_ok=True)
    written = []
    for picture in pictures(parts):
        if picture.draw is not None:
            picture_at = plots / f"{picture.name}.{form}"
            with replacing(picture_at) as part:
                svg.save(picture, part, form)
            written.append(picture_at)
    return tuple(written)


def write_picture(picture: Picture, target: Path) -> None:
    """Write one picture as the ending of its name says, replacing what is there."""
    with replacing(target) as part:
        svg.save(picture, part, targets.picture_format(target))

"""The report as one HTML page that needs nothing from anywhere else."""

from __future__ import annotations

import os

from fsrs_opt.commands.selected import selected, sentences, what
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.headline import headline
from fsrs_opt.report.parts import Section
from fsrs_opt.report.render import render
from fsrs_opt.report.sections import sections


def page(findings: Findings, parts: tuple[Section, ...] | None = None) -> str:
    """The page. The same findings give the same text.

    parts: `sections(findings)`, where they are at hand already.
    """
    parts = sections(findings) if parts is None else parts
    collection = findings.run.collection
    return render(
        "page.html.jinja",
        file=_file_name(os.fspath(collection.source.path)),
        days=collection.day.describe() if "day" not in collection.log else "",
        headline=headline(findings),
        sections=parts,
        messages=tuple(dict.fromkeys((*_selection(findings), *findings.run.messages))),
    )


def _selection(findings: Findings) -> list[str]:
    """What was selected; nothing for a table of reviews."""
    run = findings.run
    seen = selected(run.collection, run.histories, run.data.items)
    chosen = what(seen.selection)
    return [*([f"Selected: {chosen}."] if chosen else []), *sentences(seen)]


def _file_name(path: str) -> str:
    """The name alone, not where the file lies. Bytes that are no text become question marks."""
    return os.path.basename(path).encode("utf-8", "replace").decode("utf-8")

"""The report as one HTML page that needs nothing from anywhere else."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

from fsrs_opt import __version__
from fsrs_opt.report import svg
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.headline import headline
from fsrs_opt.report.parts import Picture, Section
from fsrs_opt.report.sections import sections

_TERM = re.compile(r"\*([^*]+)\*")


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
        messages=tuple(dict.fromkeys(findings.run.messages)),
    )


def render(template: str, **values: Any) -> str:
    """A page from one of the templates here, which fill in layout.html.jinja."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    here = files("fsrs_opt.report")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(lambda name: (here / name).read_text("utf-8")),
    )
    environment.filters["terms"] = _terms
    environment.filters["drawn"] = _drawn
    environment.tests["picture"] = lambda part: isinstance(part, Picture)
    css = Markup((here / "page.css").read_text("utf-8"))
    return environment.get_template(template).render(css=css, version=__version__, **values)


def _terms(text: str) -> Markup:
    """A sentence of ours, with *terms* that it explains."""
    return Markup(_TERM.sub(r"<dfn>\1</dfn>", str(escape(text))))


def _drawn(picture: Picture) -> Markup:
    return Markup(svg.inline(picture, wide=True) + svg.inline(picture, wide=False))


def _file_name(path: str) -> str:
    """The name alone, not where the file lies. Bytes that are no text become question marks."""
    return os.path.basename(path).encode("utf-8", "replace").decode("utf-8")

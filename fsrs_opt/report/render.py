"""Pages from the templates here: one HTML file each, that needs nothing from anywhere else."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

from fsrs_opt import __version__
from fsrs_opt.report import svg
from fsrs_opt.report.parts import Picture

_TERM = re.compile(r"\*([^*]+)\*")


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

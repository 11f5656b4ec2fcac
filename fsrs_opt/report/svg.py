"""A figure as text for the page, and as a file. The same figure gives the same bytes."""

from __future__ import annotations

import io
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from fsrs_opt.report import style
from fsrs_opt.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PNG_DPI = 200
_NO_DATE = {"Date": None, "Creator": None, "Format": None, "Type": None}
_HEAD = re.compile(r"^.*?<svg [^>]*?viewBox=\"([^\"]+)\"[^>]*>", re.DOTALL)
_STYLE_SHEET = re.compile(r"<style type=\"text/css\">.*?</style>", re.DOTALL)
_FONT = re.compile(r"font-family: [^;\"]+")
_TAG = re.compile(r"<[^>]*>")
_DECIMALS = re.compile(r"(\d+\.\d\d)\d+")
_LOCAL_NAME = re.compile(r"(\bid=\"|href=\"#|url\(#)")
_GROUP = re.compile(r"<g id=\"[^\"]*\">")
_VARIABLES = {colour: f"var(--{name})" for name, colour in style.COLOURS.items()}
_COLOUR = re.compile("|".join(_VARIABLES))


def inline(picture: Picture, *, wide: bool) -> str:
    """The picture as an <svg> element whose colours and font are those of the page around it.

    Raises ValueError where it has nothing to draw.
    """
    svg = _svg(picture, wide=wide)
    head = _HEAD.match(svg)
    if head is None:
        raise ValueError("matplotlib wrote an SVG file of a form that is not known here")
    layout = "wide" if wide else "narrow"
    body = _STYLE_SHEET.sub("", svg[head.end() :])
    body = _FONT.sub("font-family: inherit", body)
    body = _GROUP.sub("<g>", body)  # names that nothing refers to
    body = _TAG.sub(lambda tag: _DECIMALS.sub(r"\1", tag[0]), body)  # of coordinates, not of labels
    body = _LOCAL_NAME.sub(rf"\g<1>{picture.name}-{layout}-", body.replace("xlink:href", "href"))
    body = _COLOUR.sub(lambda found: _VARIABLES[found[0]], body)
    label = escape(f"Picture: {picture.title}. Its numbers are in the table that follows.")
    return f'<svg class="{layout}" viewBox="{head[1]}" role="img" aria-label="{label}">{body}'.rstrip()


def save(picture: Picture, target: Path, form: str) -> None:
    """Write the picture to a file, "svg" or "png" (200 dots an inch), on white."""
    if form == "svg":
        target.write_text(_svg(picture, wide=True, paper=style.PAPER), "utf-8")
        return
    with style.applied():
        _drawn(picture, wide=True).savefig(
            target, format="png", dpi=_PNG_DPI, facecolor=style.PAPER, metadata={"Software": None}
        )


def _svg(picture: Picture, *, wide: bool, paper: str = "none") -> str:
    written = io.StringIO()
    with style.applied():
        _drawn(picture, wide=wide).savefig(written, format="svg", facecolor=paper, metadata=_NO_DATE)
    return written.getvalue()


def _drawn(picture: Picture, *, wide: bool) -> Figure:
    if picture.draw is None:
        raise ValueError(f"picture {picture.name} has nothing to draw: {picture.reason}")
    return picture.draw(wide)

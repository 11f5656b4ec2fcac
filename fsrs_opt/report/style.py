"""How pictures look: colours by role, shapes that tell the same without colour, and quiet axes.

Every colour stands for one role. On the page the roles become CSS variables (`fsrs_opt.report.svg`), so that
one drawing serves light and dark; a picture in a file keeps the light colours.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER, INK, MUTED, GRID = "#fffffe", "#1c2128", "#57606b", "#dfe3e8"
NEW, OTHER, PLAIN = "#0067a6", "#b54a00", "#6b7480"
SOFT, PALE = "#8fc1e3", "#c3c9d0"

COLOURS = {
    "paper": PAPER,
    "ink": INK,
    "muted": MUTED,
    "grid": GRID,
    "new": NEW,
    "other": OTHER,
    "plain": PLAIN,
    "soft": SOFT,
    "pale": PALE,
}
"""By the names of the page's CSS variables; after the palette of Okabe and Ito, darkened for white paper."""

WIDE, NARROW = 7.2, 3.6  # inches; on the page 100 CSS pixels each

NEW_LINE: dict[str, Any] = {"color": NEW, "linewidth": 2.0, "linestyle": "-", "zorder": 4}
OTHER_LINE: dict[str, Any] = {"color": OTHER, "linewidth": 1.5, "linestyle": (0, (5, 2)), "zorder": 3}
NEW_MARK: dict[str, Any] = {"marker": "o", "markersize": 5, "markerfacecolor": NEW, "markeredgecolor": NEW}
OTHER_MARK: dict[str, Any] = {
    "marker": "s",
    "markersize": 5,
    "markerfacecolor": PAPER,
    "markeredgecolor": OTHER,
    "markeredgewidth": 1.4,
}

_RC: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "fsrs-opt",
    "text.parse_math": False,
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "legend.fontsize": 9,
    "axes.titlelocation": "left",
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": PLAIN,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.unicode_minus": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": PLAIN,
    "ytick.color": PLAIN,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "legend.borderaxespad": 0.0,
    "hatch.linewidth": 0.7,
}


@contextmanager
def applied() -> Iterator[None]:
    """Inside, figures are made and saved in this style, whatever matplotlib's settings are outside."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        # a deck's name in letters that no font here has is no reason to write on the terminal
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


def figure(wide: bool, height: float, narrow_height: float | None = None) -> Figure:
    """An empty figure; heights in inches, the second for a phone."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(
        figsize=(WIDE if wide else NARROW, height if wide or narrow_height is None else narrow_height),
        layout=ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.04, wspace=0.04, hspace=0.05),
        facecolor="none",
    )


def label(axes: Axes, *, x: str = "", y: str = "") -> None:
    """What the axes show; the vertical one is named above it, where it is read without turning the head."""
    axes.set_xlabel(x)
    axes.set_title(y, color=MUTED)


def percent_axis(axes: Axes, *, x: bool = False) -> None:
    """Shares 0..1 as percent."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    for axis in (axes.yaxis, *((axes.xaxis,) if x else ())):
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
        axis.set_major_formatter(PercentFormatter(1, symbol=" %", decimals=0))


def legend(made: Figure, handles: list[Any], *, wide: bool) -> None:
    """One legend above all axes, in a row on a wide page and in a column on a phone."""
    made.legend(
        handles=handles,
        loc="outside upper left",
        ncols=len(handles) if wide else 1,
        columnspacing=1.6,
        labelcolor=INK,
    )


def new_handle(text: str = "new parameters", *, mark: bool = True) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=text, **NEW_LINE, **(NEW_MARK if mark else {}))


def other_handle(text: str, *, mark: bool = True) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=text, **OTHER_LINE, **(OTHER_MARK if mark else {}))

"""The advice on decks at a glance: what parameters of its own would bring each deck, group by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fsrs_opt.commands.advise import Advised, UnitAdvice
from fsrs_opt.evaluation.paired import SURPRISES_PER_NAT
from fsrs_opt.report import style
from fsrs_opt.report.parts import Picture, Table
from fsrs_opt.report.wording import NONE, counted, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "groups"

MOST_ROWS = 40
_WIDTH = 5.0  # inches: where a phone shows it in its full width, the letters can still be read
_ROW, _AROUND = 0.4, 1.35
_LETTERS_AN_INCH = 12
_FOR_OTHER_SCRIPTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Hiragino Sans", "Yu Gothic"),
    *("Microsoft YaHei", "PingFang SC", "WenQuanYi Zen Hei", "IPAGothic", "Arial Unicode MS", "Unifont"),
)

_Row = tuple[float, UnitAdvice | str]


def groups(found: Advised) -> Picture:
    """Every deck with its gain and interval, sorted into the groups of the advice."""
    what = "deck" if found.by == "deck" else "preset"

    def draw(wide: bool) -> Figure:
        return _draw(found, what, _WIDTH if wide else style.NARROW)

    return Picture(NAME, f"Parameters of its own for each {what}?", found.sentences[0], _table(found), draw)


def _draw(found: Advised, what: str, width: float) -> Figure:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = _rows(found, what)
    depth = -rows[-1][0] + 1
    mpl.rcParams["font.family"] = _fonts()  # inside `style.applied`, which puts it back
    made = Figure(figsize=(width, _ROW * depth + _AROUND), layout="constrained", facecolor="none")
    axes = made.subplots()
    low, high = _limits(found)
    axes.set_xlim(low, high)
    axes.set_ylim(-depth + 0.25, 0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
    axes.axvline(0, color=style.PLAIN, linewidth=1.0, zorder=2)
    letters = int(width * _LETTERS_AN_INCH)
    for y, row in rows:
        if isinstance(row, str):
            _text(axes, 0, y, row, color=style.INK, weight="bold")
        else:
            _unit(axes, y, row, letters)
    axes.set_xlabel(
        f"← shared are better      the {what}'s own are better →\nfewer surprises in 1,000 reviews of the {what}"
    )
    n = len(found.groups)
    head = f"One set of parameters for all {what}s" if n == 1 else f"{n} sets of parameters"
    made.suptitle(head, x=0.02, ha="left", fontsize=12, weight="bold", color=style.INK)
    axes.set_title(
        f"What parameters of its own would bring each {what}, against\none set for all, on cards that they had"
        " not seen (95 % intervals)",
        color=style.MUTED,
        fontsize=8.5 if width >= _WIDTH else 6.8,
        pad=8,
    )
    return made


def _rows(found: Advised, what: str) -> list[_Row]:
    """What is written or drawn at which height, downwards from 0."""
    rows: list[_Row] = []
    y, left = 0.0, MOST_ROWS
    for k, group in enumerate(found.groups):
        if len(found.groups) > 1:
            rows.append((y, f"Group {k + 1}: {counted(group.n_items, 'item')}"))
            y -= 1
        shown = sorted((found.units[unit] for unit in group.units), key=lambda one: -one.unit.n_items)
        most = max(left, 1)
        rows += [(y - place, one) for place, one in enumerate(shown[:most])]
        y -= min(len(shown), most)
        left -= min(len(shown), most)
        if len(shown) > most:
            rows.append((y, f"and {counted(len(shown) - most, f'more {what}')}"))
            y -= 1
        y -= 0.3
    return rows


def _unit(axes: Axes, y: float, one: UnitAdvice, letters: int) -> None:
    name = _plain(one.unit.name)
    items = counted(one.unit.n_items, "item")
    room = letters - len(items)
    if len(name) > room:
        name = f"…{name[-room + 1 :]}"  # the deck itself stands at the end
    _text(axes, 0, y, name, color=style.INK)
    _text(axes, 1, y, items, color=style.MUTED, ha="right")
    at = y - 0.38
    if one.gain is None:
        _text(axes, 0, at - 0.05, "too few to judge", color=style.MUTED, style="italic", size=8)
        return
    mean, low, high = (nats * SURPRISES_PER_NAT for nats in (one.gain.mean, one.gain.low, one.gain.high))
    sure = low > 0
    colour = style.NEW if sure else style.OTHER if high < 0 else style.PLAIN
    left, right = axes.get_xlim()
    axes.plot([max(low, left), min(high, right)], [at, at], color=colour, linewidth=2.2, zorder=3)
    for beyond, end, mark in ((low < left, left, "<"), (high > right, right, ">")):
        if beyond:
            axes.plot([end], [at], marker=mark, color=colour, markersize=6, clip_on=False, zorder=4)
    if left <= mean <= right:
        axes.plot(
            [mean],
            [at],
            marker="o",
            markersize=6.5,
            color=colour,
            markerfacecolor=colour if sure else style.PAPER,
            markeredgewidth=1.6,
            zorder=5,
        )


def _text(axes: Axes, x: float, y: float, text: str, *, size: float = 9, **how: Any) -> None:
    """Text at a height of the data, x from 0 (left) to 1 (right)."""
    axes.text(x, y, text, transform=axes.get_yaxis_transform(), va="center", fontsize=size, **how)


def _limits(found: Advised) -> tuple[float, float]:
    """The range of the horizontal axis: all gains, but not all of a very wide interval."""
    gains = [one.gain for one in found.units if one.gain is not None]
    if not gains:
        return -1.0, 1.0
    mean = np.array([gain.mean for gain in gains]) * SURPRISES_PER_NAT
    half = np.array([(gain.high - gain.low) / 2 for gain in gains]) * SURPRISES_PER_NAT
    usual = 2 * float(np.median(half))
    low = min(-1.0, float(np.maximum(mean - half, mean - usual).min()))
    high = max(1.0, float(np.minimum(mean + half, mean + usual).max()))
    room = 0.05 * (high - low)
    return low - room, high + room


def _fonts() -> list[str]:
    """The usual font, and those at hand for letters that it does not have."""
    from matplotlib import font_manager

    there = set(font_manager.get_font_names())
    return ["DejaVu Sans", *(name for name in _FOR_OTHER_SCRIPTS if name in there)]


def _plain(name: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)


def _table(found: Advised) -> Table:
    what = "Deck" if found.by == "deck" else "Preset"
    rows = []
    for one in found.units:
        figures = (NONE,) * 3
        if one.gain is not None:
            three = (one.gain.mean, one.gain.low, one.gain.high)
            figures = tuple(number(nats * SURPRISES_PER_NAT, 1) for nats in three)
        rows.append((one.unit.name, f"{one.unit.n_items:,}", *figures, str(one.group + 1)))
    columns = (what, "Items", "Fewer surprises in 1,000 reviews", "from", "to", "Group")
    caption = f"What parameters of its own bring each {what.lower()}, against one set for all"
    return Table(caption, columns, tuple(rows))

"""The advice on decks at a glance: what parameters of its own would bring each deck, group by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fsrs_opt.commands.advise import Advised
from fsrs_opt.evaluation.paired import SURPRISES_PER_NAT, PairedDifference
from fsrs_opt.report import style
from fsrs_opt.report.parts import Picture, Table
from fsrs_opt.report.wording import NONE, counted, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "groups"

MOST_ROWS = 40
_WIDTH = 5.0  # inches: where a phone shows it in its full width, the letters can still be read
_ROW, _AROUND = 0.42, 1.3
_LETTERS_AN_INCH = 12
_FOR_OTHER_SCRIPTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Hiragino Sans", "Yu Gothic"),
    *("Microsoft YaHei", "PingFang SC", "WenQuanYi Zen Hei", "IPAGothic", "Arial Unicode MS", "Unifont"),
)


@dataclass(frozen=True)
class _Row:
    """A line of the picture at height `y`. items: None for a remark. gain: None where it was not judged."""

    y: float
    name: str
    items: int | None = None
    gain: PairedDifference | None = None
    mark: str = ""


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
    depth = 1 - rows[-1].y
    mpl.rcParams["font.family"] = _fonts()  # inside `style.applied`, which puts it back
    made = Figure(figsize=(width, _ROW * depth + _AROUND), layout="constrained", facecolor="none")
    axes = made.subplots()
    axes.set_xlim(*_limits(found))
    axes.set_ylim(-depth + 0.3, 0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
    axes.axvline(0, color=style.PLAIN, linewidth=1.0, zorder=2)
    for row in rows:
        _row(axes, row, int(width * _LETTERS_AN_INCH))
    wide = width >= _WIDTH
    axes.set_xlabel(
        f"← shared are better   {'   ' * wide}the {what}'s own are better →\n"
        f"fewer surprises in 1,000 reviews{f' of the {what}' if wide else ''}"
    )
    n = len(found.groups)
    head = f"One set of parameters for all {what}s" if n == 1 else f"{n} sets of parameters"
    head += ", divided as now" if found.as_now and n > 1 else ""
    axes.set_title(
        f"What parameters of its own would bring each {what},\n"
        f"against one set for all, on cards {'that they had not' if wide else 'not'} seen"
        f"{' ' if wide else chr(10)}(bars: 95 % intervals)",
        color=style.MUTED,
        fontsize=8.5,
        pad=8,
    )
    made.suptitle(head, x=0.01, ha="left", fontsize=12, weight="bold", color=style.INK)
    return made


def _rows(found: Advised, what: str) -> list[_Row]:
    """From top to bottom: each group, where there are several, with its largest decks."""
    rows: list[_Row] = []
    y, left = 0.0, MOST_ROWS
    for k, group in enumerate(found.groups):
        if len(found.groups) > 1:
            rows.append(_Row(y, f"Group {k + 1}: one set", group.n_items, group.gain, "D"))
            y -= 1.1
        largest = sorted((found.units[unit] for unit in group.units), key=lambda one: -one.unit.n_items)
        shown = largest[: max(left, 1)]
        for one in shown:
            rows.append(_Row(y, _plain(one.unit.name), one.unit.n_items, one.gain, "o"))
            y -= 1
        left -= len(shown)
        if len(largest) > len(shown):
            rows.append(_Row(y, f"and {counted(len(largest) - len(shown), f'more {what}')}"))
            y -= 0.8
        y -= 0.25
    return rows


def _row(axes: Axes, row: _Row, letters: int) -> None:
    name, weight = row.name, "bold" if row.mark == "D" else "normal"
    if row.items is not None:
        items = counted(row.items, "item")
        room = letters - len(items)
        if len(name) > room:
            name = f"…{name[-room + 1 :]}"  # the deck itself stands at the end
        _text(axes, 1, row.y, items, color=style.MUTED, ha="right")
    _text(axes, 0, row.y, name, color=style.INK, weight=weight)
    if row.gain is not None:
        _interval(axes, row.y - 0.4, row.gain, row.mark)
    elif row.items is not None:
        _text(axes, 0, row.y - 0.42, "too few to judge", color=style.MUTED, style="italic", size=8)


def _interval(axes: Axes, y: float, gain: PairedDifference, mark: str) -> None:
    """Mean and interval, with an arrow where it goes on outside; filled where it does not reach 0."""
    mean, low, high = (nats * SURPRISES_PER_NAT for nats in (gain.mean, gain.low, gain.high))
    sure = low > 0 or high < 0
    colour = style.NEW if low > 0 else style.OTHER if high < 0 else style.PLAIN
    left, right = axes.get_xlim()
    axes.plot([max(low, left), min(high, right)], [y, y], color=colour, linewidth=2.2, zorder=3)
    for beyond, end, arrow in ((low < left, left, "<"), (high > right, right, ">")):
        if beyond:
            axes.plot([end], [y], marker=arrow, color=colour, markersize=6, clip_on=False, zorder=4)
    if left <= mean <= right:
        axes.plot(
            [mean],
            [y],
            marker=mark,
            markersize=6.5,
            color=colour,
            markerfacecolor=colour if sure else style.PAPER,
            markeredgewidth=1.6,
            zorder=5,
        )


def _text(axes: Axes, x: float, y: float, text: str, *, size: float = 9, **how: Any) -> None:
    """Text at a height of the data, x from 0 (left) to 1 (right)."""
    behind = {"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.0}  # no line runs through a word
    axes.text(
        x, y, text, transform=axes.get_yaxis_transform(), va="center", fontsize=size, bbox=behind, **how
    )


def _limits(found: Advised) -> tuple[float, float]:
    """The range of the horizontal axis: all gains, but not all of a very wide interval."""
    of_groups = [group.gain for group in found.groups]
    gains = [gain for gain in (*(one.gain for one in found.units), *of_groups) if gain is not None]
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
        figures: tuple[str, ...] = (NONE,) * 3
        if one.gain is not None:
            three = (one.gain.mean, one.gain.low, one.gain.high)
            figures = tuple(number(nats * SURPRISES_PER_NAT, 1) for nats in three)
        rows.append((one.unit.name, f"{one.unit.n_items:,}", *figures, str(one.group + 1)))
    columns = (what, "Items", "Fewer surprises in 1,000 reviews", "from", "to", "Group")
    caption = f"What parameters of its own bring each {what.lower()}, against one set for all"
    return Table(caption, columns, tuple(rows))

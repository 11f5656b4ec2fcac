"""Predicted against actual recall, by interval and by number of reviews."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fsrs_opt.report import style
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.grouping import Groups, grouped
from fsrs_opt.report.parts import Picture, Table, missing
from fsrs_opt.report.wording import counted, percent, points, span

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BY_INTERVAL, BY_INTERVAL_TITLE = "by-interval", "Recall by the days since the last review"
BY_NUMBER, BY_NUMBER_TITLE = "by-number", "Recall by the number of reviews"

_INTERVALS = (
    *(1, 2, 3, 4, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 270, 365, 545, 730, 1095),
    *(1460, 1825, 2555, 3650, 7300),
)
_NUMBERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 100)
_DAY_TICKS = ((1, "1"), (3, "3"), (7, "7"), (14, "14"), (30, "30"), (90, "90"), (180, "180"), (365, "1 year"))
_MORE_TICKS = ((730, "2"), (1825, "5"), (3650, "10 years"))


def by_interval(findings: Findings) -> Picture:
    """Groups of items with similar delta_t."""
    if not len(findings.predicted.items):
        return missing(BY_INTERVAL, BY_INTERVAL_TITLE, "there are no items")
    groups = grouped(findings.predicted, findings.predicted.items.delta_t, _INTERVALS)
    names = [_of_days(lowest, highest) for lowest, highest in _spans(groups)]

    def draw(wide: bool) -> Figure:
        made = _figure(findings, groups, groups.middle.tolist(), wide)
        ax = made.axes[0]
        ax.set_xscale("log")
        longest, shortest = float(groups.middle[-1]), float(groups.middle[0])
        ticks = [tick for tick in (*_DAY_TICKS, *_MORE_TICKS) if shortest * 0.7 <= tick[0] <= longest * 1.3]
        ax.set_xticks([at for at, _ in ticks], [text for _, text in ticks])
        ax.minorticks_off()
        ax.set_xlim(shortest / 1.25, longest * 1.25)
        ax.set_xlabel("days since the last review")
        return made

    where = [f"after {name}" for name in names]
    return Picture(
        BY_INTERVAL,
        BY_INTERVAL_TITLE,
        _caption(findings, groups, where),
        _table(findings, groups, names, BY_INTERVAL_TITLE, "Days since the last review"),
        draw,
    )


def by_number(findings: Findings) -> Picture:
    """Groups of items with a similar long-term count."""
    if not len(findings.predicted.items):
        return missing(BY_NUMBER, BY_NUMBER_TITLE, "there are no items")
    groups = grouped(findings.predicted, findings.predicted.items.long_term_count, _NUMBERS)
    names = [span(lowest, highest) for lowest, highest in _spans(groups)]

    def draw(wide: bool) -> Figure:
        made = _figure(findings, groups, list(range(len(groups))), wide)
        ax = made.axes[0]
        few = wide or len(names) <= 8
        ax.set_xticks(range(len(names)), [name if few or not k % 2 else "" for k, name in enumerate(names)])
        ax.set_xlim(-0.5, len(names) - 0.5)
        ax.set_xlabel("which review on a later day it is for the card")
        return made

    where = [
        f"at review {name}" if lo == hi else f"at reviews {name}" for name, (lo, hi) in _named(names, groups)
    ]
    return Picture(
        BY_NUMBER,
        BY_NUMBER_TITLE,
        _caption(findings, groups, where),
        _table(findings, groups, names, BY_NUMBER_TITLE, "Review number"),
        draw,
    )


def _spans(groups: Groups) -> list[tuple[int, int]]:
    return list(zip(groups.lowest.tolist(), groups.highest.tolist(), strict=True))


def _named(names: list[str], groups: Groups) -> list[tuple[str, tuple[int, int]]]:
    return list(zip(names, _spans(groups), strict=True))


def _of_days(lowest: int, highest: int) -> str:
    return f"{span(lowest, highest)}\N{NO-BREAK SPACE}day{'' if highest == 1 else 's'}"


def _figure(findings: Findings, groups: Groups, x: list[float], wide: bool) -> Figure:
    from matplotlib.lines import Line2D

    made = style.figure(wide, 2.9, 3.4)
    ax = made.subplots()
    actual: dict[str, Any] = {
        "color": style.INK,
        "marker": "D",
        "markersize": 5,
        "markerfacecolor": style.PAPER,
    }
    ax.vlines(x, groups.low, groups.high, color=style.INK, linewidth=1.2, zorder=5)
    ax.plot(x, groups.actual, linestyle="", zorder=6, **actual)
    ax.plot(x, groups.other, **style.OTHER_LINE, **style.OTHER_MARK)
    ax.plot(x, groups.new, **style.NEW_LINE, **style.NEW_MARK)
    style.label(ax, y="recall")
    style.percent_axis(ax)
    lowest = float(min(groups.low.min(), groups.new.min(), groups.other.min()))
    highest = float(max(groups.high.max(), groups.new.max(), groups.other.max()))
    room = 0.1 * max(highest - lowest, 0.1)
    ax.set_ylim(max(0.0, lowest - room), min(1.005, highest + room))
    other = "predicted: current" if findings.run.current else "predicted: defaults"
    handles = [
        Line2D([], [], linestyle="", label="recalled, with the range of chance", **actual),
        style.new_handle("predicted: new"),
        style.other_handle(other),
    ]
    style.legend(made, handles, wide=wide)
    return made


def _caption(findings: Findings, groups: Groups, where: list[str]) -> str:
    off_new, off_other = np.abs(groups.new - groups.actual), np.abs(groups.other - groups.actual)
    mean_new, mean_other = (float(np.average(off, weights=groups.count)) for off in (off_new, off_other))
    said = "The reviews are too few for more than one group. "
    if len(groups) > 1:
        said = f"Over these groups the new parameters are off by {points(mean_new)} on average, "
        said += f"{findings.other_words} by {points(mean_other)}. "
    worst = int(np.argmax(off_other))
    said += (
        f"{findings.other_words[0].upper()}{findings.other_words[1:]} miss most {where[worst]}: they predict"
        f" {percent(float(groups.other[worst]))}, the new ones {percent(float(groups.new[worst]))}, and"
        f" {percent(float(groups.actual[worst]))} of {counted(int(groups.count[worst]), 'review')} were"
        " recalled."
    )
    return said


def _table(findings: Findings, groups: Groups, names: list[str], title: str, by: str) -> Table:
    rows = tuple(
        (
            name,
            f"{int(groups.count[k]):,}",
            percent(float(groups.actual[k]), 1),
            f"{percent(float(groups.low[k]), 1)} to {percent(float(groups.high[k]), 1)}",
            percent(float(groups.new[k]), 1),
            percent(float(groups.other[k]), 1),
        )
        for k, name in enumerate(names)
    )
    other = "Predicted by current" if findings.run.current else "Predicted by the defaults"
    columns = (by, "Reviews", "Recalled", "Range of chance (90 %)", "Predicted by new", other)
    return Table(title, columns, rows)

"""Calibration: what was predicted against what happened."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fsrs_opt.evaluation.calibration import Calibration, Reliability, wilson
from fsrs_opt.report import style
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Picture, Table, missing
from fsrs_opt.report.wording import NONE, counted, percent, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST_BIN = 10  # items

NAME, TITLE = "calibration", "Do the predictions come true?"

_TRUE: dict[str, Any] = {"color": style.PLAIN, "linewidth": 1.2, "linestyle": (0, (1, 1.5))}


def calibration(findings: Findings) -> Picture:
    """The reliability curves of the new parameters and of what they are compared with, side by side."""
    said = findings.evaluation
    judged = said.held_out if said.time_series.n_held_out else said.in_sample
    new, other = judged.get("new"), judged.get(findings.other_name)
    if new is None or not len(new.calibration.reliability.count):
        return missing(NAME, TITLE, said.reasons.get("held_out", "there are no items"))
    of_new = coarser(new.calibration)
    of_other = None if other is None else coarser(other.calibration)

    def draw(wide: bool) -> Figure:
        return _draw(findings, of_new, of_other, wide)

    return Picture(
        NAME, TITLE, _caption(findings, of_new, of_other), _table(findings, of_new, of_other), draw
    )


def coarser(of: Calibration) -> Calibration:
    """The same with neighbouring bins put together until each holds enough items to be looked at."""
    curve = of.reliability
    filled = np.cumsum(curve.count) - curve.count  # items before the bin
    total = int(curve.count.sum())
    smallest = min(SMALLEST_BIN, total)
    starts = [0]
    for k in range(1, len(curve.count)):
        if filled[k] - filled[starts[-1]] >= smallest and total - filled[k] >= smallest:
            starts.append(k)
    if len(starts) == len(curve.count):
        return of
    count = np.add.reduceat(curve.count, starts)
    actual = np.add.reduceat(curve.actual * curve.count, starts) / count
    low, high = wilson(actual, count)
    together = Reliability(
        count=count,
        predicted=np.add.reduceat(curve.predicted * curve.count, starts) / count,
        actual=actual,
        low=low,
        high=high,
        lowest=curve.lowest[starts],
        highest=np.maximum.reduceat(curve.highest, starts),
    )
    return replace(of, reliability=together)


def _draw(findings: Findings, new: Calibration, other: Calibration | None, wide: bool) -> Figure:
    from matplotlib.lines import Line2D

    both = [(new, "new parameters", True)]
    if other is not None:
        both.append((other, "current parameters" if findings.run.current else "defaults", False))
    made = style.figure(wide, 4.0, 3.5 * len(both) + 0.4)
    axes = made.subplots(1, 2) if wide else made.subplots(len(both), 1, squeeze=False)
    shown = [each for each, _, _ in both]
    lowest = min(float(np.minimum(c.reliability.low, c.reliability.predicted).min()) for c in shown)
    lowest = max(0.0, min(lowest, 0.9) - 0.03)
    for ax in axes.flat[len(both) :]:
        ax.set_axis_off()
    for ax, (each, title, is_new) in zip(axes.flat, both, strict=False):
        _panel(ax, each, title, is_new, lowest)
    dotted = Line2D([], [], label="where predictions come true", **_TRUE)
    bar = Line2D([], [], color=style.INK, linewidth=1.2, label="range of chance (90 %)")
    style.legend(made, [dotted, bar], wide=wide)
    return made


def _panel(ax: Axes, of: Calibration, title: str, is_new: bool, lowest: float) -> None:
    curve = of.reliability
    colour = style.NEW if is_new else style.OTHER
    mark = style.NEW_MARK if is_new else style.OTHER_MARK
    ax.plot([0, 1], [0, 1], **_TRUE)
    ax.vlines(curve.predicted, curve.low, curve.high, color=colour, linewidth=1.2)
    ax.plot(curve.predicted, curve.actual, linestyle="", color=colour, **mark)
    ax.set_xlim(lowest, 1.005)
    ax.set_ylim(lowest, 1.005)
    ax.set_aspect("equal", anchor="NW")
    ax.set_title(title, color=style.INK, weight="bold", pad=16)
    ax.text(0, 1.02, "recalled", transform=ax.transAxes, color=style.MUTED)
    ax.set_xlabel("predicted recall")
    style.percent_axis(ax, x=True)


def _caption(findings: Findings, new: Calibration, other: Calibration | None) -> str:
    curve = new.reliability
    said = [
        f"Over {findings.predicted.basis}, the new parameters predicted"
        f" {percent(new.predicted, 1)} recall on average; {percent(new.actual, 1)} were recalled."
    ]
    if new.ici is not None:
        typical = f"A prediction is typically off by {points(new.ici)}"
        if other is not None and other.ici is not None:
            typical += f" (with {findings.other_words}: {points(other.ici)})"
        said.append(typical + ".")
    clear = (curve.predicted < curve.low) | (curve.predicted > curve.high)
    if clear.any():
        worst = int(np.argmax(np.where(clear, np.abs(curve.predicted - curve.actual), -1)))
        said.append(
            f"Farthest from the dotted line: of {counted(int(curve.count[worst]), 'review')} predicted at"
            f" about {percent(float(curve.predicted[worst]))}, {percent(float(curve.actual[worst]))} were"
            " recalled."
        )
    else:
        said.append(
            "All points agree with the dotted line, which is where predictions come true, up to chance."
        )
    return " ".join(said)


def _table(findings: Findings, new: Calibration, other: Calibration | None) -> Table:
    rows = []
    name = findings.other_name
    for who, each in (("new", new), (name, other)):
        if each is None:
            continue
        curve = each.reliability
        rows += [
            (
                who,
                f"{percent(float(curve.lowest[k]), 1)} to {percent(float(curve.highest[k]), 1)}",
                f"{int(curve.count[k]):,}",
                percent(float(curve.predicted[k]), 1),
                percent(float(curve.actual[k]), 1),
                f"{percent(float(curve.low[k]), 1)} to {percent(float(curve.high[k]), 1)}",
            )
            for k in range(len(curve.count))
        ]
    columns = (
        "Parameters",
        "Predicted between",
        "Reviews",
        "Predicted",
        "Recalled",
        "Range of chance (90 %)",
    )
    return Table(f"{TITLE} Predicted and actual recall", columns, tuple(rows) or ((NONE,) * 6,))

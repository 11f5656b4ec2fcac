"""Reviews over time, and which of them are not used."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.commands.dates import review_dates
from fsrs_opt.report import style
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Picture, Table, missing
from fsrs_opt.report.wording import counted, listed, percent
from fsrs_opt.reviews import log as review_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch

NAME, TITLE = "reviews", "Your reviews over time"

_PARTS = (
    ("predicted", "predicted: on a later day", style.NEW, ""),
    ("same day", "first answers, same-day repeats", style.SOFT, ""),
    ("history", "left out: the card's start is missing", style.PAPER, "////"),
    ("no answer", "left out: previews, no answer", style.PAPER, "xxxx"),
)
_DAYS_UPTO, _WEEKS_UPTO, _MONTHS_UPTO = 62, 400, 2200  # days shown in bars of a day, a week, a month
_WEEK_EPOCH = 3  # 1970-01-01 was a Thursday: weeks begin on Mondays

_TICKS = (
    *(("D", step) for step in (1, 2, 7, 14)),
    *(("M", step) for step in (1, 2, 3, 6)),
    *(("Y", step) for step in (1, 2, 5, 10, 20, 50)),
)
"""Distances of the ticks of a date axis, from the closest on."""

FloatArray = npt.NDArray[np.float64]
Days = npt.NDArray[np.datetime64[Any]]


@dataclass(frozen=True)
class Amounts:
    """Rows of the log in periods. start: datetime64[D] [n_periods]; width: days of each. parts: int64
    [4, n_periods], of `_PARTS`. unit: "day", "week", "month" or "year". dated: False where the file numbers
    days without telling dates (the dates then only keep the order)."""

    start: Days
    width: npt.NDArray[np.int64]
    parts: npt.NDArray[np.int64]
    unit: str
    dated: bool


def reviews(findings: Findings) -> Picture:
    """A bar for each day, week, month or year: what is used and what is left out."""
    log = findings.run.collection.log
    if not len(log):
        return missing(NAME, TITLE, "the file holds no reviews")
    amounts = _amounts(findings)

    def draw(wide: bool) -> Figure:
        return _draw(findings, amounts, wide)

    return Picture(NAME, TITLE, _caption(findings, amounts), _table(amounts), draw)


def _amounts(findings: Findings) -> Amounts:
    log, past = findings.run.collection.log, findings.run.histories
    day = findings.run.collection.day
    dated = "day" not in log
    kind, rating = log["kind"], log["rating"]
    answered = (rating >= 1) & (rating <= 4) & (kind >= review_log.LEARNING) & (kind <= review_log.FILTERED)
    if "factor" in log:
        answered &= ~((kind == review_log.FILTERED) & (log["factor"] == 0))

    def dates(time: npt.NDArray[np.int64]) -> Days:
        return review_dates(time, day)

    of_row = dates(log["review_time"])
    first, last = of_row.min(), of_row.max()
    edges, unit = _periods(first, last)

    def per_period(when: Days) -> npt.NDArray[np.int64]:
        return np.bincount(np.searchsorted(edges, when, side="right") - 1, minlength=len(edges) - 1)

    of_review = dates(past.review_time)
    is_item = past.delta_t > 0
    used, predicted = per_period(of_review), per_period(of_review[is_item])
    everything, with_answer = per_period(of_row), per_period(of_row[answered])
    parts = np.stack([predicted, used - predicted, with_answer - used, everything - with_answer])
    return Amounts(edges[:-1], np.diff(edges).astype(np.int64), parts, unit, dated)


def _periods(first: np.datetime64, last: np.datetime64) -> tuple[Days, str]:
    """Where periods from the first to the last day begin, and the end of the last, datetime64[D]."""
    span = int((last - first).astype(np.int64)) + 1
    if span <= _DAYS_UPTO:
        return np.arange(first, last + 2), "day"
    if span <= _WEEKS_UPTO:
        monday = first - (int(first.astype(np.int64)) + _WEEK_EPOCH) % 7
        return np.arange(monday, last + 8, 7), "week"
    unit, code = ("month", "M") if span <= _MONTHS_UPTO else ("year", "Y")
    begin, end = first.astype(f"datetime64[{code}]"), last.astype(f"datetime64[{code}]")
    return np.arange(begin, end + 2).astype("datetime64[D]"), unit


def _draw(findings: Findings, amounts: Amounts, wide: bool) -> Figure:
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    made = style.figure(wide, 3.2, 3.9)
    ax = made.subplots()
    at = amounts.start.astype("datetime64[D]").astype(np.int64).astype(np.float64)
    bottom = np.zeros(len(at))
    handles = []
    gap = 0.9 if amounts.unit != "day" else 0.85
    for (name, text, colour, hatch), heights in zip(_PARTS, amounts.parts, strict=True):
        if not heights.sum():
            continue
        if name == "history" and findings.run.histories.left_out["before_cutoff"]:
            text += " or too early"
        looks: dict[str, Any] = {
            "facecolor": colour,
            "hatch": hatch,
            "edgecolor": style.PLAIN,
            "linewidth": 0.5,
        }
        if not hatch:
            looks["edgecolor"] = colour
        ax.add_patch(_bars(at, amounts.width.astype(np.float64) * gap, bottom, heights, looks))
        bottom += heights
        handles.append(Patch(label=text, **looks))
    ax.set_ylim(0, max(1.0, float(bottom.max())) * 1.1)
    ax.set_xlim(at[0] - 0.02 * _span(amounts), at[-1] + amounts.width[-1] + 0.01 * _span(amounts))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    style.label(ax, y=f"rows of the review log a {amounts.unit}")
    if amounts.dated:
        _date_axis(ax, amounts, 9 if wide else 4)
    else:
        ax.set_xticks([])
        ax.set_xlabel("days (the file tells no dates)")
    ax.grid(axis="x", visible=False)
    _mark_held_out(findings, ax, at)
    made.legend(handles=handles, loc="outside upper left", ncols=2 if wide else 1, labelcolor=style.INK)
    return made


def _bars(
    left: FloatArray, width: FloatArray, bottom: FloatArray, height: FloatArray, looks: dict[str, Any]
) -> PathPatch:
    """All bars of one part as one shape: many shapes make a large file."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    some = height > 0
    x0, x1, y0, y1 = left[some], (left + width)[some], bottom[some], (bottom + height)[some]
    corners = np.stack([x0, y0, x1, y0, x1, y1, x0, y1, x0, y0], axis=1).reshape(-1, 2)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * int(some.sum())
    return PathPatch(Path(corners, codes), **looks)


def _span(amounts: Amounts) -> float:
    return float(amounts.width.sum())


def _date_axis(ax: Axes, amounts: Amounts, most: int) -> None:
    """At most so many ticks, at the starts of days, months or years; the year under the first of each."""
    first, end = amounts.start[0], amounts.start[-1] + amounts.width[-1]
    for code, step in _TICKS:
        ticks = np.arange(first.astype(f"datetime64[{code}]"), end.astype(f"datetime64[{code}]") + 1)
        from_epoch = ticks.astype(np.int64) + (1970 if code == "Y" else 0)
        days = ticks[from_epoch % step == 0].astype("datetime64[D]")
        days = days[(days >= first) & (days < end)]
        if len(days) <= most:
            break
    labels, year = [], 0
    for day in days.tolist():
        text = {"D": f"{day.day} {day:%b}", "M": f"{day:%b}", "Y": f"{day.year}"}[code]
        labels.append(text if day.year == year or code == "Y" else f"{text}\n{day.year}")
        year = day.year
    ax.set_xticks(days.astype(np.int64), labels)


def _mark_held_out(findings: Findings, ax: Axes, at: npt.NDArray[np.float64]) -> None:
    predicted = findings.predicted
    if not predicted.held_out:
        return
    time = findings.run.histories.review_time[predicted.items.review[:1]]
    begin = float(review_dates(time, findings.run.collection.day).astype(np.int64)[0])
    if not at[0] <= begin:
        return
    ax.axvline(begin, color=style.INK, linewidth=1, linestyle=(0, (3, 2)))
    ax.annotate(
        "tested from here on →",
        (begin, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, -2),
        textcoords="offset points",
        va="top",
        color=style.INK,
        fontsize=8.5,
    )


def _day(value: np.datetime64) -> str:
    day: datetime.date = value.astype("datetime64[D]").item()
    return f"{day.day}\N{NO-BREAK SPACE}{day:%B %Y}"


def _caption(findings: Findings, amounts: Amounts) -> str:
    past, data = findings.run.histories, findings.run.data
    total, busiest = amounts.parts.sum(axis=0), int(np.argmax(amounts.parts.sum(axis=0)))
    said = []
    if amounts.dated:
        dates = review_dates(findings.run.collection.log["review_time"], findings.run.collection.day)
        of = f"From {_day(dates.min())} to {_day(dates.max())}"
        when = _period_name(amounts, busiest)
        said.append(
            f"{of} the review log has {counted(past.rows, 'row')}"
            + (f"; most ({total[busiest]:,}) {when}." if len(total) > 1 else ".")
        )
    else:
        said.append(f"The review log has {counted(past.rows, 'row')}.")
    said.append(
        f"{percent(past.n_reviews / past.rows)} of them count ({past.n_reviews:,}), and FSRS is judged by the"
        f" {counted(len(data), 'review')} on a later day."
    )
    left = {name: int(part.sum()) for (name, *_), part in zip(_PARTS, amounts.parts, strict=True)}
    hatched = []
    if left["history"]:
        hatched.append(f"{left['history']:,} answers whose card has no usable start")
    if left["no answer"]:
        hatched.append(f"{left['no answer']:,} previews or rows without an answer")
    if hatched:
        said.append(f"Hatched: {listed(hatched)}.")
    return " ".join(said)


def _period_name(amounts: Amounts, k: int) -> str:
    start = amounts.start[k]
    if amounts.unit == "month":
        return f"in {start.item():%B %Y}"
    if amounts.unit == "year":
        return f"in {start.item().year}"
    return f"in the week from {_day(start)}" if amounts.unit == "week" else f"on {_day(start)}"


def _table(amounts: Amounts) -> Table:
    shown = np.flatnonzero(amounts.parts.sum(axis=0))
    length = {"month": 7, "year": 4}.get(amounts.unit, 10)
    rows = tuple(
        (
            str(amounts.start[k])[:length] if amounts.dated else str(k + 1),
            *(f"{part[k]:,}" for part in amounts.parts),
            f"{amounts.parts[:, k].sum():,}",
        )
        for k in shown.tolist()
    )
    columns = (
        f"{amounts.unit.capitalize()}" if amounts.unit != "week" else "Week from",
        "On a later day (predicted)",
        "First answers, same day",
        "Left out: start missing or before the cut-off",
        "Left out: no answer or preview",
        "Rows",
    )
    total = ("All", *(f"{part.sum():,}" for part in amounts.parts), f"{amounts.parts.sum():,}")
    return Table(TITLE, columns, (*rows, total))

"""Forgetting curves after each first rating, with the first reviews that stand behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.calibration import wilson
from fsrs_opt.evaluation.uncertainty import ForgettingCurve
from fsrs_opt.model.parameters import FloatArray
from fsrs_opt.report import style
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Picture, Table, missing
from fsrs_opt.report.wording import NONE, RATINGS, counted, duration, listed, number, percent
from fsrs_opt.training.pretrain import FirstReviews, first_reviews

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, TITLE = "forgetting", "How fast you forget after the first answer"

_LARGEST_DOT = 150.0  # points^2
_SMALLEST_DOT = 8.0
_SHORTEST, _LONGEST = 4.0, 365.0  # days shown


def forgetting(findings: Findings) -> Picture:
    """A panel for each first rating: the curve, its band, and recall at the first later review by delta_t."""
    curves = findings.evaluation.forgetting
    if not curves:
        return missing(NAME, TITLE, findings.evaluation.reasons.get("posterior", "nothing was fitted"))
    behind = first_reviews(findings.run.data)

    def draw(wide: bool) -> Figure:
        return _draw(findings, curves, behind, wide)

    return Picture(NAME, TITLE, _caption(findings, curves, behind), _table(findings, curves, behind), draw)


def recall_after(days: npt.NDArray[Any], stability: float, w: FloatArray) -> FloatArray:
    """R(t, S) at days [n]: (1 + factor t / S)^decay."""
    decay = -float(w[20])
    factor = np.expm1(np.log(0.9) / decay)
    recall: FloatArray = (1 + factor * days / stability) ** decay
    return recall


def _upto(curve: ForgettingCurve, stability: float, data: FirstReviews | None) -> float:
    """Days shown: the data and some three times the stability."""
    longest = max(_SHORTEST, 3 * stability, 0 if data is None else 1.15 * float(data.delta_t.max()))
    return float(min(longest, _LONGEST, curve.delta_t[-1]))


def _draw(
    findings: Findings, curves: tuple[ForgettingCurve, ...], behind: dict[int, FirstReviews], wide: bool
) -> Figure:
    made = style.figure(wide, 2.9, 4.9)
    axes = made.subplots(1, 4, sharey=True) if wide else made.subplots(2, 2, sharey=True)
    largest = max((float(data.count.max()) for data in behind.values()), default=1.0)
    lowest = 0.8
    for curve, ax in zip(curves, axes.flat, strict=True):
        rating = curve.first_rating
        stability = float(findings.new[rating - 1])
        data = behind.get(rating)
        upto = _upto(curve, stability, data)
        shown = curve.delta_t <= upto * 1.3
        ax.fill_between(
            curve.delta_t[shown],
            curve.band.low[shown],
            curve.band.high[shown],
            color=style.NEW,
            alpha=0.18,
            linewidth=0,
        )
        days = np.linspace(0, upto, 80)
        for one in findings.drawn_others:
            other = recall_after(days, float(one.parameters[rating - 1]), one.parameters)
            ax.plot(days, other, **style.OTHER_LINE)
            lowest = min(lowest, float(other.min()))
        ax.plot(days, recall_after(days, stability, findings.new), **style.NEW_LINE)
        lowest = min(lowest, float(np.interp(upto, curve.delta_t, curve.band.low)))
        if data is not None:
            ax.scatter(
                data.delta_t,
                data.recall,
                s=np.maximum(_SMALLEST_DOT, _LARGEST_DOT * data.count / largest),
                facecolor=style.PAPER,
                edgecolor=style.INK,
                linewidth=1.1,
                alpha=0.85,
                zorder=5,
            )
            lowest = min(lowest, float(data.recall.min()))
        ax.set_xlim(0, upto)
        n = 0 if data is None else data.n_items
        ax.set_title(f"{RATINGS[rating]} ({n:,})", color=style.INK, weight="bold")
        style.percent_axis(ax)
    for ax in axes.flat:
        ax.set_ylim(max(0.0, lowest - 0.04), 1.02)
    made.supxlabel("days since the first answer", fontsize=9, color=style.MUTED)
    _legend(findings, made, wide, bool(behind))
    return made


def _legend(findings: Findings, made: Figure, wide: bool, has_data: bool) -> None:
    from matplotlib.lines import Line2D

    handles: list[Any] = [
        style.new_handle("new, with 90 % band", mark=False),
        style.other_handle(findings.other_label, mark=False),
    ]
    if has_data:
        dot = Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=7,
            markerfacecolor=style.PAPER,
            markeredgecolor=style.INK,
            label="what happened (bigger: more cards)",
        )
        handles.append(dot)
    style.legend(made, handles, wide=wide)


def _caption(findings: Findings, curves: tuple[ForgettingCurve, ...], behind: dict[int, FirstReviews]) -> str:
    after = [f"{duration(float(findings.new[r - 1]))} if {name}" for r, name in RATINGS.items()]
    after[0] = after[0].replace(" if ", " if your first answer was ")
    said = [f"With the new parameters, recall has fallen to {percent(0.9)} after {listed(after)}."]
    if not behind:
        said.append("No first review is behind these curves: all of them were left out as unusual.")
        return " ".join(said)
    width = {c.first_rating: _width(c, float(findings.new[c.first_rating - 1])) for c in curves}
    widest = max(width, key=lambda rating: width[rating])
    n = behind[widest].n_items if widest in behind else 0
    why = f"{counted(n, 'review')} stand behind it" if n else "it is filled in from the other answers"
    said.append(f"The band is widest after {RATINGS[widest]}: {why}.")
    chosen = findings.run.data.items
    unusual = int(np.count_nonzero((chosen.long_term_count == 1) & ~findings.run.data.kept))
    inside = total = 0.0
    for rating, data in behind.items():
        expected = recall_after(data.delta_t, float(findings.new[rating - 1]), findings.new)
        low, high = wilson(data.recall, data.count)
        inside += float(data.count[(low <= expected) & (expected <= high)].sum())
        total += data.n_items
    said.append(
        f"The circles are what happened: for {percent(inside / total)} of these"
        f" {counted(int(total), 'review')} it agrees with the curve, up to chance."
    )
    if unusual:
        said.append(
            f"Another {counted(unusual, 'review')} after unusual delays had no say in where training began."
        )
    return " ".join(said)


def _width(curve: ForgettingCurve, stability: float) -> float:
    at = np.array([stability])
    high = np.interp(at, curve.delta_t, curve.band.high)
    return float((high - np.interp(at, curve.delta_t, curve.band.low))[0])


def _table(findings: Findings, curves: tuple[ForgettingCurve, ...], behind: dict[int, FirstReviews]) -> Table:
    rows = []
    for curve in curves:
        rating = curve.first_rating
        data = behind.get(rating)
        stability = float(findings.new[rating - 1])
        if data is None:
            rows.append((RATINGS[rating], number(stability, 2), NONE, "0", NONE, NONE, NONE))
            continue
        expected = recall_after(data.delta_t, stability, findings.new)
        low = np.interp(data.delta_t, curve.delta_t, curve.band.low)
        high = np.interp(data.delta_t, curve.delta_t, curve.band.high)
        rows += [
            (
                RATINGS[rating],
                number(stability, 2),
                f"{int(data.delta_t[k]):,}",
                f"{int(data.count[k]):,}",
                percent(float(data.recall[k]), 1),
                percent(float(expected[k]), 1),
                f"{percent(float(low[k]), 1)} to {percent(float(high[k]), 1)}",
            )
            for k in range(len(data.delta_t))
        ]
    columns = (
        "First answer",
        "Days to 90 %",
        "Days later",
        "Cards",
        "Recalled",
        "New parameters expect",
        "90 % band",
    )
    return Table(f"{TITLE}: first reviews on a later day", columns, tuple(rows))

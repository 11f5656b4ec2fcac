"""What optimizing again gained in the past, and what it is expected to gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsrs_opt.evaluation.learning import LearningCurve
from fsrs_opt.evaluation.paired import SURPRISES_PER_NAT
from fsrs_opt.report import style
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Picture, Table, missing
from fsrs_opt.report.wording import NONE, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, TITLE = "learning", "What optimizing again brings"

_Z = 1.645  # of a 90 % interval
_WORTH = 1.0  # surprises in 1,000 reviews


def learning(findings: Findings) -> Picture:
    """Left: what newer parameters saved in the past. Right: what they are expected to save."""
    curve = findings.evaluation.learning
    if not curve.past or not len(curve.new_reviews):
        reason = curve.reason or findings.evaluation.reasons.get("learning", "there are too few reviews")
        return missing(NAME, TITLE, reason)

    def draw(wide: bool) -> Figure:
        return _draw(curve, wide)

    return Picture(NAME, TITLE, _caption(curve), _table(curve), draw)


def _draw(curve: LearningCurve, wide: bool) -> Figure:
    made = style.figure(wide, 3.3, 6.2)
    left, right = made.subplots(1, 2, width_ratios=[1, 1]) if wide else made.subplots(2, 1)
    rows = np.arange(len(curve.past))
    gain = np.array([one.gain for one in curve.past]) * SURPRISES_PER_NAT
    error = np.array([one.standard_error for one in curve.past]) * SURPRISES_PER_NAT * _Z
    left.axvline(0, color=style.PLAIN, linewidth=1.2)
    left.hlines(rows, gain - error, gain + error, color=style.NEW, linewidth=4, alpha=0.35)
    left.plot(gain, rows, linestyle="", **style.NEW_MARK)
    left.set_yticks(rows, [f"{one.n_before:,} → {one.n_after:,}" for one in curve.past])
    left.set_ylim(len(rows) - 0.4, -0.6)
    left.grid(axis="y", visible=False)
    left.spines["left"].set_visible(False)
    left.set_title("in the past, from → to reviews", color=style.MUTED)
    left.set_xlabel("surprises saved in 1,000 reviews")

    expected = curve.expected_gain * SURPRISES_PER_NAT
    right.axhline(_WORTH, color=style.PLAIN, linewidth=1, linestyle=(0, (3, 2)))
    right.plot(curve.new_reviews, expected, **style.NEW_LINE)
    right.set_ylim(0, max(1.25 * _WORTH, float(expected.max()) * 1.1))
    right.set_xlim(0, float(curve.new_reviews[-1]))
    right.text(
        float(curve.new_reviews[-1]),
        _WORTH,
        "worth it ",
        ha="right",
        va="bottom",
        color=style.MUTED,
        fontsize=8.5,
    )
    if curve.optimize_after is not None:
        here = float(np.interp(curve.optimize_after, curve.new_reviews, expected))
        right.plot([curve.optimize_after] * 2, [0, here], color=style.INK, linewidth=1, linestyle=(0, (3, 2)))
        right.plot([curve.optimize_after], [here], linestyle="", **{**style.NEW_MARK, "markersize": 7})
        right.annotate(
            f"{curve.optimize_after:,}",
            (curve.optimize_after, here),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            color=style.INK,
            weight="bold",
        )
    right.yaxis.get_major_locator().set_params(integer=True, nbins=6)
    right.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    right.xaxis.get_major_locator().set_params(nbins=5)
    right.set_title("from now on: saved in 1,000 reviews", color=style.MUTED)
    right.set_xlabel("more reviews before you optimize again")
    return made


def _caption(curve: LearningCurve) -> str:
    gain = np.array([one.gain for one in curve.past]) * SURPRISES_PER_NAT
    error = np.array([one.standard_error for one in curve.past]) * SURPRISES_PER_NAT * _Z
    clear = int(np.count_nonzero(gain - error > 0))
    best = int(np.argmax(gain))
    said = [curve.advice] if curve.advice else []
    said.append(
        f"In the past, optimizing again would have clearly paid in {clear} of {len(gain)} comparisons; the"
        f" most it saved is {number(float(gain[best]), 1)} surprises in 1,000 reviews, going from"
        f" {curve.past[best].n_before:,} to {curve.past[best].n_after:,} reviews."
    )
    return " ".join(said)


def _table(curve: LearningCurve) -> Table:
    rows = []
    for one in curve.past:
        gain, error = one.gain * SURPRISES_PER_NAT, one.standard_error * SURPRISES_PER_NAT * _Z
        rows.append(
            (
                f"past: from {one.n_before:,} to {one.n_after:,}",
                f"{one.n_after - one.n_before:,}",
                number(gain, 2),
                f"{number(gain - error, 2)} to {number(gain + error, 2)}",
            )
        )
    every = max(1, len(curve.new_reviews) // 10)
    for more, gain in zip(
        curve.new_reviews[every::every].tolist(), curve.expected_gain[every::every].tolist(), strict=True
    ):
        rows.append(("expected from now on", f"{more:,.0f}", number(gain * SURPRISES_PER_NAT, 2), NONE))
    columns = ("Optimizing again", "More reviews", "Surprises saved in 1,000 reviews", "90 % interval")
    return Table(TITLE, columns, tuple(rows))

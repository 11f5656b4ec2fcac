"""How much one successful review strengthens a memory, by difficulty and retrievability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from fsrs_opt.model.fsrs6 import recall_stability
from fsrs_opt.model.parameters import D_MAX, D_MIN, FloatArray
from fsrs_opt.report import style
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Picture, Table, missing
from fsrs_opt.report.wording import TIMES, duration, number, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, TITLE = "growth", "How much one successful review strengthens a memory"

_GOOD = 3
_DUE = 0.9  # retrievability of the right panel, and of the examples
_LATE = 0.7
_ALIKE = 1.0  # difficulties closer than this are one kind of card
_RETRIEVABILITY = (0.98, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6)


@dataclass(frozen=True)
class _Cards:
    """The collection's own cards after their last reviews: 10th, 50th and 90th percentile of difficulty, and
    median stability (days)."""

    easy: float
    medium: float
    hard: float
    stability: float


def growth(findings: Findings) -> Picture:
    """Left: by retrievability for an easy, a medium and a hard card. Right: by difficulty at 90 %."""
    if not findings.run.histories.n_cards:
        return missing(NAME, TITLE, "there are no cards")
    _, stability, difficulty = findings.batch.memory_states(findings.new)
    last = findings.run.histories.offsets[1:] - 1
    easy, medium, hard = (float(q) for q in np.percentile(difficulty[last], [10, 50, 90]))
    cards = _Cards(easy, medium, hard, float(np.median(stability[last])))

    def draw(wide: bool) -> Figure:
        return _draw(findings, cards, wide)

    return Picture(NAME, TITLE, _caption(findings, cards), _table(findings, cards), draw)


def factor(
    w: FloatArray, stability: float, difficulty: npt.NDArray[np.float64], retrievability: FloatArray
) -> FloatArray:
    """New stability over old after Good, for difficulty and retrievability [n] (or of shapes that fit)."""
    d, r = np.broadcast_arrays(difficulty, retrievability)
    before = torch.full(d.shape, stability, dtype=torch.float64)
    after = recall_stability(
        before,
        torch.tensor(d.copy()),
        torch.tensor(r.copy()),
        torch.full(d.shape, float(_GOOD), dtype=torch.float64),
        torch.tensor(w, dtype=torch.float64),
    )
    result: FloatArray = (after / before).numpy()
    return result


def _draw(findings: Findings, cards: _Cards, wide: bool) -> Figure:
    made = style.figure(wide, 3.2, 6.0)
    left, right = made.subplots(1, 2) if wide else made.subplots(2, 1)
    r = np.linspace(0.6, 0.99, 60)
    kinds: list[tuple[str, float, Any]] = [("easy", cards.easy, "-"), ("hard", cards.hard, (0, (1.5, 1.2)))]
    kinds.insert(1, ("medium", cards.medium, (0, (6, 1.5))))
    if cards.hard - cards.easy < _ALIKE:
        kinds = [("all cards", cards.medium, "-")]
    highest = 1.0
    for name, d, dashes in kinds:
        y = factor(findings.new, cards.stability, np.array(d), r)
        highest = max(highest, float(y.max()))
        left.plot(r, y, color=style.NEW, linestyle=dashes, linewidth=2)
        left.annotate(
            name,
            (r[0], y[0]),
            xytext=(4, 0),
            textcoords="offset points",
            color=style.INK,
            fontsize=8.5,
            va="center",
        )
    left.set_xlim(0.995, 0.52)  # time runs to the right, recall falls
    style.percent_axis(left, x=True)
    left.yaxis.set_major_formatter(_times)
    left.set_ylim(1, 1 + (highest - 1) * 1.12)
    left.set_xlabel("recall at the time of the review")
    left.set_title("new parameters, by kind of card: grows by", color=style.MUTED)

    difficulty = np.linspace(D_MIN, D_MAX, 60)
    right.axvspan(cards.easy, cards.hard, color=style.PALE, alpha=0.35, linewidth=0)
    for one in findings.drawn_others:
        right.plot(
            difficulty,
            factor(one.parameters, cards.stability, difficulty, np.array(_DUE)),
            **style.OTHER_LINE,
        )
    right.plot(
        difficulty, factor(findings.new, cards.stability, difficulty, np.array(_DUE)), **style.NEW_LINE
    )
    right.set_xlim(D_MIN, D_MAX)
    right.set_ylim(bottom=1)
    right.yaxis.set_major_formatter(_times)
    right.set_xlabel("difficulty of the card (grey: most of your cards)")
    right.set_title(f"reviewed at {percent(_DUE)} recall: grows by", color=style.MUTED)
    handles = [style.new_handle(mark=False), style.other_handle(findings.other_label, mark=False)]
    style.legend(made, handles, wide=wide)
    return made


def _times(value: float, _position: int) -> str:
    return f"{TIMES}{value:g}"


def _caption(findings: Findings, cards: _Cards) -> str:
    due, late = factor(findings.new, cards.stability, np.array(cards.medium), np.array([_DUE, _LATE]))
    easy, hard = factor(findings.new, cards.stability, np.array([cards.easy, cards.hard]), np.array(_DUE))
    return (
        f"A card of medium difficulty whose memory lasts {duration(cards.stability)} (a typical card of"
        f" yours), reviewed when recall has fallen to {percent(_DUE)} and answered Good, lasts"
        f" {number(float(due), 1)} times as long afterwards: {duration(cards.stability * float(due))}."
        f" Reviewed only at {percent(_LATE)} it would be {number(float(late), 1)} times, but you would forget"
        f" it more often. At {percent(_DUE)} an easy card of yours (difficulty {number(cards.easy, 1)}) lasts"
        f" {number(float(easy), 1)} times as long, a hard one ({number(cards.hard, 1)})"
        f" {number(float(hard), 1)} times."
    )


def _table(findings: Findings, cards: _Cards) -> Table:
    r = np.array(_RETRIEVABILITY)
    rows = []
    kinds = (("easy", cards.easy), ("medium", cards.medium), ("hard", cards.hard))
    for name, d in kinds:
        values = factor(findings.new, cards.stability, np.array(d), r)
        rows.append((f"new, {name} card (D {d:.1f})", *(f"{TIMES}{value:.2f}" for value in values)))
    label = "current" if findings.run.current else "default"
    for one in findings.drawn_others:
        values = factor(one.parameters, cards.stability, np.array(cards.medium), r)
        who = f"{label} ({one.name})" if len(findings.drawn_others) > 1 else label
        rows.append((f"{who}, medium card", *(f"{TIMES}{value:.2f}" for value in values)))
    columns = ("Parameters and card", *(f"at {percent(value)}" for value in _RETRIEVABILITY))
    caption = f"Growth of a stability of {duration(cards.stability)} after Good, by recall at the review"
    return Table(caption, columns, tuple(rows))

"""The intervals that each answer would give, over a typical card's life, new against current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from fsrs_opt.commands.current import CurrentSet
from fsrs_opt.model.fsrs6 import initial_state, interval, next_state
from fsrs_opt.model.parameters import DEFAULTS, S_MAX, FloatArray
from fsrs_opt.report import style
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Picture, Table
from fsrs_opt.report.wording import RATINGS, duration, listed, percent
from fsrs_opt.sources.collection import DEFAULT_RETENTION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, TITLE = "intervals", "When a card comes back"

N_REVIEWS = 7
MOST_PRESETS = 4
_GOOD = 3
_TICKS = ((1, "1 day"), (7, "1 week"), (30, "1 month"), (365, "1 year"), (3650, "10 years"))


@dataclass(frozen=True)
class Life:
    """One preset: its desired retention, and the parameters in use there. reviews: of its cards."""

    preset: str
    desired_retention: float
    current: FloatArray
    reviews: int


def intervals(findings: Findings) -> list[Picture]:
    """A picture for each preset that is in use, those with the most reviews first, `MOST_PRESETS` at most."""
    lives = _lives(findings)[:MOST_PRESETS]
    return [_picture(findings, life, k, len(lives)) for k, life in enumerate(lives, start=1)]


def answers(w: FloatArray, desired_retention: float) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Days until the next review, int64 [N_REVIEWS, 4], by review and answer (Again, Hard, Good, Easy).

    The card is new, is reviewed on the day it is due, and was answered Good each time before. Whole days as
    Anki gives them, at least 1, before its random shift; learning and relearning steps are left away.
    """
    parameters = torch.tensor(w, dtype=torch.float64)
    rating = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    stability, difficulty = initial_state(rating, parameters)
    rows = []
    for _ in range(N_REVIEWS):
        days = torch.round(interval(stability, desired_retention, parameters)).clamp(1, S_MAX)
        rows.append(days.numpy().astype(np.int64))
        s, d, t = (each[_GOOD - 1].repeat(4) for each in (stability, difficulty, days))
        stability, difficulty = next_state(s, d, t, rating, parameters)
    return np.stack(rows)


def _lives(findings: Findings) -> list[Life]:
    run = findings.run
    reviews = np.diff(run.histories.offsets)
    given = next((one for one in run.current if one.given), None)
    if not run.collection.presets:
        current = DEFAULTS if given is None else given.parameters
        return [Life("", DEFAULT_RETENTION, current, int(reviews.sum()))]
    lives = []
    for preset_id in np.unique(findings.preset_of_cards).tolist():
        mine = findings.preset_of_cards == preset_id
        preset = run.collection.presets.get(preset_id)
        current = _in_use(given, run.current, mine)
        name = "Default" if preset is None else preset.name
        retention = DEFAULT_RETENTION if preset is None else preset.desired_retention
        if not 0 < retention < 1:
            retention = DEFAULT_RETENTION
        lives.append(Life(name, retention, current, int(reviews[mine].sum())))
    return sorted(lives, key=lambda life: -life.reviews)


def _in_use(given: CurrentSet | None, current: tuple[CurrentSet, ...], mine: np.ndarray) -> FloatArray:
    if given is not None:
        return given.parameters
    return next((one.parameters for one in current if np.any(one.cards & mine)), DEFAULTS)


def _picture(findings: Findings, life: Life, k: int, of: int) -> Picture:
    new, now = answers(findings.new, life.desired_retention), answers(life.current, life.desired_retention)
    title = TITLE if of == 1 else f"{TITLE}: preset “{life.preset}”"

    def draw(wide: bool) -> Figure:
        return _draw(findings, new, now, wide)

    name = NAME if of == 1 else f"{NAME}-{k}"
    return Picture(name, title, _caption(findings, life, new, now), _table(findings, life, new, now), draw)


def _draw(findings: Findings, new: np.ndarray, now: np.ndarray, wide: bool) -> Figure:
    made = style.figure(wide, 2.9, 4.7)
    axes = made.subplots(1, 4, sharey=True) if wide else made.subplots(2, 2, sharey=True)
    x = np.arange(1, N_REVIEWS + 1)
    longest = int(max(new.max(), now.max()))
    for k, (rating, ax) in enumerate(zip(RATINGS, axes.flat, strict=True)):
        ax.plot(x, now[:, k], **style.OTHER_LINE, **style.OTHER_MARK)
        ax.plot(x, new[:, k], **style.NEW_LINE, **style.NEW_MARK)
        ax.set_yscale("log")
        ax.set_title(RATINGS[rating], color=style.INK, weight="bold")
        ax.set_xticks(x[::2])
        ax.set_xlim(0.5, N_REVIEWS + 0.5)
    ax = axes.flat[0]
    ticks = [tick for tick in _TICKS if tick[0] <= longest * 1.5]
    ax.set_yticks([at for at, _ in ticks], [text for _, text in ticks])
    for ax in axes.flat:
        ax.minorticks_off()
        ax.set_ylim(0.75, longest * 1.6)
    made.supxlabel("which review of the card, always Good before", fontsize=9, color=style.MUTED)
    label = "current parameters" if findings.run.current else "defaults"
    style.legend(made, [style.new_handle(), style.other_handle(label)], wide=wide)
    return made


def _caption(findings: Findings, life: Life, new: np.ndarray, now: np.ndarray) -> str:
    good = [duration(float(days)) for days in new[:4, _GOOD - 1]]
    before = [duration(float(days)) for days in now[:4, _GOOD - 1]]
    at = f"your desired retention of {percent(life.desired_retention)}"
    said = [
        f"At {at}, a new card that you always answer Good comes back after {listed(good)};"
        f" with {findings.other_words} after {listed(before)}."
    ]
    fourth_new, fourth_now = new[3], now[3]
    other = "now" if findings.run.current else "defaults"
    said.append(
        f"At its fourth review, Again brings it back after {duration(float(fourth_new[0]))}"
        f" ({other}: {duration(float(fourth_now[0]))}), Hard after {duration(float(fourth_new[1]))}"
        f" ({other}: {duration(float(fourth_now[1]))}) and Easy after {duration(float(fourth_new[3]))}"
        f" ({other}: {duration(float(fourth_now[3]))})."
    )
    return " ".join(said)


def _table(findings: Findings, life: Life, new: np.ndarray, now: np.ndarray) -> Table:
    other = "current" if findings.run.current else "default"
    rows = tuple(
        (str(k + 1), *(f"{days:,}" for pair in zip(new[k], now[k], strict=True) for days in pair))
        for k in range(N_REVIEWS)
    )
    columns = ("Review", *(f"{RATINGS[r]}, {who}" for r in RATINGS for who in ("new", other)))
    of = f" in preset “{life.preset}”" if life.preset else ""
    caption = f"Days until the next review{of}, desired retention {percent(life.desired_retention)}"
    return Table(caption, columns, rows)

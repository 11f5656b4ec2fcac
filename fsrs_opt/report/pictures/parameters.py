"""The 21 parameters with their intervals, against the defaults and those in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fsrs_opt.evaluation.uncertainty import Posterior
from fsrs_opt.model.parameters import (
    DEFAULTS,
    MEANINGS,
    N_INITIAL_STABILITIES,
    N_PARAMETERS,
    SIGMA,
    FloatArray,
)
from fsrs_opt.report import style
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Picture, Table, missing
from fsrs_opt.report.wording import NONE, counted, listed, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, TITLE = "parameters", "The 21 parameters, and how sure they are"

_SPREAD_OF_LOGARITHM = 2.0  # of w0..w3, that of the prior
_FARTHEST = 4.0  # in spreads; what is farther off is drawn at the edge
_MOST_NAMED = 3


def parameters(findings: Findings) -> Picture:
    """A row for each parameter: its distance from the default in spreads over users, and its interval."""
    found = findings.evaluation.posterior
    if found is None:
        return missing(NAME, TITLE, findings.evaluation.reasons.get("posterior", "nothing was fitted"))

    def draw(wide: bool) -> Figure:
        return _draw(findings, found, wide)

    return Picture(NAME, TITLE, _caption(findings, found), parameter_table(findings), draw)


def in_spreads(w: FloatArray) -> FloatArray:
    """Distance from the defaults [21] in units of the spread over users (of the logarithm for w0..w3)."""
    away = (w - DEFAULTS) / SIGMA
    first = slice(0, N_INITIAL_STABILITIES)
    away[first] = np.log(w[first] / DEFAULTS[first]) / _SPREAD_OF_LOGARITHM
    return away


def _draw(findings: Findings, found: Posterior, wide: bool) -> Figure:
    made = style.figure(wide, 6.3, 9.0)
    ax = made.subplots()
    rows = np.arange(N_PARAMETERS)
    at = np.clip(in_spreads(found.parameters), -_FARTHEST, _FARTHEST)
    low, high = (np.clip(in_spreads(each), -_FARTHEST, _FARTHEST) for each in (found.low, found.high))
    others = [
        np.clip(in_spreads(one.parameters), -_FARTHEST, _FARTHEST)
        for one in (findings.drawn_others if findings.run.current else ())
    ]
    reach = max(float(np.abs(np.concatenate([low, high, at, *others])).max()) * 1.08, 0.5)
    shift = 0.0 if wide else 0.18
    if wide:
        ax.axvline(0, color=style.PLAIN, linewidth=1.2, zorder=1)
    else:  # names stand in the rows
        ax.vlines(np.zeros(N_PARAMETERS), rows - 0.04, rows + 0.4, color=style.PLAIN, linewidth=1.2, zorder=1)
        ax.grid(axis="x", visible=False)
    ax.hlines(rows + shift, low, high, color=style.NEW, linewidth=4, alpha=0.35, zorder=2)
    for other in others:
        mark = {**style.OTHER_MARK, "markersize": 5.5}
        ax.plot(other, rows + shift, linestyle="", zorder=3, **mark)
    ax.plot(at, rows + shift, linestyle="", zorder=4, **style.NEW_MARK)
    ax.set_ylim(N_PARAMETERS - 0.4, -0.7)
    ax.grid(axis="y", visible=False)
    for k in range(0, N_PARAMETERS, 2):
        ax.axhspan(k - 0.5, k + 0.5, color=style.GRID, alpha=0.3, linewidth=0, zorder=0)
    names = [f"{MEANINGS[k]}   w{k}" if wide else f"w{k}" for k in range(N_PARAMETERS)]
    ax.set_yticks(rows, names)
    ax.tick_params(axis="y", labelcolor=style.INK)
    ax.set_xlim(-reach, reach)
    ax.set_xlabel("from the default, in usual differences between users")
    ax.spines["left"].set_visible(False)
    for k in range(N_PARAMETERS):
        share = "limit" if found.held[k] else f"{found.data_share[k]:.0f} %"
        ax.text(
            1.02, k, share, transform=ax.get_yaxis_transform(), va="center", color=style.INK, fontsize=8.5
        )
        if not wide:
            text = MEANINGS[k]
            ax.text(
                0.015,
                k - 0.22,
                text,
                transform=ax.get_yaxis_transform(),
                va="center",
                color=style.MUTED,
                fontsize=8,
            )
    ax.text(
        1.02,
        -0.75,
        "from your\nreviews",
        transform=ax.get_yaxis_transform(),
        va="bottom",
        color=style.MUTED,
        fontsize=8.5,
    )
    _legend(findings, made, wide)
    return made


def _legend(findings: Findings, made: Figure, wide: bool) -> None:
    from matplotlib.lines import Line2D

    new: dict[str, Any] = {"color": style.NEW, "linewidth": 4, "alpha": 0.5, **style.NEW_MARK}
    handles = [Line2D([], [], label="new, with 90 % interval", **new)]
    if findings.run.current:
        label = "current" if len(findings.drawn_others) == 1 else "current, one for each preset"
        handles.append(Line2D([], [], linestyle="", label=label, **style.OTHER_MARK))
    handles.append(Line2D([], [], color=style.PLAIN, linewidth=1.2, label="default"))
    style.legend(made, handles, wide=wide)


def _caption(findings: Findings, found: Posterior) -> str:
    away = (found.low > DEFAULTS) | (found.high < DEFAULTS)
    sure = int(np.count_nonzero(away))
    said = []
    if sure:
        size = np.abs(in_spreads(found.parameters)) * away
        named = [
            f"w{k} ({MEANINGS[k]}: {number(float(found.parameters[k]), 2)} instead of"
            f" {number(float(DEFAULTS[k]), 2)})"
            for k in np.argsort(-size, kind="stable")[: min(sure, _MOST_NAMED)].tolist()
        ]
        what = "differs" if sure == 1 else "differ"
        most = "" if sure <= _MOST_NAMED else ", most of all "
        listing = f": {listed(named)}" if sure <= _MOST_NAMED else f"{most}{listed(named)}"
        said.append(
            f"{counted(sure, 'parameter').capitalize()} of 21 clearly {what} from the default"
            f" (the bar does not touch the line){listing}."
        )
    else:
        said.append(
            "No bar is clear of the line: your reviews do not yet tell you apart from the usual user."
        )
    said.append(
        f"Taken together, your reviews settle about {number(found.effective_parameters, 0)} of the 21"
        " numbers; the rest is what is usual among users."
    )
    known = np.where(found.held, np.inf, found.data_share)
    least = int(np.argmin(known))
    if np.isfinite(known[least]):
        said.append(
            f"They tell least about w{least} ({MEANINGS[least]}):"
            f" {number(float(known[least]))}\N{NO-BREAK SPACE}% of what is known about it comes from them."
        )
    if found.held.any():
        which = listed([f"w{k}" for k in np.flatnonzero(found.held).tolist()])
        said.append(f"{which} {'is' if found.held.sum() == 1 else 'are'} at the limit of what FSRS allows.")
    return " ".join(said)


def parameter_table(findings: Findings) -> Table:
    """Every parameter with four decimals, as `optimize` prints and `--json` holds it."""
    found = findings.evaluation.posterior
    rows = []
    sets = findings.drawn_others if findings.run.current else ()
    for k in range(N_PARAMETERS):
        interval, share = NONE, NONE
        if found is not None:
            interval = f"{found.low[k]:.4f} to {found.high[k]:.4f}"
            share = "at a limit" if found.held[k] else f"{found.data_share[k]:.0f}\N{NO-BREAK SPACE}%"
        rows.append(
            (
                f"w{k}",
                MEANINGS[k],
                f"{findings.new[k]:.4f}",
                interval,
                f"{DEFAULTS[k]:.4f}",
                *(f"{one.parameters[k]:.4f}" for one in sets),
                share,
            )
        )
    current = ("Current",) if len(sets) == 1 else tuple(f"Current ({one.name})" for one in sets)
    columns = ("", "What it is", "New", "90 % interval", "Default", *current, "From your reviews")
    return Table("The parameters", columns, tuple(rows), text=("What it is",))

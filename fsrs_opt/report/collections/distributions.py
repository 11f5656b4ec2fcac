"""Distributions over collections: of each figure and parameter, of the sizes, and of the gain by size."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from fsrs_opt.model.parameters import DEFAULTS, MEANINGS
from fsrs_opt.model.parameters import N_PARAMETERS as N
from fsrs_opt.report import style
from fsrs_opt.report.collections.summary import FIGURES, MODELS, FloatArray, Summary, fitted
from fsrs_opt.report.parts import Picture, Table, missing
from fsrs_opt.report.wording import DASH, number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FEWEST = 3  # of which a distribution can be drawn
_BINS = 30
_OUTSIDE = 1.0  # percent at either end that is not drawn apart
_DRAWN = ("new", "current", "default")
_SIZES = np.array([1, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, np.inf])
_QUANTILES = (5, 25, 50, 75, 95)


def metrics(found: Summary, seen: str) -> Picture:
    """A panel for each figure, with a histogram for each set of parameters."""
    name, title = "metrics", f"The figures over all results ({seen})"
    figures = {
        figure: of for figure, of in found.figures.items() if len(of.get("new", _Nothing).of_each) >= _FEWEST
    }
    if not figures:
        return missing(name, title, "fewer than three results have figures")

    def draw(wide: bool) -> Figure:
        made = style.figure(wide, 2.6 * ((len(figures) + 1) // 2), 2.3 * len(figures))
        panels = made.subplots((len(figures) + 1) // 2, 2) if wide else made.subplots(len(figures), 1)
        flat: list[Axes] = list(np.atleast_1d(panels).ravel())
        for ax, (figure, of_models) in zip(flat, figures.items(), strict=False):
            drawn = {model: of_models[model].of_each for model in _DRAWN if model in of_models}
            edges = _edges(np.concatenate(list(drawn.values())))
            for model, values in drawn.items():
                _histogram(ax, values, edges, model)
            label, better = FIGURES[figure]
            style.label(ax, x=f"{label} ({better} is better)", y="results")
            _few_ticks(ax, log=False)
        for ax in flat[len(figures) :]:
            ax.set_axis_off()
        style.legend(
            made,
            _handles([model for model in _DRAWN if any(model in of for of in figures.values())]),
            wide=wide,
        )
        return made

    table = metric_table(found, seen)
    return Picture(name, title, "What lies far outside is counted in the outermost bars.", table, draw)


def metric_table(found: Summary, seen: str) -> Table:
    """Mean, mean weighted by items, and quantiles of each figure and model."""
    rows = [
        (
            f"{FIGURES[figure][0]}, {MODELS[model]}",
            *(number(value, 4) for value in (one.mean, one.weighted, *one.quantiles)),
            f"{len(one.of_each):,}",
        )
        for figure, of_models in found.figures.items()
        for model, one in of_models.items()
    ]
    columns = ("", "Mean", "Weighted by items", "10 % below", "Median", "10 % above", "Results")
    return Table(f"Figures over all results ({seen})", columns, tuple(rows))


def gain_by_size(table: pd.DataFrame, found: Summary) -> Picture:
    """How much lower than the defaults' the log loss is, in thousandths, by the number of items."""
    name, title = "gain", "How much better than the defaults, by the size of the collection"
    new, default = (f"{found.basis}_{model}_log_loss" for model in ("new", "default"))
    if not {new, default} <= set(table.columns):
        return missing(name, title, "there are no figures of both")
    both = table.loc[table["status"] == "done", ["items", new, default]].dropna()
    items = both["items"].to_numpy(dtype=np.float64)
    gain = 1000 * (both[default] - both[new]).to_numpy(dtype=np.float64)
    place = np.searchsorted(_SIZES, items, side="right") - 1
    used = [k for k in range(len(_SIZES) - 1) if np.count_nonzero(place == k) >= _FEWEST]
    if not used:
        return missing(name, title, "no three results are of about the same size")
    quantiles = np.array([np.percentile(gain[place == k], (10, 50, 90)) for k in used])
    names = [_range(k) for k in used]

    def draw(wide: bool) -> Figure:
        made = style.figure(wide, 2.9, 3.2)
        ax = made.subplots()
        at = np.arange(len(used))
        ax.axhline(0, color=style.PLAIN, linewidth=1.2)
        ax.vlines(at, quantiles[:, 0], quantiles[:, 2], color=style.NEW, linewidth=5, alpha=0.35)
        ax.plot(at, quantiles[:, 1], linestyle="", **style.NEW_MARK)
        ax.set_xticks(
            at, names, rotation=0 if wide and len(used) < 7 else 35, ha="center" if wide else "right"
        )
        ax.set_xlim(-0.6, len(used) - 0.4)
        style.label(ax, x="items (reviews on a later day)", y="log loss lower by, in thousandths")
        return made

    rows = tuple(
        (names[n], f"{np.count_nonzero(place == k):,}", *(number(float(q), 1) for q in quantiles[n]))
        for n, k in enumerate(used)
    )
    columns = ("Items", "Results", "10 % below", "Median", "10 % above")
    caption = (
        "The dot is the median, the bar the middle 80 % of the results; above the line is better than the"
        " defaults."
    )
    return Picture(
        name,
        title,
        caption,
        Table("Log loss lower than the defaults' by, in thousandths", columns, rows),
        draw,
    )


def parameters(table: pd.DataFrame) -> Picture:
    """A histogram for each of the 21 parameters, with the default as a line."""
    name, title = "parameters-over-all", "The 21 parameters over all results"
    values = fitted(table)
    if len(values) < _FEWEST:
        return missing(name, title, "there are fewer than three results")

    def draw(wide: bool) -> Figure:
        rows, columns = (7, 3) if wide else (11, 2)
        made = style.figure(wide, 11.0, 15.5)
        flat: list[Axes] = list(made.subplots(rows, columns).ravel())
        for k, ax in enumerate(flat):
            if k >= N:
                ax.set_axis_off()
                continue
            scale = values[:, k]
            if k < 4:  # days over several powers of ten
                ax.set_xscale("log")
                edges = 10 ** _edges(np.log10(np.maximum(scale, 1e-3)))
            else:
                edges = _edges(scale)
            _histogram(ax, scale, edges, "new")
            ax.axvline(DEFAULTS[k], color=style.INK, linewidth=1.2, linestyle=(0, (3, 2)))
            ax.set_title(fill(f"w{k}  {MEANINGS[k]}", 34 if wide else 26), color=style.INK, fontsize=8)
            ax.set_yticks([])
            ax.grid(visible=False)
            ax.spines["left"].set_visible(False)
            ax.tick_params(axis="x", labelsize=8)
            _few_ticks(ax, log=k < 4)
        return made

    return Picture(name, title, "The dashed line is the default.", _parameter_table(values), draw)


def sizes(table: pd.DataFrame) -> Picture:
    """How many results have how many items."""
    name, title = "sizes-over-all", "Results by their number of items"
    items = table.loc[table["status"] == "done", "items"].fillna(0).to_numpy(dtype=np.float64)
    if len(items) < _FEWEST:
        return missing(name, title, "there are fewer than three results")
    place = np.searchsorted(_SIZES, np.maximum(items, 1), side="right") - 1
    counts = np.bincount(place, minlength=len(_SIZES) - 1)
    used = list(range(int(place.min()), int(place.max()) + 1))
    names = [_range(k) for k in used]

    def draw(wide: bool) -> Figure:
        made = style.figure(wide, 2.6, 3.0)
        ax = made.subplots()
        ax.bar(range(len(used)), counts[used], color=style.SOFT, width=0.8)
        ax.set_xticks(
            range(len(used)),
            names,
            rotation=0 if wide and len(used) < 7 else 35,
            ha="center" if wide else "right",
        )
        ax.grid(axis="x", visible=False)
        style.label(ax, x="items (reviews on a later day)", y="results")
        return made

    rows = tuple((names[n], f"{counts[k]:,}") for n, k in enumerate(used))
    return Picture(name, title, "", Table("Results by size", ("Items", "Results"), rows), draw)


class _Nothing:
    of_each: FloatArray = np.zeros(0)


def _parameter_table(values: FloatArray) -> Table:
    quantiles = np.percentile(values, _QUANTILES, axis=0)
    rows = tuple(
        (
            f"w{k}",
            MEANINGS[k],
            f"{DEFAULTS[k]:.4f}",
            f"{values[:, k].mean():.4f}",
            *(f"{quantiles[n, k]:.4f}" for n in range(len(_QUANTILES))),
        )
        for k in range(N)
    )
    columns = ("", "What it is", "Default", "Mean", *(f"{q} %" for q in _QUANTILES))
    note = f"Percentiles over {len(values):,} results: 5 % of them lie below the first, 5 % above the last."
    return Table("The parameters over all results", columns, rows, text=("What it is",), note=note)


def _edges(values: FloatArray) -> FloatArray:
    """Edges of bins that hold all but the outermost hundredths, which go into the bins at the ends."""
    low, high = np.percentile(values, (_OUTSIDE, 100 - _OUTSIDE))
    if not high > low:
        low, high = low - 0.5 * max(abs(low), 1e-3), high + 0.5 * max(abs(high), 1e-3)
    edges: FloatArray = np.linspace(low, high, min(_BINS, max(8, int(np.sqrt(len(values)) * 2))) + 1)
    return edges


def _histogram(ax: Axes, values: FloatArray, edges: FloatArray, model: str) -> None:
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    if model == "new":
        ax.stairs(counts, edges, fill=True, color=style.SOFT, zorder=2)
        ax.stairs(counts, edges, color=style.NEW, linewidth=1.4, zorder=3)
    else:
        ax.stairs(counts, edges, linewidth=1.5, zorder=4, **_LINES[model])


_LINES: dict[str, Any] = {
    "current": {"color": style.OTHER, "linestyle": (0, (5, 2))},
    "default": {"color": style.INK, "linestyle": (0, (1.5, 1.2))},
}


def _few_ticks(ax: Axes, *, log: bool) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    ax.xaxis.set_major_locator(
        LogLocator(subs=(1, 3), numticks=5)
        if log
        else MaxNLocator(nbins=4, steps=[1, 2, 5, 10], min_n_ticks=2)
    )
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:.4g}"))


def _handles(models: list[str]) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    new = Patch(facecolor=style.SOFT, edgecolor=style.NEW, label="new")
    return [
        new if model == "new" else Line2D([], [], label=MODELS[model], **_LINES[model]) for model in models
    ]


def _range(k: int) -> str:
    low, high = int(_SIZES[k]), _SIZES[k + 1]
    if np.isinf(high):
        return f"{_thousands(low)} or more"
    return f"below {_thousands(int(high))}" if k == 0 else f"{_thousands(low)}{DASH}{_thousands(int(high))}"


def _thousands(value: int) -> str:
    return (
        f"{value // 1_000_000} M"
        if value >= 1_000_000
        else f"{value // 1000} k"
        if value >= 1000
        else str(value)
    )

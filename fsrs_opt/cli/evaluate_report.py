"""What `evaluate` prints for a person."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from fsrs_opt.cli import output, rows_report
from fsrs_opt.commands.evaluate import Evaluated
from fsrs_opt.commands.selected import selected
from fsrs_opt.evaluation.evaluation import Evaluation, Judged
from fsrs_opt.evaluation.health import MAX_LOG_LOSS_RATIO, MAX_RMSE_BINS_RATIO, HealthCheck
from fsrs_opt.evaluation.uncertainty import Posterior
from fsrs_opt.evaluation.verdict import Verdict
from fsrs_opt.model.parameters import MEANINGS, N_PARAMETERS

NONE = "-"
COLUMNS = {
    "default": "default",
    "current": "current",
    "new": "new",
    "constant": "average\nrecall",
    "sm2": "SM-2",
}
FIGURES = (
    ("log_loss", "log loss", "lower"),
    ("log_loss_recency", "  recent items weigh more", ""),
    ("rmse_bins", "RMSE(bins)", "lower"),
    ("rmse_bins_recency", "  recent items weigh more", ""),
    ("auc", "AUC", "higher"),
    ("ici", "calibration error (ICI)", "lower"),
    ("ece", "calibration error (bins)", "lower"),
    ("predicted", "mean predicted recall", ""),
)


def full(result: Evaluated) -> None:
    """The whole report; the verdict comes last, where the eye is."""
    console = output.stdout()
    seen = result.evaluation
    rows_report.source(console, result.collection)
    chosen = selected(result.collection, result.histories, result.data.items)
    rows_report.selection(console, chosen)
    rows_report.what_was_read(console, result.histories, len(result.data), seen=chosen)
    _in_sample(console, result)
    _held_out(console, result)
    _calibration(console, seen)
    _health(console, seen.health)
    if seen.posterior is not None:
        _uncertainty(console, seen.posterior)
    if seen.learning.advice:
        output.heading(console, "When to optimize again")
        output.sentence(console, seen.learning.advice, indent=2)
    to_know = [*result.messages, *(f"{_name(name)}: {why}." for name, why in seen.reasons.items())]
    if to_know:
        output.heading(console, "To know")
        output.bullets(console, to_know)
    output.heading(console, "Verdict")
    verdict(console, seen.verdict)


def short(result: Evaluated) -> None:
    """The verdict."""
    verdict(output.stdout(), result.evaluation.verdict)


def verdict(console: Console, found: Verdict) -> None:
    """The verdict, and which data would help."""
    style = "bold green" if found.decision == "change" else "bold yellow"
    output.sentence(console, found.sentence, style)
    for advice in found.advice:
        output.sentence(console, advice, "dim")


def _in_sample(console: Console, result: Evaluated) -> None:
    output.heading(console, f"In-sample: all {len(result.data):,} items")
    _table(console, result.evaluation.in_sample)
    if result.fit is not None:
        output.sentence(
            console,
            "The new parameters were fitted to these very items, which flatters them a little.",
            "dim",
            indent=2,
        )


def _held_out(console: Console, result: Evaluated) -> None:
    series = result.evaluation.time_series
    if not series.n_held_out:
        return
    output.heading(console, f"Held out: {series.n_held_out:,} items")
    _table(console, result.evaluation.held_out)
    said = (
        f"New: fitted {len(series.fits)} times, each time to the past only, and judged on what came next."
        if series.fits
        else "New: as given."
    )
    output.sentence(
        console, f"{said} Current: if it was fitted to these reviews, that flatters it.", "dim", indent=2
    )
    for (a, b), (of_a, of_b) in result.evaluation.universal.items():
        if b != "constant":
            other = COLUMNS[b]
            output.sentence(
                console,
                f"Universal metric: {a} {of_a:.4f} where {other} sees differences,"
                f" {other} {of_b:.4f} where {a} does (lower is better).",
                indent=2,
            )


def _table(console: Console, judged: dict[str, Judged | None]) -> None:
    shown = [name for name in COLUMNS if judged.get(name) is not None]
    names = [COLUMNS[name] for name in shown]
    table = output.columns("", *names, "better", numbers=names)
    for figure, label, better in FIGURES:
        row = [_figure(judged[name], figure) for name in shown]
        table.add_row(f"  {label}", *row, Text(better, style="dim"))
    output.show(console, table)


def _figure(one: Judged | None, name: str) -> str:
    if one is None:
        return NONE
    value = getattr(one.scores, name, None)
    if value is None:
        value = getattr(one.calibration, name, None)
    return NONE if value is None else f"{value:.4f}"


def _calibration(console: Console, seen: Evaluation) -> None:
    held_out = seen.held_out.get("new")
    judged = held_out or seen.in_sample["new"]
    if judged is None or not len(judged.calibration.reliability.count):
        return
    curve = judged.calibration.reliability
    output.heading(
        console, "Calibration of the new parameters", "held out" if held_out is not None else "in-sample"
    )
    numbers = ["predicted", "recalled", "90 % interval", "reviews"]
    table = output.columns("", *numbers, numbers=numbers)
    for k in range(len(curve.count)):
        low, high = 100 * curve.low[k], 100 * curve.high[k]
        table.add_row(
            "",
            f"{100 * curve.predicted[k]:.1f} %",
            f"{100 * curve.actual[k]:.1f} %",
            f"{low:.1f} to {high:.1f}",
            f"{curve.count[k]:,}",
        )
    output.show(console, table)


def _health(console: Console, health: HealthCheck) -> None:
    if health.healthy is None or health.log_loss_ratio is None or health.rmse_bins_ratio is None:
        return
    what = "Healthy" if health.healthy else "Not healthy"
    output.heading(console, "Anki's health check", "with our recipe instead of Anki's")
    output.sentence(
        console,
        f"{what}: log loss is {health.log_loss_ratio:.2f} of what is"
        f" usual (up to {MAX_LOG_LOSS_RATIO}), RMSE(bins) {health.rmse_bins_ratio:.2f}"
        f" (up to {MAX_RMSE_BINS_RATIO}); one of them is enough.",
        indent=2,
    )


def _uncertainty(console: Console, found: Posterior) -> None:
    output.heading(
        console,
        "How sure the new parameters are",
        f"your reviews decide about {found.effective_parameters:.1f} of the {N_PARAMETERS}",
    )
    numbers = ["new", "90 % interval", "from your\nreviews"]
    table = output.columns("", *numbers, "what it is", numbers=numbers)
    for k in range(N_PARAMETERS):
        share = "at limit" if found.held[k] else f"{found.data_share[k]:.0f} %"
        table.add_row(
            f"  w{k}",
            f"{found.parameters[k]:.4f}",
            f"{found.low[k]:.4f} to {found.high[k]:.4f}",
            share,
            Text(MEANINGS[k], style="dim"),
        )
    output.show(console, table)
    output.sentence(
        console, "The rest comes from the prior: what other people's parameters are.", "dim", indent=2
    )


def _name(reason: str) -> str:
    return {
        "held_out": "Nothing is held out",
        "health": "No health check",
        "posterior": "No intervals of the parameters",
        "learning": "No advice on when to optimize again",
        "current": "Nothing is current",
        "auc": "No AUC",
    }.get(reason, reason)

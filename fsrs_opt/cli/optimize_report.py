"""What `optimize` prints for a person."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text

from fsrs_opt.cli import output, rows_report, words
from fsrs_opt.cli.evaluate_report import verdict
from fsrs_opt.commands.as_json import metric_notes
from fsrs_opt.commands.optimize import Optimized
from fsrs_opt.commands.paste import paste_line
from fsrs_opt.commands.selected import selected
from fsrs_opt.evaluation.score import Scores
from fsrs_opt.model.parameters import DEFAULTS, MEANINGS, N_PARAMETERS

DIFFERS = "differs"
NONE = "-"


def full(result: Optimized) -> None:
    """The whole report; verdict and line to paste come last, where the eye is."""
    console = output.stdout()
    rows_report.source(console, result.collection)
    chosen = selected(result.collection, result.histories, result.data.items)
    rows_report.selection(console, chosen)
    rows_report.what_was_read(console, result.histories, len(result.data), seen=chosen)
    _stages(console, result)
    _parameters(console, result)
    _scores(console, result)
    if result.messages:
        output.heading(console, "To know")
        output.bullets(console, result.messages)
    output.heading(console, "Verdict")
    _verdict(console, result)


def short(result: Optimized) -> None:
    """Verdict and line to paste."""
    _verdict(output.stdout(), result)


def _stages(console: Console, result: Optimized) -> None:
    output.heading(
        console,
        "Training",
        f"recipe {result.fit.recipe}; fitted: {words.RUNG[result.fit.rung]}",
    )
    if not result.fit.stages:
        console.print("  no stage was run")
        return
    table = output.columns("stage", "passes", "objective", numbers=["passes", "objective"])
    for stage in result.fit.stages:
        passes = f"{stage.passes}" if stage.passes else NONE
        table.add_row(f"  {stage.name}", passes, f"{stage.objective:,.3f}")
    if result.fit.recipe != "map" and result.fit.objective is not None:
        # its own objective has another prior and leaves items out
        table.add_row("  (map's objective)", NONE, f"{result.fit.objective:,.3f}")
    output.show(console, table)


def _parameters(console: Console, result: Optimized) -> None:
    output.heading(console, "Parameters")
    numbers = ["new", "current", "default"]
    table = output.columns("", *numbers, "what it is; what became of it", numbers=numbers)
    current = _current(result)
    for k in range(N_PARAMETERS):
        about = Text.assemble(MEANINGS[k], (f"; {result.fit.parameter_notes[k]}", "dim"))
        table.add_row(
            f"  w{k}",
            Text(f"{result.fit.parameters[k]:.4f}", style="bold"),
            current[k],
            Text(f"{DEFAULTS[k]:.4f}", style="dim"),
            about,
        )
    output.show(console, table)
    if DIFFERS in current:
        names = ", ".join(f"“{one.name}”" for one in result.current)
        output.sentence(
            console,
            f"Current: “{DIFFERS}” where presets hold different numbers ({names});"
            " fsrs-opt inspect shows each.",
            "dim",
            indent=2,
        )


def _current(result: Optimized) -> list[str]:
    """What is in use for each parameter, as text."""
    if not result.current:
        return [NONE] * N_PARAMETERS
    together = np.array([one.parameters for one in result.current])
    return [f"{column[0]:.4f}" if np.all(column == column[0]) else DIFFERS for column in together.T]


def _scores(console: Console, result: Optimized) -> None:
    output.heading(console, f"How well they predict your {len(result.data):,} items")
    who = {"default": "default", "current": "current", "new": "new"}
    if len(result.current) > 1:
        who["current"] = "current\n(per preset)"
    elif result.current and result.current[0].given:
        who["current"] = "current\n(given)"
    table = output.columns("", *who.values(), "", numbers=list(who.values()))
    for name, label, hint in (
        ("log_loss", "log loss", "lower is better"),
        ("log_loss_recency", "  recent items weigh more", ""),
        ("rmse_bins", "RMSE(bins)", "lower is better"),
        ("rmse_bins_recency", "  recent items weigh more", ""),
        ("auc", "AUC", "higher is better"),
    ):
        table.add_row(
            f"  {label}",
            *(_figure(result.scores[column], name) for column in who),
            Text(hint, style="dim"),
        )
    output.show(console, table)
    output.sentence(
        console,
        "In-sample: measured on the same items that the new parameters were fitted to,"
        " which flatters them a little.",
        "dim",
        indent=2,
    )
    for column, why in metric_notes(result).items():
        output.sentence(console, f"{NONE} ({column}): {why}.", "dim", indent=2)


def _figure(scores: Scores | None, name: str) -> str:
    value = None if scores is None else getattr(scores, name)
    return NONE if value is None else f"{value:.4f}"


def _verdict(console: Console, result: Optimized) -> None:
    change = result.verdict.decision == "change"
    verdict(console, result.verdict)
    if change:
        where = "the presets" if len(result.current) > 1 else "your preset"
        if result.current and result.current[0].given:
            where = "your preset"
        console.print()
        output.sentence(console, f"Paste this line into {where} (Deck options > FSRS parameters):", "dim")
        output.paste(console, paste_line(result.parameters, relearning_steps=result.relearning_steps))
    elif len(result.current) > 1:
        output.sentence(console, "Each preset keeps the parameters that it has.")
    elif result.current:
        output.sentence(console, "In use now, and to be kept:", "dim")
        output.paste(console, ", ".join(f"{value:.4f}" for value in result.current[0].parameters))
    else:
        output.sentence(console, "In Anki: leave the FSRS parameters empty, which means the defaults.")

"""What `optimize` prints for a person."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text

from fsrs_opt.cli import output, words
from fsrs_opt.commands.as_json import metric_notes
from fsrs_opt.commands.optimize import Optimized
from fsrs_opt.commands.paste import paste_line
from fsrs_opt.evaluation.score import Scores
from fsrs_opt.model.parameters import DEFAULTS, MEANINGS, N_PARAMETERS

DIFFERS = "differs"
NONE = "-"


def full(result: Optimized) -> None:
    """The whole report; verdict and line to paste come last, where the eye is."""
    console = output.stdout()
    output.facts(
        console,
        [
            ("file", output.path_name(result.collection.source.path)),
            ("kind", words.of_source(result.collection)),
            ("days", words.of_day(result.collection)),
        ],
    )
    _rows(console, result)
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


def _rows(console: Console, result: Optimized) -> None:
    past = result.histories
    output.heading(console, "What was read")
    table = output.columns("", "rows", numbers=["rows"])
    table.show_header = False
    table.add_row("  rows in the review log", f"{past.rows:,}")
    for reason, count in past.left_out.items():
        if count:
            table.add_row(f"    left out: {words.LEFT_OUT.get(reason, reason)}", f"- {count:,}")
    table.add_row("  reviews used", f"= {past.n_reviews:,}")
    same_day = past.n_reviews - past.n_cards - len(result.data)
    table.add_row("    a card's first review", f"{past.n_cards:,}")
    table.add_row("    again on the same day", f"{same_day:,}")
    table.add_row(
        "    on a later day: these are predicted (items)", Text(f"{len(result.data):,}", style="bold")
    )
    gone = sum(past.cards_left_out.values())
    left = f" ({gone:,} left out)" if gone else ""
    table.add_row(f"  cards used, of {past.cards_in_log:,} with reviews{left}", f"{past.n_cards:,}")
    output.show(console, table)


def _stages(console: Console, result: Optimized) -> None:
    output.heading(console, "Training", f"recipe {result.fit.recipe}; fitted: {words.RUNG[result.fit.rung]}")
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
            f"  Current: “{DIFFERS}” where presets hold different numbers ({names});"
            " fsrs-opt inspect shows each.",
            "dim",
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
    elif result.current and result.current[0].name == "given":
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
        "  In-sample: measured on the same items that the new parameters were fitted to,"
        " which flatters them a little.",
        "dim",
    )
    for column, why in metric_notes(result).items():
        output.sentence(console, f"  {NONE} ({column}): {why}.", "dim")


def _figure(scores: Scores | None, name: str) -> str:
    value = None if scores is None else getattr(scores, name)
    return NONE if value is None else f"{value:.4f}"


def _verdict(console: Console, result: Optimized) -> None:
    change = result.verdict.decision == "change"
    output.sentence(console, result.verdict.sentence, "bold green" if change else "bold yellow")
    if change:
        where = "the presets" if len(result.current) > 1 else "your preset"
        if result.current and result.current[0].name == "given":
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

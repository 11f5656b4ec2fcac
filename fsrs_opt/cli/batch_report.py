"""What `batch` and `results` print for a person, and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from fsrs_opt.cli import output
from fsrs_opt.cli.batch_progress import duration

if TYPE_CHECKING:
    from fsrs_opt.batch.job import Standing
    from fsrs_opt.report.collections.summary import Figure, Summary

FORMAT = "fsrs-opt.batch/1"
MOST_REASONS = 20
"""Reasons of failures that are printed; all of them are in the results."""


Reason = tuple[str, str, str]
"""Path, deck or preset ("" for the whole), and why it failed."""


def full(
    found: Summary, reasons: Sequence[Reason], written: Sequence[Path], notes: Sequence[str] = ()
) -> None:
    """The summary table, what failed and why, and where the results are."""
    from fsrs_opt.report.collections.summary import FIGURES, MODELS

    console = output.stdout()
    if found.figures:
        basis = "held out" if found.basis == "held_out" else "in-sample"
        hint = f"{basis}; median, and mean weighted by items"
        output.heading(console, "How well parameters predict", hint)
        models = [model for model in MODELS if any(model in of for of in found.figures.values())]
        names = [MODELS[model] for model in models]
        table = output.columns("", *names, "better", numbers=names)
        counts = {
            model: max(len(of[model].of_each) for of in found.figures.values() if model in of)
            for model in models
        }
        table.add_row("  results that have it", *(f"{counts[model]:,}" for model in models), "")
        for figure, (label, better) in FIGURES.items():
            of_models = found.figures.get(figure)
            if of_models is None:
                continue
            medians, means = (
                [f"{getter(of_models[model]):.4f}" if model in of_models else "-" for model in models]
                for getter in (_median, attrgetter("weighted"))
            )
            table.add_row(f"  {label}", *medians, Text(better, style="dim"))
            table.add_row("    weighted by items", *means, "")
        output.show(console, table)
    _reasons(console, reasons)
    output.heading(console, "Results")
    facts = [("done", f"{found.done:,}"), ("failed", f"{found.failed:,}")]
    if found.done:
        facts.append(("to change", f"{found.change:,} of {found.done:,} (the verdict on the new parameters)"))
    facts += [("reviews", f"{found.reviews:,} used, {found.items:,} items")]
    facts += [("files" if k == 0 else "", output.path_name(path)) for k, path in enumerate(written)]
    output.facts(console, facts)
    output.bullets(console, notes)


def only_reasons(reasons: Sequence[Reason]) -> None:
    """What failed and why, nothing else."""
    _reasons(output.stdout(), reasons)


def found_notes(standing: Standing) -> list[str]:
    """Sentences on how the files were found, and what was at hand."""
    found, said = standing.found, []
    if standing.at_hand:
        said.append(
            f"{standing.at_hand:,} of {standing.files:,} files needed nothing: their results were at hand."
        )
    if standing.unchanged:
        said.append(f"{standing.unchanged:,} files had been touched but hold the same as before.")
    if found.twice:
        were = "file was" if found.twice == 1 else "files were"
        said.append(f"{found.twice:,} {were} named more than once and done once.")
    if found.others:
        said.append(f"{found.others:,} other files in the folders are no review logs and were passed over.")
    if found.backups:
        said.append(f"{found.backups:,} of Anki's own backups were passed over; name them to have them done.")
    if standing.to_do:
        said.append(
            f"{standing.files_done:,} {'file' if standing.files_done == 1 else 'files'} took"
            f" {duration(standing.seconds)}"
            + (f", {standing.reviews / standing.seconds:,.0f} reviews a second." if standing.reviews else ".")
        )
    return said


def _median(figure: Figure) -> float:
    return figure.quantiles[1]


def as_json(
    found: Summary, reasons: Sequence[Reason], written: Sequence[Path], standing: Standing | None
) -> dict[str, Any]:
    """The object of `batch --json` and `results --json`."""
    from fsrs_opt import __version__

    return {
        "format": FORMAT,
        "version": __version__,
        "job": None
        if standing is None
        else {
            "files": standing.files,
            "at_hand": standing.at_hand,
            "done": standing.done,
            "failed": standing.failed,
            "unchanged": standing.unchanged,
            "reviews": standing.reviews,
            "seconds": round(standing.seconds, 3),
        },
        "done": found.done,
        "failed": found.failed,
        "collections": found.collections,
        "reviews": found.reviews,
        "items": found.items,
        "to_change": found.change,
        "basis": found.basis,
        "metrics": {
            model: {
                figure: {
                    "mean": of[model].mean,
                    "weighted": of[model].weighted,
                    "median": of[model].quantiles[1],
                }
                for figure, of in found.figures.items()
                if model in of
            }
            for model in dict.fromkeys(model for of in found.figures.values() for model in of)
        },
        "failures": [{"path": path, "part": part, "reason": why} for path, part, why in reasons],
        "files": [str(path) for path in written],
    }


def _reasons(console: Console, reasons: Sequence[Reason]) -> None:
    if not reasons:
        return
    output.heading(console, f"Failed: {len(reasons):,}")
    output.bullets(console, (_sentence(*reason) for reason in reasons[:MOST_REASONS]))
    if len(reasons) > MOST_REASONS:
        output.sentence(console, f"… and {len(reasons) - MOST_REASONS:,} more, in results.csv.", indent=1)


def _sentence(path: str, part: str, why: str) -> str:
    said = why if path in why else f"{path}: {why}"
    return f"{part}: {said}" if part else said

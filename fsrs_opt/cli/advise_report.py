"""What `advise` prints for a person."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from fsrs_opt.cli import output, rows_report
from fsrs_opt.commands.advice_words import group_title, listed, paste, quoted, steps
from fsrs_opt.commands.advise import Advised
from fsrs_opt.commands.selected import selected
from fsrs_opt.evaluation.paired import SURPRISES_PER_NAT, PairedDifference

DIVISIONS = {
    "in use": "the parameters that you use now, as they are",
    "one": "one new set for all",
    "presets": "a new set for each preset, divided as now",
    "advised": "as advised",
    "units": "a new set for each row of the table above",
}


def full(found: Advised) -> None:
    """The whole report; the advice comes last, where the eye is."""
    console = output.stdout()
    rows_report.source(console, found.collection)
    rows_report.selection(console, selected(found.collection, found.data.histories, found.data.items))
    _units(console, found)
    _divisions(console, found)
    if found.messages:
        output.heading(console, "To know")
        output.bullets(console, found.messages)
    _advice(console, found)


def short(found: Advised) -> None:
    """The advice and the lines to paste."""
    _advice(output.stdout(), found, title=False)


def _units(console: Console, found: Advised) -> None:
    what = "deck" if found.by == "deck" else "preset"
    output.heading(
        console,
        f"Parameters of its own for each {what}?",
        "gain: fewer surprises in 1,000 reviews",
    )
    more = [] if found.by == "preset" else ["preset now"]
    numbers = ["items", "gain", "95 % interval", "group"]
    table = output.columns(what, *more, *numbers, numbers=numbers)
    for one in found.units:
        cells = [f"{one.unit.n_items:,}", *_cells(one.gain), str(one.group + 1)]
        preset = [] if found.by == "preset" else [Text(output.plain(one.unit.preset), style="dim")]
        table.add_row(f"  {output.plain(one.unit.name)}", *preset, *cells)
    output.show(console, table)
    output.sentence(
        console,
        "Against one set for all, on cards held out. A surprise is that of a coin toss (docs/evaluation.md).",
        "dim",
        indent=2,
    )


def _cells(gain: PairedDifference | None) -> tuple[str, str]:
    if gain is None:
        return "-", "not judged"
    mean, low, high = (nats * SURPRISES_PER_NAT for nats in (gain.mean, gain.low, gain.high))
    return f"{mean:+.1f}", f"{low:+.1f} to {high:+.1f}"


def _divisions(console: Console, found: Advised) -> None:
    grouping = found.grouping
    n = int(grouping.judged.sum())
    output.heading(
        console, f"How well each division predicts {n:,} items", "of cards held out; lower is better"
    )
    sets = {
        "one": 1,
        "presets": len({one.unit.preset_id for one in found.units}),
        "advised": len(found.groups),
        "units": len(found.units),
    }
    table = output.columns("", "sets", "log loss", numbers=["sets", "log loss"])
    for name, words in DIVISIONS.items():
        loss = found.log_loss[name]
        shown = "the defaults" if name == "in use" and found.against == "default" else words
        table.add_row(
            f"  {shown}",
            str(sets.get(name, "")),
            "-" if loss is None else f"{loss:.4f}",
            style="bold" if name == "advised" else "",
        )
    output.show(console, table)
    levels = sorted({f"{100 * one.level:.4g} %" for one in grouping.candidates})
    if levels:
        n = len(grouping.candidates)
        divisions = "1 division was" if n == 1 else f"{n} divisions were"
        output.sentence(
            console,
            f"{divisions} judged against one set for all ({' or '.join(levels)} intervals must be above 0).",
            "dim",
            indent=2,
        )


def _advice(console: Console, found: Advised, *, title: bool = True) -> None:
    if title:
        output.heading(console, "Advice")
    split = len(found.groups) > 1
    style = "bold green" if split else "bold yellow"
    for k, sentence in enumerate(found.sentences):
        output.sentence(console, sentence, style if k == 0 else "")
    for k, group in enumerate(found.groups):
        console.print()
        if split:
            output.sentence(console, group_title(found, k), "bold")
            names = [found.units[unit].unit.name for unit in group.units]
            output.sentence(console, listed(quoted(names), len(names)), indent=2)
        for step in steps(found, group):
            output.sentence(console, step, indent=2 if split else 0)
        line = paste(found, group)
        if line is not None:
            output.paste(console, line)

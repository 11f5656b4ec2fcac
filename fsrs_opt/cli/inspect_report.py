"""What `inspect` prints for a person."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from fsrs_opt.cli import output, rows_report, words
from fsrs_opt.commands.as_json import FSRS_VERSION
from fsrs_opt.commands.inspect_file import Inspection

MOST_DECKS = 30
MOST_MONTHS = 24
RECENT_MONTHS = 12


def report(seen: Inspection) -> None:
    """The whole report."""
    console = output.stdout()
    facts = [
        ("file", output.path_name(seen.collection.source.path)),
        ("kind", words.of_source(seen.collection)),
        ("days", words.of_day(seen.collection)),
    ]
    if seen.first is not None and seen.last is not None:
        facts.append(("reviews", f"{seen.reviews:,} from {seen.first} to {seen.last}"))
    else:
        facts.append(("reviews", f"{seen.reviews:,}"))
    output.facts(console, facts)
    _decks(console, seen)
    _presets(console, seen)
    _months(console, seen)
    _kinds(console, seen)
    _training(console, seen)
    if seen.messages:
        output.heading(console, "To know")
        output.bullets(console, seen.messages)


def _decks(console: Console, seen: Inspection) -> None:
    if not seen.decks:
        return
    output.heading(console, "Decks", "each without its subdecks")
    table = output.columns(
        "deck", "preset", "cards", "reviews", "items", numbers=["cards", "reviews", "items"]
    )
    names = {preset.id: preset.name for preset, _ in seen.presets}
    shown = seen.decks
    if len(shown) > MOST_DECKS:
        most = sorted(shown, key=lambda pair: -pair[1].reviews)[:MOST_DECKS]
        shown = tuple(pair for pair in seen.decks if pair in most)
    for deck, part in shown:
        preset = "(filtered deck)" if deck.filtered else names.get(deck.preset_id or 0, "")
        if deck.desired_retention is not None:
            preset += f" (retention {deck.desired_retention:.0%})"
        table.add_row(
            Text(f"  {output.plain(deck.name)}"),
            Text(output.plain(preset)),
            f"{part.cards:,}",
            f"{part.reviews:,}",
            f"{part.items:,}",
        )
    if seen.deleted is not None and seen.deleted.cards:
        gone = seen.deleted
        table.add_row("  (deleted cards)", "", f"{gone.cards:,}", f"{gone.reviews:,}", f"{gone.items:,}")
    output.show(console, table)
    if len(shown) < len(seen.decks):
        output.sentence(
            console,
            f"and {len(seen.decks) - len(shown):,} decks with fewer reviews; --json lists all.",
            "dim",
            indent=2,
        )


def _presets(console: Console, seen: Inspection) -> None:
    for preset, part in seen.presets:
        output.heading(console, f"Preset {output.plain(preset.name)}")
        facts = [
            ("cards", f"{part.cards:,} with {part.reviews:,} reviews and {part.items:,} items"),
            (
                "retention",
                f"{preset.desired_retention:.0%} desired, {preset.historical_retention:.0%} historical",
            ),
            ("relearning", _steps(preset.relearning_steps)),
        ]
        if preset.parameters:
            version = FSRS_VERSION.get(len(preset.parameters), f"{len(preset.parameters)} numbers")
            numbers = ", ".join(f"{value:.4f}" for value in preset.parameters)
            facts.append(("parameters", f"{version}: {numbers}"))
        else:
            facts.append(("parameters", "none: FSRS uses the defaults"))
        if preset.search:
            facts.append(("search", preset.search))
        if preset.ignore_before:
            facts.append(("cut-off", f"cards learned before {preset.ignore_before} are left out by Anki"))
        output.facts(console, facts)


def _steps(minutes: tuple[float, ...]) -> str:
    if not minutes:
        return "no steps"
    named = ", ".join(_duration(step) for step in minutes)
    return f"{len(minutes)} step{'s' if len(minutes) > 1 else ''} ({named})"


def _duration(minutes: float) -> str:
    for size, unit in ((1440, "d"), (60, "h")):
        if minutes >= size and minutes % size == 0:
            return f"{minutes / size:g} {unit}"
    return f"{minutes:g} min"


def _months(console: Console, seen: Inspection) -> None:
    if not seen.months:
        return
    months = seen.months
    if len(months) > MOST_MONTHS:
        years: dict[str, int] = {}
        for month, count in months.items():
            years[month[:4]] = years.get(month[:4], 0) + count
        output.heading(console, "Reviews per year")
        output.bars(console, years)
        months = dict(list(months.items())[-RECENT_MONTHS:])
        output.heading(console, "Reviews per month", f"the last {RECENT_MONTHS}")
    else:
        output.heading(console, "Reviews per month")
    output.bars(console, months)


def _kinds(console: Console, seen: Inspection) -> None:
    output.heading(console, "Rows of the review log, by kind")
    table = output.columns("", "rows", numbers=["rows"])
    table.show_header = False
    for kind, count in seen.kinds.items():
        if count:
            table.add_row(f"  {kind}", f"{count:,}")
    table.add_row("  all", Text(f"{seen.histories.rows:,}", style="bold"))
    output.show(console, table)


def _training(console: Console, seen: Inspection) -> None:
    rows_report.what_was_read(console, seen.histories, seen.items, title="What optimize would use")
    output.facts(console, [("to be fitted", words.RUNG[seen.rung])])

"""What `optimize --all-presets` prints for a person."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from fsrs_opt.cli import output, rows_report
from fsrs_opt.commands.all_presets import AllPresets, PresetFit

NONE = "-"


def full(found: AllPresets) -> None:
    """A table of the presets, what to know of each, and the lines to paste last."""
    console = output.stdout()
    rows_report.source(console, found.collection)
    output.heading(console, "Presets", "each fitted to its own reviews")
    numbers = ["decks", "cards", "reviews", "items", "current", "new"]
    table = output.columns("preset", *numbers, "verdict", numbers=numbers)
    for one in found.fits:
        current, new = (NONE if loss is None else f"{loss:.4f}" for loss in one.log_loss)
        counts = (len(one.decks), one.part.cards, one.part.reviews, one.part.items)
        table.add_row(
            f"  {output.plain(one.preset.name)}",
            *(f"{count:,}" for count in counts),
            current,
            new,
            Text(_decision(one), style="bold green" if _changes(one) else "yellow"),
        )
    output.show(console, table)
    output.sentence(
        console,
        "current, new: log loss on reviews that the new parameters had not seen (lower is better); current"
        " where a preset stores no parameters: the defaults.",
        "dim",
        indent=2,
    )
    for one in found.fits:
        output.heading(console, output.plain(one.preset.name))
        _details(console, one)
    changed = [one for one in found.fits if _changes(one)]
    output.heading(console, "Verdict")
    output.sentence(console, f"Change {len(changed)} of {_presets(len(found.fits))}, keep the others.")
    _lines(console, changed)


def short(found: AllPresets) -> None:
    """A sentence for each preset, and the lines to paste."""
    console = output.stdout()
    for one in found.fits:
        output.sentence(console, f"{one.preset.name}: {_why(one)}")
    _lines(console, [one for one in found.fits if _changes(one)])


def _details(console: Console, one: PresetFit) -> None:
    output.sentence(console, _why(one), indent=2)
    if one.decks:
        output.sentence(console, f"Decks: {', '.join(one.decks)}.", indent=2)
    for each in (*one.selection, *dict.fromkeys(one.messages)):
        output.sentence(console, each, indent=2)


def _lines(console: Console, changed: list[PresetFit]) -> None:
    for one in changed:
        console.print()
        where = f"Paste this line into the preset “{one.preset.name}” (Deck options > FSRS parameters):"
        output.sentence(console, where, "dim")
        output.paste(console, str((one.result or {})["paste"]))


def _changes(one: PresetFit) -> bool:
    return one.verdict is not None and one.verdict.decision == "change"


def _decision(one: PresetFit) -> str:
    return "keep: no items" if one.verdict is None else _SHORT[one.verdict.decision]


_SHORT = {"change": "change", "keep": "keep", "not enough data": "keep: not enough data"}


def _why(one: PresetFit) -> str:
    return one.error if one.verdict is None else one.verdict.sentence


def _presets(count: int) -> str:
    return "1 preset" if count == 1 else f"{count:,} presets"

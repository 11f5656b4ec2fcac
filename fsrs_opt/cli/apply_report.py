"""What `apply` and `undo` print for a person."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from fsrs_opt.apply.backups import Backup
from fsrs_opt.apply.carry_out import Applied
from fsrs_opt.apply.plan import Change, Plan
from fsrs_opt.apply.undo import Undone
from fsrs_opt.cli import output
from fsrs_opt.commands.from_file import FileVerdict
from fsrs_opt.errors import RefusedError
from fsrs_opt.model.parameters import MEANINGS, N_PARAMETERS

NONE = "-"
MANY_DECKS = 5

CARDS_STAY = (
    "The cards keep their memory states and due dates: each is next computed with the new parameters when it"
    " is"
    " reviewed (--memory-states recomputes them now, --reschedule the due dates too)."
)
MEMORY = {
    "keep": CARDS_STAY,
    "recompute": "The memory states of these cards are recomputed; their due dates stay.",
    "reschedule": "The memory states and the due dates of these cards are recomputed.",
}


def plan(found: Plan) -> None:
    """The diff: for each preset what is written, or why not."""
    console = output.stdout()
    output.facts(
        console,
        [
            ("collection", output.path_name(found.collection)),
            ("kind", f"Anki collection, schema {found.schema}; anki package {found.anki}"),
        ],
    )
    for change in found.changes:
        _change(console, change)
    messages = [*found.notes, *(message for change in found.changes for message in change.messages)]
    if found.to_write:
        messages.append(MEMORY[found.memory])
    if messages:
        output.heading(console, "To know")
        output.bullets(console, messages)
    console.print()


def _change(console: Console, change: Change) -> None:
    output.heading(
        console, f"Preset “{output.plain(change.preset)}”", "" if not change.why_not else "is not changed"
    )
    if change.why_not:
        output.sentence(console, change.why_not, indent=2)
        return
    decks = ", ".join(change.decks[:MANY_DECKS])
    if len(change.decks) > MANY_DECKS:
        decks += f" and {len(change.decks) - MANY_DECKS} more"
    output.facts(
        console,
        [
            ("decks", f"{len(change.decks):,}: {decks}" if decks else "none"),
            ("cards", f"{change.cards:,}"),
            ("held-out gain" if change.verdict.held_out else "gain", gain(change.verdict)),
            ("verdict", change.verdict.sentence or change.verdict.decision),
        ],
    )
    table = output.columns("", "old", "new", "what it is", numbers=["old", "new"])
    for k in range(N_PARAMETERS):
        old = f"{change.old[k]:.4f}" if k < len(change.old) else NONE
        new = NONE if change.new is None else f"{change.new[k]:.4f}"
        table.add_row(
            f"  w{k}", old, Text(new, style="" if old == new else "bold"), Text(MEANINGS[k], style="dim")
        )
    output.show(console, table)
    if not change.old:
        output.sentence(
            console, "The preset holds no parameters yet: Anki uses the defaults.", "dim", indent=2
        )


def gain(verdict: FileVerdict) -> str:
    """How much lower the log loss is on the reviews that the verdict rests on."""
    if verdict.gain is None:
        return "not known"
    text = f"log loss lower by {verdict.gain:.4f} per review"
    if verdict.low is not None and verdict.high is not None:
        text += f" (95 %: {verdict.low:.4f} to {verdict.high:.4f})"
    return text


def nothing_to_write(found: Plan) -> None:
    """RefusedError where nothing can be written because of the verdicts."""
    if found.to_write:
        return
    if all(change.already_there for change in found.changes):
        return
    names = ", ".join(f"“{change.preset}”" for change in found.changes if not change.already_there)
    raise RefusedError(
        f"Nothing was written, because the verdict on new parameters for {names} is not “change”: --force"
        " writes"
        " those that there are."
    )


def done(result: Applied) -> None:
    """What was written, and where the backup is."""
    names = ", ".join(f"“{change.preset}”" for change in result.plan.to_write)
    console = output.stdout()
    output.sentence(console, f"Written: new parameters for {names}.")
    if result.plan.memory != "keep":
        output.sentence(console, f"Cards recomputed: {result.cards:,}.")
    output.sentence(
        console, f"Backup: {output.path_from_here(result.backup.file)} (fsrs-opt undo restores it)."
    )


def undone(result: Undone) -> None:
    """What was restored."""
    console = output.stdout()
    if not result.changed:
        output.sentence(
            console,
            f"Nothing to restore: the collection is as it was before {result.restored.when} already.",
        )
        return
    output.sentence(console, f"Restored: the collection as it was before {result.restored.when}.")
    if result.kept is not None:
        output.sentence(
            console, f"What was there until now is kept: {output.path_from_here(result.kept.file)}."
        )


def backups(folder: Path, found: Sequence[Backup]) -> None:
    """The backups, newest first."""
    console = output.stdout()
    if not found:
        output.sentence(console, f"There are no backups in {output.path_from_here(folder)}.")
        return
    table = output.columns("made", "MB", "before", "file", numbers=["MB"])
    for each in found:
        what = "undo --force" if each.kind == "undo" else ", ".join(one.preset for one in each.written)
        if each.undone:
            what += " (restored)"
        size = f"{each.size / 1e6:,.1f}" if each.size else "missing"
        table.add_row(f"  {each.when}", size, Text(output.plain(what)), Text(output.plain(each.file.name)))
    output.sentence(console, f"Backups in {output.path_from_here(folder)}")
    output.show(console, table)

"""What a selection chose, with counts; the whole collection is a selection too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fsrs_opt.commands.inspect_file import Counted, Part, answers
from fsrs_opt.reviews.history import Histories
from fsrs_opt.reviews.items import Items
from fsrs_opt.sources.collection import SUSPENDED_RULES, Selection

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection, Deck, Preset

MOST_NAMES = 5
"""Names in a sentence; more are counted."""

LEFT_OUT = {
    "search": "not found by the preset's own search",
    "suspended": "suspended",
    "flag": "with an excluded flag",
}
"""Why cards are not selected, by the keys of `Selection.left_out`."""


@dataclass(frozen=True)
class Selected:
    """What was selected.

    selection: None for all that the file holds. decks, presets: those with selected cards, in the order of
    their names, with their own counts (a deck's without its subdecks). total: cards (for a whole collection
    those that it still has; for a table of reviews those in the log), answers, items to train on. suspended:
    the rule in force, a key of `SUSPENDED_RULES`, "" for a table of reviews, which does not know suspended
    cards. suspended_kept: suspended cards among the selected ones.
    """

    selection: Selection | None
    decks: tuple[tuple[Deck, Part], ...]
    presets: tuple[tuple[Preset, Part], ...]
    total: Part
    suspended: str
    suspended_kept: int


def what(chosen: Selection | None) -> str:
    """What was selected, in a few words: "preset “A”, decks “B”, “C”", or "" for everything."""
    if chosen is None:
        return ""
    parts = []
    if chosen.presets:
        parts.append(_listed("preset", list(chosen.preset_names.values())))
    if chosen.deck_names:
        parts.append(_listed("deck", chosen.deck_names))
    if chosen.tags:
        parts.append(_listed("tag", chosen.tags))
    return ", ".join(parts) or "all cards that exist"


def sentences(seen: Selected) -> list[str]:
    """How the selection was made: searches, cut-off dates, what was left out, suspended cards."""
    chosen, said = seen.selection, []
    if chosen is None:
        return [_suspended(seen)] if seen.suspended else []
    for id_, search in chosen.searches.items():
        by = " by Anki's own code, on a copy" if id_ in chosen.by_anki else ""
        said.append(f"The preset “{chosen.preset_names[id_]}” has a search of its own, applied{by}: {search}")
    if out := chosen.left_out.get("search"):
        said.append(f"{out:,} of the presets' cards are not found by that search.")
    if chosen.flags:
        flags = " and ".join(map(str, chosen.flags))
        said.append(f"Left out with flag {flags}: {_cards(chosen.left_out.get('flag', 0))}.")
    return [*said, _suspended(seen)]


def _suspended(seen: Selected) -> str:
    out = 0 if seen.selection is None else seen.selection.left_out.get("suspended", 0)
    counts = [f"{n:,} {done}" for n, done in ((out, "left out"), (seen.suspended_kept, "kept")) if n]
    return f"Suspended cards: {SUSPENDED_RULES[seen.suspended]} ({', '.join(counts) or 'there are none'})."


def _listed(kind: str, names: Sequence[str]) -> str:
    quoted = [f"“{name}”" for name in names[:MOST_NAMES]]
    more = len(names) - len(quoted)
    text = ", ".join(quoted) + (f" and {more:,} more" if more else "")
    return f"{kind}{'s' if len(names) > 1 else ''} {text}"


def _cards(count: int) -> str:
    return "1 card" if count == 1 else f"{count:,} cards"


def selected(collection: Collection, past: Histories, items: Items) -> Selected:
    """The counts of a collection, whole or as `select` left it. past, items: its histories and items."""
    reviewed = collection.log["card_id"][answers(collection.log)]
    cards = collection.cards
    chosen = collection.selection
    if cards is None:
        return Selected(chosen, (), (), Part(past.cards_in_log, len(reviewed), len(items)), "", 0)
    counted = Counted(collection, reviewed, past.card_id[items.card])
    return Selected(
        selection=chosen,
        decks=tuple((deck, part) for deck, part in counted.decks() if part.cards),
        presets=tuple((preset, part) for preset, part in counted.presets() if part.cards),
        total=Part(len(cards), len(reviewed), len(items)),
        suspended="whole" if chosen is None else chosen.suspended,
        suspended_kept=int(np.count_nonzero(cards["suspended"])),
    )


def nothing_selected(collection: Collection) -> str:
    """One sentence on a selection without any review."""
    assert collection.selection is not None
    n_cards = 0 if collection.cards is None else len(collection.cards)
    left = [
        f"{count:,} {LEFT_OUT[reason]}" for reason, count in collection.selection.left_out.items() if count
    ]
    why = f" (left out: {', '.join(left)})" if left else ""
    if not n_cards:
        found = f"no card is selected{why}"
    else:
        found = f"the {n_cards:,} selected card{'s have' if n_cards > 1 else ' has'} no reviews{why}"
    of_what = what(collection.selection)
    return (
        f"{collection.source.path}, {of_what}: {found}; select more (fsrs-opt inspect shows what there is)."
    )

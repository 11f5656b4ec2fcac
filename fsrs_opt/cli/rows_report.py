"""What was read: the file, and what became of its rows, as a sum that can be checked by eye."""

from __future__ import annotations

from dataclasses import astuple

from rich.console import Console
from rich.text import Text

from fsrs_opt.cli import output, words
from fsrs_opt.commands.inspect_file import Part
from fsrs_opt.commands.selected import Selected, sentences, what
from fsrs_opt.reviews.history import Histories
from fsrs_opt.sources.collection import Collection

MOST_DECKS = 10
"""Decks in the table; of more, those with the most reviews."""


def source(console: Console, collection: Collection) -> None:
    """The file, its kind, and the day settings in force."""
    output.facts(
        console,
        [
            ("file", output.path_name(collection.source.path)),
            ("kind", words.of_source(collection)),
            ("days", words.of_day(collection)),
        ],
    )


def selection(console: Console, seen: Selected) -> None:
    """What was selected, with its counts; nothing where that is the whole file."""
    if seen.selection is None:
        return
    output.heading(console, "Selection", what(seen.selection))
    numbers = ["cards", "reviews", "items"]
    table = output.columns("", *numbers, numbers=numbers)
    decks = sorted(seen.decks, key=lambda each: -each[1].reviews)[:MOST_DECKS]
    rows = [(f"deck {deck.name}", part) for deck, part in seen.decks if (deck, part) in decks]
    rest = [part for deck, part in seen.decks if (deck, part) not in decks]
    if rest:
        more = Part(*(sum(counts) for counts in zip(*map(astuple, rest), strict=True)))
        rows.append((f"{len(rest):,} more decks", more))
    rows += [(f"preset {preset.name}", part) for preset, part in seen.presets]
    for name, part in rows:
        table.add_row(f"  {output.plain(name)}", *(f"{count:,}" for count in astuple(part)))
    table.add_row("  in all", *(f"{count:,}" for count in astuple(seen.total)), style="bold")
    output.show(console, table)
    for each in sentences(seen):
        output.sentence(console, each, indent=2)


def what_was_read(
    console: Console,
    past: Histories,
    n_items: int,
    *,
    title: str = "What was read",
    seen: Selected | None = None,
) -> None:
    """Rows, what was left out and why, what is used, and the cards. seen: what was selected; of a whole
    collection it says only what becomes of suspended cards, which is added here."""
    output.heading(console, title)
    table = output.columns("", "rows", numbers=["rows"])
    table.show_header = False
    table.add_row("  rows in the review log", f"{past.rows:,}")
    for reason, count in past.left_out.items():
        if count:
            table.add_row(f"    left out: {words.LEFT_OUT.get(reason, reason)}", f"- {count:,}")
    table.add_row("  reviews used", f"= {past.n_reviews:,}")
    same_day = past.n_reviews - past.n_cards - n_items
    table.add_row("    a card's first review", f"{past.n_cards:,}")
    table.add_row("    again on the same day", f"{same_day:,}")
    table.add_row("    on a later day: these are predicted (items)", Text(f"{n_items:,}", style="bold"))
    gone = sum(past.cards_left_out.values())
    left = f" ({gone:,} left out)" if gone else ""
    table.add_row(f"  cards used, of {past.cards_in_log:,} with reviews{left}", f"{past.n_cards:,}")
    output.show(console, table)
    if past.negative_delta_t:
        output.sentence(
            console,
            f"{past.negative_delta_t:,} negative numbers of days between reviews (the clock was set back)"
            " were taken as 0.",
            indent=2,
        )
    if seen is not None and seen.selection is None:
        for each in sentences(seen):
            output.sentence(console, each, indent=2)

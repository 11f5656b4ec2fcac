"""What was read: the file, and what became of its rows, as a sum that can be checked by eye."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from fsrs_opt.cli import output, words
from fsrs_opt.reviews.history import Histories
from fsrs_opt.sources.collection import Collection


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


def what_was_read(console: Console, past: Histories, n_items: int, *, title: str = "What was read") -> None:
    """Rows, what was left out and why, what is used, and the cards."""
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

"""The sample collection's reviews as CSV, and the facts about it that data/README.md states."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from sample_plan import PRESETS

CSV_COLUMNS = ("card_id", "review_time", "review_rating", "review_state", "review_duration")
FACTS_START, FACTS_END = "<!-- facts: written by scripts/make_sample.py -->", "<!-- end of facts -->"

LEARNING, FILTERED, MANUAL = 0, 3, 4
Row = Sequence[int]  # id, cid, ease, type, factor, time


def is_cramming(row: Row) -> bool:
    """Was this an answer in a filtered deck that does not reschedule?"""
    return row[3] == FILTERED and row[4] == 0


def counted_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of one card, oldest first, that count for FSRS, by the rules of Anki.

    They start with the last run of learning rows; a card whose last run was undone by a reset has none.
    """
    start = None
    for index in reversed(range(len(rows))):
        _, _, ease, kind, factor, _ = rows[index]
        if is_cramming(rows[index]):
            continue
        if kind == LEARNING and ease > 0:
            start = index
        elif start is not None or (kind == MANUAL and factor == 0):
            break
    if start is None:
        return []
    return [row for row in rows[start:] if row[2] > 0 and not is_cramming(row)]


def write_csv(col: Any, path: Path) -> None:
    """Write the counted reviews of all cards, deleted ones too, in the columns of FSRS-Optimizer.

    State 0 is a card's first review; else the revlog's type plus one.
    """
    rows = col.db.all("select id, cid, ease, type, factor, time from revlog order by cid, id")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for card_id, card_rows in groupby(rows, key=lambda row: row[1]):
            for index, (time, _, rating, kind, _, duration) in enumerate(counted_rows(list(card_rows))):
                writer.writerow((card_id, time, rating, kind + 1 if index else 0, duration))


def count(col: Any, query: str) -> int:
    return int(col.db.scalar(f"select count(*) from {query}"))


def anki_items(col: Any, preset: Any) -> tuple[int, Sequence[float]]:
    """How many items Anki's own optimizer finds for a preset, and the parameters that it fits to them."""
    response = col._backend.compute_fsrs_params(
        search=f'preset:"{preset.name}" -is:suspended',
        current_params=preset.current_parameters,
        ignore_revlogs_before_ms=0,
        num_of_relearning_steps=len(preset.relearning_steps),
        health_check=False,
    )
    return response.fsrs_items, response.params


def facts(col: Any) -> str:
    """Markdown tables: counts of the collection; for each preset items and parameters."""
    counts = {
        "rows in the review log": count(col, "revlog"),
        "rows that count (rows of sample.csv)": 0,
        "cards in the review log": count(col, "(select distinct cid from revlog)"),
        "cards in the collection": count(col, "cards"),
        "cards deleted, their reviews kept": count(
            col, "(select distinct cid from revlog where cid not in (select id from cards))"
        ),
        "suspended cards": count(col, "cards where queue = -1"),
        "cards in a filtered deck": count(col, "cards where odid != 0"),
        "preview rows (type 3, factor 0)": count(col, "revlog where type = 3 and factor = 0"),
        "resets (type 4, factor 0)": count(col, "revlog where type = 4 and factor = 0"),
        "due dates set (type 4, factor above 0)": count(col, "revlog where type = 4 and factor > 0"),
        "rescheduled (type 5)": count(col, "revlog where type = 5"),
    }
    rows = col.db.all("select id, cid, ease, type, factor, time from revlog order by cid, id")
    for _, card_rows in groupby(rows, key=lambda row: row[1]):
        counts["rows that count (rows of sample.csv)"] += len(counted_rows(list(card_rows)))
    lines = ["| what | count |", "| --- | --- |"]
    lines += [f"| {what} | {number} |" for what, number in counts.items()]
    lines += ["", "| preset | items by Anki's own count | parameters | w0 to w20 |"]
    lines += ["| --- | --- | --- | --- |"]
    for preset in PRESETS:
        items, fitted = anki_items(col, preset)
        lines.append(f"| {preset.name} | {items} | true | {numbers(preset.true_parameters)} |")
        lines.append(f"| | | in the preset | {numbers(preset.current_parameters) or 'none: the defaults'} |")
        lines.append(f"| | | fitted by Anki | {numbers(fitted)} |")
    return "\n".join(lines)


def numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def write_facts(col: Any, readme: Path) -> None:
    """Replace the facts in the README by those of this collection."""
    before, rest = readme.read_text(encoding="utf-8").split(FACTS_START)
    after = rest.split(FACTS_END)[1]
    text = f"{before}{FACTS_START}\n\n{facts(col)}\n\n{FACTS_END}{after}"
    readme.write_text(text, encoding="utf-8")

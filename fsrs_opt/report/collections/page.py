"""The summary of a batch as one HTML page: the distribution of each figure and parameter over collections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fsrs_opt.atomic_file import replacing
from fsrs_opt.report.collections import distributions
from fsrs_opt.report.collections.summary import Summary, failures, summary
from fsrs_opt.report.parts import Fact, Section, Table
from fsrs_opt.report.render import render
from fsrs_opt.report.wording import NB, counted, number, percent

if TYPE_CHECKING:
    import pandas as pd

_MOST_FAILURES = 200


def write(table: pd.DataFrame, target: Path) -> None:
    """Write the page on a table of `fsrs_opt.batch_results`, replacing what is there. Raises OSError where it
    cannot be written."""
    text = page(table)
    with replacing(target) as part:
        part.write_text(text, "utf-8")


def page(table: pd.DataFrame) -> str:
    """The page. The same table gives the same text."""
    found = summary(table)
    return render(
        "collections.html.jinja",
        title=counted(found.collections, "collection"),
        sentences=_sentences(found),
        figures=_facts(found),
        sections=_sections(table, found),
    )


def _sentences(found: Summary) -> list[str]:
    said = []
    loss = found.figures.get("log_loss", {})
    if found.better is not None and {"new", "default"} <= loss.keys():
        gain = 1000 * (loss["default"].weighted - loss["new"].weighted)
        how = (
            "on reviews that they had not seen"
            if found.basis == "held_out"
            else "on the reviews that they were fitted to, which flatters them"
        )
        said.append(
            f"Parameters of their own predict better than the defaults for {percent(found.better)} of the"
            f" results {how}; weighted by items, the log loss is {number(abs(gain), 1)} thousandths"
            f" {'lower' if gain > 0 else 'higher'}."
        )
    if found.failed:
        said.append(f"{counted(found.failed, 'task')} failed; the reasons are at the end of this page.")
    if not found.done:
        said.insert(0, "Nothing is done yet.")
    return said


def _facts(found: Summary) -> list[Fact]:
    facts = [
        Fact("Done", f"{found.done:,}", "fits of collections, decks or presets"),
        Fact("Failed", f"{found.failed:,}", "tasks without parameters"),
        Fact("Reviews", _short(found.reviews), "used in fitting"),
    ]
    if found.done:
        share = percent(found.change / found.done)
        facts.append(Fact("To change", share, "of the results say that the new parameters should be used"))
    return facts


def _short(count: int) -> str:
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if count >= size:
            return f"{number(count / size, 1)}{NB}{unit}"
    return f"{count:,}"


def _sections(table: pd.DataFrame, found: Summary) -> tuple[Section, ...]:
    seen = "held-out" if found.basis == "held_out" else "in-sample"
    said = {
        "held-out": "All figures are of *held-out* reviews: parameters were fitted to the past and had to"
        " predict what came next.",
        "in-sample": "All figures are *in-sample*: of the reviews that the new parameters were fitted to,"
        " which flatters them. With --evaluate a batch judges on held-out reviews.",
    }[seen]
    sections = [
        Section(
            "better",
            "How well do they predict?",
            (
                said,
                "*Log loss* is the mean surprise of a review, *RMSE(bins)* how far predicted and actual"
                " recall lie apart in groups of similar reviews (lower is better for both); *AUC* is how"
                " often, of a card that was known and one that was not, the first had the higher prediction.",
            ),
            (
                distributions.metrics(found, seen),
                distributions.gain_by_size(table, found),
            ),
        ),
        Section(
            "parameters",
            "What are the parameters like?",
            (
                "Every parameter as it was fitted, one value a result. What a collection does not tell stays"
                " near the default, which is drawn as a line.",
            ),
            (distributions.parameters(table),),
        ),
        Section("sizes", "How large are the collections?", (), (distributions.sizes(table),)),
    ]
    if found.failed:
        sections.append(Section("failed", "What failed, and why?", (), (_failure_table(table),)))
    return tuple(sections)


def _failure_table(table: pd.DataFrame) -> Table:
    rows = failures(table)
    shown = tuple(
        (path if not part else f"{path} ({part})", why) for path, part, why in rows[:_MOST_FAILURES]
    )
    more = len(rows) - len(shown)
    note = f"{more:,} more are in results.csv." if more else ""
    return Table("Tasks that failed", ("File", "Reason"), shown, text=("File", "Reason"), note=note)

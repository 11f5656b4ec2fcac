"""The program's terms in words for somebody who studies with Anki and knows no statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection

LEFT_OUT = {
    "cramming": "previews in a filtered deck (do not count)",
    "not_rated": "no answer (due date set, reset, rescheduled)",
    "unknown_kind": "of a kind that Anki does not know",
    "unknown_rating": "with a button that Anki does not have",
    "before_learning_start": "before the card was last learned from new",
    "no_learning_start": "of cards whose first learning step is missing",
    "before_cutoff": "of cards learned before the cut-off date",
    "not_selected": "of cards that were not selected",
}
"""Why rows of the review log are left out, by the reasons of `fsrs_opt.reviews.history`."""

RUNG = {
    "all": "all 21 parameters",
    "pretrain": "the initial stabilities only (w0 to w3)",
    "defaults": "nothing yet: the defaults stay",
}

KIND_OF_FILE = {
    "anki2": "Anki collection",
    "anki21b": "Anki collection (compressed)",
    "colpkg": "Anki collection package",
    "apkg": "Anki deck package",
    "package": "Anki package",
    "csv": "CSV file of reviews",
    "parquet": "Parquet file of reviews",
}


def of_source(collection: Collection) -> str:
    """What kind of file it is."""
    source = collection.source
    words = KIND_OF_FILE.get(source.kind, source.kind)
    details = []
    if source.member:
        details.append(f"read from its {source.member}")
    if collection.schema is not None:
        details.append(f"schema {collection.schema}")
    if source.form:
        details.append(f"columns of the {source.form} form")
    return words + (f" ({', '.join(details)})" if details else "")


def of_day(collection: Collection) -> str:
    """How reviews are told apart by days."""
    if "day" in collection.log:
        return "as numbered in the file"
    return collection.day.describe()

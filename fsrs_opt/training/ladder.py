"""How much the data allow: all parameters, the initial stabilities only, or none."""

from __future__ import annotations

from fsrs_opt.reviews.items import Items

MIN_ITEMS_PRETRAIN, MIN_ITEMS_ALL = 8, 64


def rung(items: Items) -> tuple[str, list[str]]:
    """How far these items allow to go, "all", "pretrain" or "defaults", and the sentence that says so."""
    n = len(items)
    if n < MIN_ITEMS_PRETRAIN:
        return "defaults", [f"{n} items are too few to fit anything ({MIN_ITEMS_PRETRAIN} are needed)."]
    if n < MIN_ITEMS_ALL:
        return "pretrain", [
            f"{n} items are enough for the initial stabilities only ({MIN_ITEMS_ALL} for all)."
        ]
    if int(items.long_term_count.max()) <= 1:
        return "pretrain", [
            "No card was reviewed on a second later day yet: only the initial stabilities are fitted."
        ]
    return "all", []

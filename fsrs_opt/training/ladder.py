"""How much the data allow: all parameters, the initial stabilities only, or none."""

from __future__ import annotations

from fsrs_opt.reviews.items import Items

MIN_ITEMS_PRETRAIN, MIN_ITEMS_ALL = 8, 64


def rung(items: Items, *, left_by_filter: bool = False) -> tuple[str, list[str]]:
    """How far these items allow to go, "all", "pretrain" or "defaults", and the sentence that says so.

    left_by_filter: the items are those that the outlier filter left, which the sentence then says.
    """
    n = len(items)
    if n < MIN_ITEMS_ALL:
        counted = f"{n:,} {'item' if n == 1 else 'items'}"
        if left_by_filter:
            counted += " left by the outlier filter"
        if n < MIN_ITEMS_PRETRAIN:
            return "defaults", [f"Too little to fit anything: {counted} ({MIN_ITEMS_PRETRAIN} are needed)."]
        return "pretrain", [
            f"Only the initial stabilities can be fitted: {counted} ({MIN_ITEMS_ALL} needed for the rest)."
        ]
    if int(items.long_term_count.max()) <= 1:
        return "pretrain", [
            "No card was reviewed on a second later day yet: only the initial stabilities are fitted."
        ]
    return "all", []

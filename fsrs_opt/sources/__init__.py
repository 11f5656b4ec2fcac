"""Files -> review log, and what is known of the collection it came from.

Names are loaded on first use: importing this package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection, Deck, Preset, Source
    from fsrs_opt.sources.days import DayBoundary, FixedGrid, WallClock
    from fsrs_opt.sources.reading import read
    from fsrs_opt.sources.selection import select

__all__ = [
    "Collection",
    "DayBoundary",
    "Deck",
    "FixedGrid",
    "Preset",
    "Source",
    "WallClock",
    "read",
    "select",
]

_HOME = {
    "Collection": "collection",
    "Deck": "collection",
    "Preset": "collection",
    "Source": "collection",
    "DayBoundary": "days",
    "FixedGrid": "days",
    "WallClock": "days",
    "read": "reading",
    "select": "selection",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

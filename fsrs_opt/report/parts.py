"""What a report is made of: pictures, tables, and sections that hold them. Plain values, no markup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[bool], "Figure"]
"""Makes the picture; True: for a wide page, False: for a phone, with the same contents one below another."""


@dataclass(frozen=True)
class Table:
    """A table: caption, names of the columns, and rows of texts [n_columns]; the first text names the row.

    text: the columns that hold words; the others hold numbers and are set flush right. note: a sentence below
    the table, "" for none.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture, what there is to see in it (caption), and the same as a table.

    name: of its file, letters and dashes. draw: None where there is nothing to draw, and `reason` says why.
    """

    name: str
    title: str
    caption: str
    table: Table | None
    draw: Draw | None
    reason: str = ""


@dataclass(frozen=True)
class Section:
    """A question, a few sentences, and the pictures and tables that answer it, in order."""

    name: str
    title: str
    text: tuple[str, ...]
    contents: tuple[Picture | Table, ...]


@dataclass(frozen=True)
class Fact:
    """A figure with its name, and a few words on what it means."""

    name: str
    value: str
    about: str


def missing(name: str, title: str, reason: str) -> Picture:
    """A picture that cannot be drawn, and why: a clause without capital and full stop."""
    return Picture(name, title, "", None, None, reason)

"""How results are printed: one console, and the few shapes that the reports are made of.

Numbers are never wrapped or cut. Names from a file are shown as they are: no markup, no control characters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

NARROWEST, NARROWEST_TERMINAL = 80, 60
"""Columns below which numbers would be cut: there the terminal may break our lines instead."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """`| head` went away: tell whoever calls, who ends quietly."""
        raise


def stdout() -> Console:
    """The console of a report. Without a terminal: 80 columns unless COLUMNS says more, and no styles."""
    console = _Console(highlight=False, markup=False, emoji=False)
    console.width = max(console.width, NARROWEST_TERMINAL if console.is_terminal else NARROWEST)
    return console


def plain(text: object) -> str:
    """Text from a file or a path on one line, without the control characters that steer a terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text))


def show(console: Console, table: Table) -> None:
    """A table; without a terminal its lines end where their text ends."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    console.file.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))


def heading(console: Console, title: str, hint: str = "") -> None:
    """A blank line and the title of a section; the hint says how to read it."""
    console.print()
    console.print(Text.assemble((title, "bold"), (f"  {hint}" if hint else "", "dim")))


def sentence(console: Console, text: str, style: str = "", *, indent: int = 0) -> None:
    """A sentence, wrapped at words on a terminal and left on one line elsewhere."""
    words = Text(plain(text), style=style)
    if console.is_terminal:
        console.print(Padding(words, (0, 0, 0, indent), expand=False))
    else:
        console.print(Text(" " * indent) + words, soft_wrap=True)


def bullets(console: Console, sentences: Iterable[str]) -> None:
    """Sentences as a list; equal ones once."""
    for each in dict.fromkeys(sentences):
        if console.is_terminal:
            row = Table.grid(padding=(0, 1))
            row.add_row(Text(" •", style="dim"), Text(plain(each)))
            show(console, row)
        else:
            console.print(Text(f" • {plain(each)}"), soft_wrap=True)


def facts(console: Console, rows: Sequence[tuple[str, str]]) -> None:
    """Names and what they are, in two columns. Without a terminal no value is broken."""
    if not console.is_terminal:
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            console.print(Text(f"  {name:<{width}}  {plain(value)}"), soft_wrap=True)
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(f"  {name}", Text(plain(value)))
    show(console, table)


def columns(*names: str, numbers: Sequence[str] = ()) -> Table:
    """A table without lines; `numbers` are set flush right and are never wrapped."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, name in enumerate(names):
        right = name in numbers
        table.add_column(
            ("  " if place == 0 else "") + name,
            justify="right" if right else "left",
            no_wrap=right,
            overflow="fold",
        )
    return table


def paste(console: Console, line: str) -> None:
    """A line to copy: on its own, without styles, and not broken by us however narrow the terminal is."""
    console.file.write(line + "\n")


def bars(console: Console, counts: dict[str, int], *, width: int = 40) -> None:
    """One horizontal bar for each name, the longest `width` characters wide."""
    block = "█" if can_show(console, "█") else "#"
    largest = max(counts.values(), default=0)
    for name, count in counts.items():
        length = 0 if not count else max(1, round(width * count / largest))
        console.print(Text.assemble(f"  {name}  {count:>9,}  ", (block * length, "cyan")), no_wrap=True)


def can_show(console: Console, letter: str) -> bool:
    """Whether the output's encoding has this character."""
    try:
        letter.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def path_name(path: os.PathLike[str]) -> str:
    """A path as it was given."""
    return plain(os.fspath(path))


def path_from_here(path: Path) -> str:
    """A path as seen from the current folder where it lies below that, else in full."""
    here = Path.cwd()
    return plain(path.relative_to(here) if path.is_relative_to(here) else path)

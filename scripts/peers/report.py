"""Tables and checks as text."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """A title, a header, rows of cells (all text; the first column is left-aligned), and remarks under it."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)

    def text(self, *, markdown: bool) -> str:
        """Columns of even width, as a Markdown section if asked."""
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        edge, between = ("| ", " | ") if markdown else ("", "  ")

        def line(cells: list[str]) -> str:
            aligned = [cells[0].ljust(widths[0])]
            aligned += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
            return f"{edge}{between.join(aligned)}{edge[::-1]}".rstrip()

        rule = ["-" * widths[0], *("-" * (width - 1) + (":" if markdown else "-") for width in widths[1:])]
        title = f"### {self.title}\n" if markdown else self.title
        lines = [title, line(self.header), line(rule), *map(line, self.rows)]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Check:
    """Something that must hold, whether it does, and the figure behind it."""

    text: str
    passed: bool
    figure: str = ""

    def __str__(self) -> str:
        return f"{'PASS' if self.passed else 'FAIL'}  {self.text}{f' ({self.figure})' if self.figure else ''}"


def number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}"

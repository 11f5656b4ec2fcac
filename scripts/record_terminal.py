#!/usr/bin/env python3
"""Record commands on a real terminal: docs/images/apply.svg, presets.svg and advise.svg.

The commands run on a pseudo-terminal on a copy of the sample collection; what they write goes through a
terminal emulator, and what that shows at the end is drawn. Needs `pip install pyte`. Linux and macOS.

    .venv/bin/python scripts/record_terminal.py [apply] [presets] [advise]
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pyte
import zstandard
from rich.console import Console
from rich.style import Style
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
COLUMNS, LINES = 108, 120
COLORS = {
    "default": None,
    "brown": "yellow",
    **{name: name for name in ("red", "green", "blue", "magenta", "cyan")},
}
"""pyte's names of the terminal's colours as rich calls them; others are RGB."""
QUESTION = "[y/N]:"
FILE = "collection.anki2"
RECORDINGS = {
    "apply": (
        ("apply", FILE, "--preset", "Languages", "--optimize"),
        ("undo", FILE, "--list"),
        ("undo", FILE),
    ),
    "presets": (
        ("optimize", FILE, "--all-presets"),
        ("evaluate", FILE, "--deck", "geography", "--suspended", "exclude", "--quiet"),
    ),
    "advise": (("advise", FILE),),
}


def run(arguments: tuple[str, ...], folder: Path, stream: pyte.Stream, screen: pyte.Screen) -> None:
    """One command on a terminal of its own; a question is answered with yes."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "fsrs_opt", *arguments],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={
            **os.environ,
            **{
                "PYTHONPATH": str(ROOT),
                "TERM": "xterm-256color",
                "COLUMNS": str(COLUMNS),
                "LINES": str(LINES),
            },
        },
    )
    os.close(theirs)
    answered = arguments[0] != "apply"
    while True:
        if not select.select([ours], [], [], 0.2)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            seen = os.read(ours, 65_536)
        except OSError:  # Linux: the other end was closed
            break
        if not seen:
            break
        stream.feed(seen.decode("utf-8", "replace"))
        if not answered and any(QUESTION in line for line in screen.display):
            os.write(ours, b"y\n")
            answered = True
    os.close(ours)
    if process.wait():
        raise SystemExit(f"fsrs-opt {' '.join(arguments)} failed")


def drawn(screen: pyte.Screen) -> Text:
    """What the screen shows, with its colours."""
    lines = []
    last = max(row for row, line in enumerate(screen.display) if line.strip())
    for row in range(last + 1):
        line = Text()
        for column in range(COLUMNS):
            letter = screen.buffer[row][column]
            color = COLORS.get(letter.fg, f"#{letter.fg}")
            line.append(letter.data, Style(color=color, bold=letter.bold))
        line.rstrip()
        lines.append(line)
    return Text("\n").join(lines)


def record(name: str) -> None:
    """Run the commands of one recording and draw what the terminal shows."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.Stream(screen)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "User 1"
        folder.mkdir()
        with zipfile.ZipFile(ROOT / "data" / "sample.colpkg") as package:
            packed = package.read("collection.anki21b")
        database = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
        (folder / FILE).write_bytes(database)
        for arguments in RECORDINGS[name]:
            stream.feed(f"\x1b[32m$\x1b[0m \x1b[1mfsrs-opt {' '.join(arguments)}\x1b[0m\r\n")
            run(arguments, folder, stream, screen)
            stream.feed("\r\n")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        console.print(drawn(screen))
    target = IMAGES / f"{name}.svg"
    target.write_text(console.export_svg(title=f"fsrs-opt {RECORDINGS[name][0][0]}"), encoding="utf-8")
    print(f"{target} written")


def main() -> None:
    for name in sys.argv[1:] or RECORDINGS:
        if name not in RECORDINGS:
            raise SystemExit(f"There is no recording {name}: choose among {', '.join(RECORDINGS)}.")
        record(name)


if __name__ == "__main__":
    main()

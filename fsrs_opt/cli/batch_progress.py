"""How far a batch job is: a bar on a terminal, and a plain line every so often elsewhere. On stderr."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsrs_opt.batch.job import Standing

LINE_SECONDS = 15.0


class BatchProgress:
    """Context manager; call it with a `Standing` to show it."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._bar: Any = None
        self._said_at: float | None = None
        self._over = False

    def __enter__(self) -> BatchProgress:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

            self._bar = Progress(
                SpinnerColumn(),
                BarColumn(bar_width=20),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
                transient=True,
                refresh_per_second=5,
            )
            self._task = self._bar.add_task("looking for files", total=None)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, now: Standing) -> None:
        if self._bar is not None:
            total, completed = max(1, now.bytes_to_do), now.bytes_done
            self._bar.update(self._task, description=words(now), completed=completed, total=total)
        elif self._shown:
            self._line(now)

    def _line(self, now: Standing) -> None:
        at = time.monotonic()
        over = now.files_done == now.to_do
        if self._over or not now.to_do:
            return
        if over or self._said_at is None or at - self._said_at >= LINE_SECONDS:
            self._said_at, self._over = at, over
            print(f"{datetime.now():%H:%M:%S} {words(now)}", file=sys.stderr, flush=True)


def words(now: Standing) -> str:
    """E.g. "1,200 of 10,000 files, 3 failed, 210,000 reviews/s, about 12 min left"."""
    said = [f"{now.files_done:,} of {now.to_do:,} files"]
    if now.failed:
        said.append(f"{now.failed:,} failed")
    if now.reviews:
        said.append(f"{now.rate:,.0f} reviews/s")
    if now.files_done < now.to_do and now.seconds_left is not None:
        said.append(f"about {duration(now.seconds_left)} left")
    return ", ".join(said)


def duration(seconds: float) -> str:
    """E.g. "40 s", "12 min", "3.5 h", "2.1 days"."""
    for unit, length, upto in (("s", 1.0, 90.0), ("min", 60.0, 5400.0)):
        if seconds < upto:
            return f"{max(1, round(seconds / length))} {unit}"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"

"""A progress line on stderr while a command works, on a terminal only."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsrs_opt.training.recipes import Progress


class Bar:
    """Context manager: shows what is being done, and is gone without a trace when the work is."""

    def __init__(self, *, shown: bool = True) -> None:
        self._bar: Any = None
        self._stage = ""
        if not shown or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Show nothing any more."""
        if self._bar is not None:
            self._bar.stop()

    def doing(self, what: str) -> None:
        """Name what begins now."""
        if self._bar is not None:
            self._bar.update(self._task, description=what, total=None, refresh=True)

    def training(self, now: Progress) -> None:
        """Where training stands; the callback of `fit`."""
        if self._bar is not None:
            passes = f"{now.passes} passes" if now.passes != 1 else "1 pass"
            text = f"{now.stage}: {passes}, objective {now.objective:.2f}"
            first_of_stage, self._stage = now.stage != self._stage, now.stage
            self._bar.update(
                self._task,
                description=text,
                completed=now.passes,
                total=now.total,
                refresh=first_of_stage,  # else as often as the terminal is drawn
            )

    def held_out(self, share: float) -> None:
        """How much of the fits for held-out reviews is done, 0 to 1."""
        self._share("fitting again, to judge on reviews that were not seen", share)

    def presets(self, share: float) -> None:
        """How much of the fits of all presets is done, 0 to 1."""
        self._share("fitting each preset", share)

    def _share(self, what: str, share: float) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=what, completed=share, total=1.0, refresh=True)

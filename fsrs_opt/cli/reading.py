"""What every command that trains begins with: read the file, select, and only then load torch."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fsrs_opt.cli.interrupts import ending_at_once
from fsrs_opt.cli.progress import Bar

if TYPE_CHECKING:
    from fsrs_opt.commands.advise import Advised
    from fsrs_opt.commands.all_presets import AllPresets
    from fsrs_opt.commands.evaluate import Evaluated
    from fsrs_opt.commands.optimize import Optimized
    from fsrs_opt.sources.collection import Collection

Result = TypeVar("Result", "Optimized", "Evaluated", "AllPresets", "Advised")


@dataclass(frozen=True)
class Reading:
    """A collection that was read, and the bar that shows what is done with it.

    started, read_at: of `time.perf_counter`.
    """

    collection: Collection
    bar: Bar
    started: float
    read_at: float

    def timed(self, result: Result) -> Result:
        """A command's result with the `seconds` of reading and in all, as they are now."""
        read, total = self.read_at - self.started, time.perf_counter() - self.started
        return replace(result, seconds={**result.seconds, "read": read, "total": total})


@contextmanager
def reading(
    path: Path,
    selection: Mapping[str, Any],
    *,
    timezone: str | None = None,
    day_start: str | None = None,
    quiet: bool = False,
) -> Iterator[Reading]:
    """Read `path` and select from it (see `options.selection_options`) with a progress bar, shown until the
    block is left unless `quiet`. What cannot be read or selected is told before torch is loaded."""
    started = time.perf_counter()
    with Bar(shown=not quiet) as bar:
        bar.doing(f"reading {path.name}")
        from fsrs_opt.sources import read, select

        collection = select(read(path, timezone=timezone, day_start=day_start), **selection)
        read_at = time.perf_counter()
        bar.doing("loading torch")
        with ending_at_once(bar.stop):
            import torch  # noqa: F401  (here, so that Ctrl-C meanwhile does no harm)
        yield Reading(collection, bar, started, read_at)

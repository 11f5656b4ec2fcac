"""What every command that trains begins with: read the file, select, and load torch if it is needed."""

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
    needs_torch: bool | None = None,
) -> Iterator[Reading]:
    """Read `path` and select from it (see `options.selection_options`) with a progress bar, shown until the
    block is left unless `quiet`. What cannot be read or selected is told before torch is loaded, if it is.

    needs_torch: None where it is just for the passes, which the compiled kernels make without it.
    """
    started = time.perf_counter()
    with Bar(shown=not quiet) as bar:
        bar.doing(f"reading {path.name}")
        from fsrs_opt.sources import read, select

        collection = select(read(path, timezone=timezone, day_start=day_start), **selection)
        read_at = time.perf_counter()
        if needs_torch is None:
            from fsrs_opt.model.kernel import choose

            needs_torch = choose(None) == "torch"
        if needs_torch:
            bar.doing("loading torch")
            with ending_at_once(bar.stop):
                import torch  # noqa: F401  (here, so that Ctrl-C meanwhile does no harm)
        yield Reading(collection, bar, started, read_at)

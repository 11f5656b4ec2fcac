"""Time of reading and selecting in a large collection, and of a fit for every preset.

Usage: python scripts/benchmark_selection.py [COLLECTION.colpkg] [--rows 1000000] [--fit]

Makes a copy of the collection (the sample, if none is given) in which cards, notes and reviews are repeated
under new ids; notes get 500 letters of text, as much as real ones have. Seconds are wall time, best of three.
--fit: also `optimize --all-presets` in one process and in two.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from fsrs_opt.sources import Collection, read, select
from fsrs_opt.sources.package import unpack
from fsrs_opt.sources.selection import each_preset

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "sample.colpkg"
STEP = 7 * 86_400_000 + 13  # ms from a card to its copy: new ids, and the same order of reviews
SELECTIONS: dict[str, dict[str, Any]] = {
    "a deck": {"deck": "*::*"},
    "a preset": {"preset": "Default"},
    "a flag left out": {"exclude_flag": 1},
    "a tag (of no note)": {"tag": "nothing"},
}
SEARCHES = ('preset:"Default" -is:suspended', 'preset:"Default" -tag:leech -flag:1', "rated:3000 -deck:x*")


def enlarge(package: Path, folder: Path, rows: int) -> Path:
    """The database of a package with at least `rows` revlog rows."""
    file = folder / "collection.anki2"
    unpack(package, file)
    with closing(sqlite3.connect(file)) as database:
        database.create_collation("unicase", lambda a, b: (a > b) - (a < b))
        have = database.execute("select count(*) from revlog").fetchone()[0]
        for table, ids in (("notes", "id"), ("cards", "id nid"), ("revlog", "id cid")):
            names = [row[1] for row in database.execute(f"pragma table_info({table})")]
            values = [f"{name} + k * {STEP}" if name in ids.split() else name for name in names]
            if table == "notes":
                values = [
                    "guid || '-' || k" if name == "guid" else one
                    for name, one in zip(names, values, strict=True)
                ]
                database.execute("update notes set flds = flds || printf('%.*c', 500, 'x')")
            database.execute(
                f"with recursive times(k) as (select 1 union all select k + 1 from times where k < ?)"
                f" insert or ignore into {table} select {', '.join(values)} from {table}, times",
                (-(-rows // have) - 1,),
            )
        database.commit()
    return file


def timed(what: str, run: Callable[[], Any], times: int = 3) -> Any:
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        found = run()
        best = min(best, time.perf_counter() - started)
    size = f"{len(found.cards):,} cards, {len(found.log):,} rows" if isinstance(found, Collection) else ""
    print(f"{what:<58} {best:6.2f} s  {size}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = enlarge(options.package, Path(folder), options.rows)
        whole = timed("reading, nothing selected", lambda: read(file))
        for name, selection in SELECTIONS.items():
            timed(f"selecting {name}", lambda selection=selection: select(whole, **selection))
        for search in SEARCHES:
            presets = {1: replace(whole.presets[1], search=search)}
            stored = replace(whole, presets={**whole.presets, **presets})
            timed(
                f"selecting a preset by its search {search}", lambda stored=stored: select(stored, preset=1)
            )
        timed("selecting each preset", lambda: each_preset(whole))
        if options.fit:
            from fsrs_opt.commands.all_presets import optimize_presets

            for workers in (1, 2):
                timed(
                    f"fitting each of {len(whole.presets)} presets, {workers} processes",
                    lambda workers=workers: optimize_presets(whole, workers=workers),
                    times=1,
                )


if __name__ == "__main__":
    main()

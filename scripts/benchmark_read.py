"""Time and memory of reading a large collection, beside a plain `pandas.read_sql` of the same rows.

Usage: python scripts/benchmark_read.py COLLECTION.anki2 [--rows 1000000] [--repeat 3]

Makes a copy of the collection with its revlog rows repeated under new ids and cards, then reads it in
processes of their own: a peak is that of one way of reading, imports included. Seconds are wall time and,
for busy machines, processor time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

MEASURED = """
import json, resource, sys, time
import numpy, pandas
{imports}
path = sys.argv[1]
start, cpu = time.perf_counter(), time.process_time()
rows = len({expression})
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
# Linux counts in KiB, macOS in bytes
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
print(json.dumps(dict(rows=rows, seconds=seconds, cpu=cpu, peak_mib=peak)))
"""
IMPORTS = "import sqlite3" + "\nfrom fsrs_opt.sources import read"
SQL = "select id, cid, ease, type, factor{more} from revlog order by id"
ALL_SQL = SQL.format(more=", time, ivl, lastIvl")
CONNECT = 'sqlite3.connect(f"file:{path}?immutable=1", uri=True)'
WAYS = {
    "fsrs_opt read, training columns": 'read(path, columns="training").log',
    "pandas.read_sql, same columns": f'pandas.read_sql("{SQL.format(more="")}", {CONNECT})',
    "fsrs_opt read, all columns": 'read(path, columns="all").log',
    "pandas.read_sql, all columns": f'pandas.read_sql("{ALL_SQL}", {CONNECT})',
}


def enlarge(collection: Path, target: Path, rows: int) -> None:
    """A copy of a collection with `rows` revlog rows: the old ones again, a day and a card later."""
    shutil.copyfile(collection, target)
    with closing(sqlite3.connect(target)) as database:
        database.create_collation("unicase", lambda a, b: (a > b) - (a < b))
        have = database.execute("select count(*) from revlog").fetchone()[0]
        if not have:
            raise SystemExit(f"{collection} has no reviews to repeat")
        database.execute(
            """
            with recursive times(k) as (select 1 union all select k + 1 from times where k < :times)
            insert or ignore into revlog
            select id + k * (86400000 + 7), cid + k, usn, ease, ivl, lastIvl, factor, time, type
            from times, (select * from revlog) limit :more
            """,
            {"times": 2 * rows // have + 1, "more": 2 * rows},
        )
        database.execute(
            "delete from revlog where id in (select id from revlog order by id limit -1 offset ?)", (rows,)
        )
        database.commit()
        database.execute("pragma journal_mode = delete")
        database.execute("vacuum")  # as after Tools > Check Database


def measure(expression: str, path: Path, repeat: int) -> dict[str, float]:
    """The cheapest of `repeat` runs, each in a new process."""
    code = MEASURED.format(imports=IMPORTS, expression=expression)
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True).stdout)
        for _ in range(repeat)
    ]
    return min(runs, key=lambda run: run["cpu"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.anki2"
        enlarge(options.collection, large, options.rows)
        print(f"{large.stat().st_size >> 20} MiB database")
        results = {name: measure(way, large, options.repeat) for name, way in WAYS.items()}
    print(f"{'':34}{'rows':>10}{'seconds':>10}{'cpu s':>10}{'peak MiB':>10}")
    for name, result in results.items():
        timed = f"{result['seconds']:>10.2f}{result['cpu']:>10.2f}"
        print(f"{name:34}{result['rows']:>10,}{timed}{result['peak_mib']:>10.0f}")
    pairs = list(results.values())
    for label, ours, plain in (("training", pairs[0], pairs[1]), ("all", pairs[2], pairs[3])):
        ratio = plain["cpu"] / ours["cpu"]
        print(f"{label} columns: {ratio:.1f} times as fast as pandas.read_sql (processor time)")


if __name__ == "__main__":
    main()

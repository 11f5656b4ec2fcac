"""A large collection made from real logs: their cards again and again, with jittered times and new ratings.

Usage: python scripts/large_collection.py TARGET.anki2 ROWS LOG.parquet…

A log is Parquet with the revlog's columns (id, cid, usn, ease, ivl, lastIvl, factor, time, type). Each copy
gets card ids of its own; each card's reviews are up to an hour later, and a tenth of its review ratings are
drawn anew from the log's own. The `anki` package makes the empty collection, so that Anki can open the file.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

COLUMNS = ["id", "cid", "usn", "ease", "ivl", "lastIvl", "factor", "time", "type"]
REVIEW = 1
HOUR_MS = 3_600_000


def copies(logs: Sequence[pd.DataFrame], rows: int, seed: int = 0) -> Iterator[pd.DataFrame]:
    """Frames with `rows` revlog rows in all, ids (times) not yet unique."""
    rng = np.random.default_rng(seed)
    first_card, k = 1, 0
    while rows > 0:
        log = logs[k % len(logs)]
        cards, card = np.unique(log["cid"].to_numpy(np.int64), return_inverse=True)
        ease = log["ease"].to_numpy(copy=True)
        redraw = (log["type"].to_numpy() == REVIEW) & (rng.random(len(log)) < 0.1)
        ease[redraw] = rng.choice(ease[log["type"].to_numpy() == REVIEW], redraw.sum())
        made = log[COLUMNS].assign(
            id=log["id"].to_numpy(np.int64) + rng.integers(0, HOUR_MS, len(cards))[card],
            cid=first_card + card,
            ease=ease,
        )
        yield made.head(rows)
        rows -= len(made)
        first_card += len(cards)
        k += 1


def make(target: Path, rows: int, logs: Sequence[Path]) -> None:
    """Write the collection; a file that is there already is replaced."""
    from anki.collection import Collection

    target.unlink(missing_ok=True)
    Collection(str(target)).close()
    all_rows = pd.concat(copies([pd.read_parquet(path) for path in logs], rows)).sort_values("id")
    # the id is the time in milliseconds: those that meet move on to the next free one
    place = np.arange(len(all_rows))
    all_rows["id"] = np.maximum.accumulate(all_rows["id"].to_numpy() - place) + place
    with closing(sqlite3.connect(target)) as database:
        database.create_collation("unicase", lambda a, b: (a > b) - (a < b))
        database.executemany(
            f"insert into revlog ({', '.join(COLUMNS)}) values ({', '.join('?' * len(COLUMNS))})",
            all_rows.astype(np.int64).itertuples(index=False, name=None),
        )
        database.execute("insert into notes values (1, 'guid', 1, 0, 0, '', '', '', 0, 0, '')")
        database.execute(
            "insert into cards select distinct cid, 1, 1, 0, 0, 0, 2, 2, 0, 1, 0, 1, 0, 0, 0, 0, 0, '{}'"
            " from revlog"
        )
        database.commit()


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]), [Path(log) for log in sys.argv[3:]])

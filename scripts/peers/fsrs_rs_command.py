"""A whole command on fsrs-rs: read a collection or a legacy package, make its items, print 21 parameters.

Usage: fsrs_rs_command.py COLLECTION.colpkg|COLLECTION.anki2 DAY_START_SECONDS [--no-card-ids]

The way its users are shown: plain Python over the rows of each card. Runs in the peers' Python.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import zipfile
from itertools import groupby

from fsrs_rs_python import DEFAULT_PARAMETERS, FSRS, FSRSItem, FSRSReview

QUERY = """
select cid, id, ease, type from revlog
where ease between 1 and 4 and (type != 3 or factor != 0) order by cid, id
"""


def read(path: str) -> list[tuple[int, int, int, int]]:
    if not zipfile.is_zipfile(path):
        return rows_of(path)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
        return rows_of(archive.extract("collection.anki21", folder))


def rows_of(database: str) -> list[tuple[int, int, int, int]]:
    connection = sqlite3.connect(database)
    rows = connection.execute(QUERY).fetchall()
    connection.close()
    return rows


def from_learning_start(rows: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """A card's rows from the first of its last run of learning rows on; none without one."""
    start = None
    for index in reversed(range(len(rows))):
        if rows[index][3] == 0:
            start = index
        elif start is not None:
            break
    return [] if start is None else rows[start:]


def items(rows: list[tuple[int, int, int, int]], day_start: int) -> list[tuple[int, int, FSRSItem]]:
    """(time, card id, item) of all cards, in time order."""
    found = []
    for card_id, of_card in groupby(rows, key=lambda row: row[0]):
        reviews: list[FSRSReview] = []
        last_day = None
        for _, time, rating, _ in from_learning_start(list(of_card)):
            day = (time // 1000 - day_start) // 86_400
            delta_t = 0 if last_day is None else day - last_day
            last_day = day
            reviews.append(FSRSReview(rating, delta_t))
            if delta_t > 0:
                found.append((time, card_id, FSRSItem(reviews[:])))
    return sorted(found, key=lambda item: item[:2])


def main() -> None:
    found = items(read(sys.argv[1]), int(sys.argv[2]))
    card_ids = None if "--no-card-ids" in sys.argv else [card_id for _, card_id, _ in found]
    model = FSRS(DEFAULT_PARAMETERS)
    parameters = model.compute_parameters([item for _, _, item in found], card_ids)
    print(len(found), "items")
    print(", ".join(f"{value:.4f}" for value in parameters))


if __name__ == "__main__":
    main()

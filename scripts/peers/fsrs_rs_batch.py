"""The same batch on fsrs-rs: for each package of a list its parameters, and how well they and the defaults
predict, one after another in one process.

Usage: fsrs_rs_batch.py LIST.json [--lean]     (pairs of a package's path and its day start in seconds)

Items are built from dates, as the example of fsrs-rs-python does; with --lean as in fsrs_rs_command.py, where
day numbers take the place of dates. Both give the same items. Prints a JSON object: processor seconds of
`compute_parameters` and of `evaluate`, how many collections gave parameters, and their items. Runs in the
peers' Python.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import groupby

from fsrs_rs_command import from_learning_start, items, read
from fsrs_rs_python import DEFAULT_PARAMETERS, FSRS, FSRSItem, FSRSReview


def items_by_date(rows: list[tuple[int, int, int, int]], day_start: int) -> list[tuple[int, int, FSRSItem]]:
    """(time, card id, item) of all cards, in time order."""
    found = []
    to_midnight = timedelta(seconds=day_start)
    for card_id, of_card in groupby(rows, key=lambda row: row[0]):
        reviews: list[FSRSReview] = []
        last: datetime | None = None
        for _, time_ms, rating, _ in from_learning_start(list(of_card)):
            date = datetime.fromtimestamp(time_ms // 1000, tz=UTC) - to_midnight
            delta_t = 0 if last is None else (at_midnight(date) - at_midnight(last)).days
            last = date
            reviews.append(FSRSReview(rating, delta_t))
            if delta_t > 0:
                item = FSRSItem(reviews[:])
                if item.long_term_review_cnt() > 0:
                    found.append((time_ms, card_id, item))
    return sorted(found, key=lambda item: item[:2])


def at_midnight(date: datetime) -> datetime:
    return date.replace(hour=0, minute=0, second=0, microsecond=0)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        packages = json.load(file)
    build = items if "--lean" in sys.argv else items_by_date
    training = figures = 0.0
    done = n_items = 0
    for package, day_start in packages:
        found = build(read(package), day_start)
        card_ids = [card_id for _, card_id, _ in found]
        its_items = [item for _, _, item in found]
        began = time.process_time()
        try:
            fitted = FSRS(DEFAULT_PARAMETERS).compute_parameters(its_items, card_ids)
        except Exception as error:  # too few items, for one
            print(package, error, file=sys.stderr)
            continue
        trained = time.process_time()
        for parameters in (fitted, DEFAULT_PARAMETERS):
            FSRS(parameters).evaluate(its_items)
        training += trained - began
        figures += time.process_time() - trained
        done += 1
        n_items += len(its_items)
    print(json.dumps({"training": training, "figures": figures, "done": done, "items": n_items}))


if __name__ == "__main__":
    main()

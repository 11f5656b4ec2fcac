"""The same batch on fsrs-rs: for each package of a list its parameters, one after another in one process.

Usage: fsrs_rs_batch.py LIST.json     (pairs of a package's path and its day start in seconds)

Each is done as in fsrs_rs_command.py. Prints a JSON object: seconds and processor seconds, of all and of what
`compute_parameters` took of it, and how many gave parameters. Runs in the peers' Python.
"""

from __future__ import annotations

import json
import sys
import time

from fsrs_rs_command import items, read
from fsrs_rs_python import DEFAULT_PARAMETERS, FSRS


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        packages = json.load(file)
    started, processor_started, training, done = time.perf_counter(), time.process_time(), 0.0, 0
    for package, day_start in packages:
        found = items(read(package), day_start)
        card_ids = [card_id for _, card_id, _ in found]
        began = time.perf_counter()
        try:
            FSRS(DEFAULT_PARAMETERS).compute_parameters([item for _, _, item in found], card_ids)
            done += 1
        except Exception as error:  # too few items, for one
            print(package, error, file=sys.stderr)
        training += time.perf_counter() - began
    seconds, processor = time.perf_counter() - started, time.process_time() - processor_started
    print(json.dumps({"seconds": seconds, "processor": processor, "training": training, "done": done}))


if __name__ == "__main__":
    main()

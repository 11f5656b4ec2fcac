"""The same batch on fsrs-rs: for each package of a list its parameters, and how well they and the defaults
predict, one after another in one process.

Usage: fsrs_rs_batch.py LIST.json     (pairs of a package's path and its day start in seconds)

Each is done as in fsrs_rs_command.py. Prints a JSON object: processor seconds of `compute_parameters` and of
`evaluate`, and how many collections gave parameters. Runs in the peers' Python.
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
    training = figures = 0.0
    done = 0
    for package, day_start in packages:
        found = items(read(package), day_start)
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
    print(json.dumps({"training": training, "figures": figures, "done": done}))


if __name__ == "__main__":
    main()

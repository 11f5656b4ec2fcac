"""The part of FSRS-Optimizer's command that leads to parameters: read the package, make items, train.

Usage: fsrs_optimizer_command.py COLLECTION.colpkg NEXT_DAY_HOUR

Its own command goes on to simulate the best retention and to evaluate. Writes files into the working folder.
"""

from __future__ import annotations

import sys

from fsrs_optimizer import Optimizer


def main() -> None:
    optimizer = Optimizer()
    optimizer.anki_extract(sys.argv[1])
    optimizer.create_time_series("UTC", "2006-10-05", int(sys.argv[2]), analysis=False)
    optimizer.define_model()
    optimizer.initialize_parameters(verbose=False)
    optimizer.train(verbose=False, recency_weight=True)
    print(len(optimizer.dataset), "items")
    print(f"parameters: {', '.join(map(str, optimizer.w))}")


if __name__ == "__main__":
    main()

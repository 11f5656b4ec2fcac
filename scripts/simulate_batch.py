"""What a batch over 10,000 and 1,000,000 collections takes: time, money, book, and the next bottleneck.

    python scripts/simulate_batch.py [--rows 27000] [--fixed-ms 5.2 …]

Plays the jobs through, task by task, with the rates that `scripts/benchmark_batch.py` and the book of a job
give (the defaults; measure on your machines and give your own): collections of random sizes, the largest
first, each worker taking the next one when it is done; the main process taking its own time for every result.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass

import numpy as np

SIGMA = 1.4  # of the logarithm of the rows: the field's collections span about 300 to 1,000,000 rows
JOBS = ((10_000, 2), (10_000, 16), (10_000, 64), (1_000_000, 64), (1_000_000, 512), (1_000_000, 4096))


@dataclass(frozen=True)
class Rates:
    """fixed_ms and ms_per_1000_rows: processor time of a task; central_ms: of the main process for each
    result (with dask: and of its scheduler); book_bytes: for each result; file_bytes: for each row; start_s:
    of a worker; price: of a core for an hour."""

    rows: float
    fixed_ms: float
    ms_per_1000_rows: float
    central_ms: float
    book_bytes: float
    file_bytes: float
    start_s: float
    price: float


@dataclass(frozen=True)
class Played:
    """seconds: of the whole job; busy: share of the workers' time that they work; central: share of the main
    process's time that it works; last: seconds at the end in which some worker has nothing to do."""

    seconds: float
    busy: float
    central: float
    last: float


def play(seconds: np.ndarray, workers: int, central: float, start: float) -> Played:
    """Tasks in the given order, each to the worker that is free first; the main process takes `central`
    seconds for each result, one after another, and a worker waits for nothing but its own next order."""
    free = [start] * min(workers, len(seconds))
    heapq.heapify(free)
    main_free = 0.0
    for each in seconds.tolist():
        # an order goes out when the main process has time for it
        at = max(heapq.heappop(free), main_free)
        main_free = at + central
        heapq.heappush(free, at + each)
    end = max(max(free), main_free)
    return Played(
        end, float(seconds.sum()) / (len(free) * end), central * len(seconds) / end, end - min(free)
    )


def sizes(n: int, mean: float, random: np.random.Generator) -> np.ndarray:
    """Rows of n collections: log-normal with this mean."""
    return np.exp(random.normal(np.log(mean) - SIGMA**2 / 2, SIGMA, size=n))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=27_000, help="mean rows of a collection")
    parser.add_argument("--fixed-ms", type=float, default=5.2)
    parser.add_argument("--ms-per-1000-rows", type=float, default=0.6)
    parser.add_argument("--central-ms", type=float, default=1.0)
    parser.add_argument("--book-bytes", type=float, default=2_100)
    parser.add_argument("--file-bytes", type=float, default=11.0)
    parser.add_argument("--start-s", type=float, default=1.0)
    parser.add_argument("--price", type=float, default=0.04, help="of a core for an hour")
    parser.add_argument("--factor", type=float, default=1.0, help="on the time; about 3 with --evaluate")
    options = vars(parser.parse_args())
    factor = options.pop("factor")
    rates = Rates(**options)
    print(
        f"mean {rates.rows:,.0f} rows; {rates.fixed_ms:g} ms a task and {rates.ms_per_1000_rows:g} ms for"
        f" 1,000 rows, times {factor:g}; {rates.central_ms:g} ms of the main process\n"
    )
    heads = ("collections", "workers", "minutes", "core hours", "cost", "busy", "main busy", "tail s", "book")
    print("".join(f"{head:>12}" for head in (*heads, "read MB/s")))
    random = np.random.default_rng(0)
    for n, workers in JOBS:
        rows = np.sort(sizes(n, rates.rows, random))[::-1]
        seconds = factor * (rates.fixed_ms + rates.ms_per_1000_rows * rows / 1000) / 1000
        played = play(seconds, workers, rates.central_ms / 1000, rates.start_s)
        hours = played.seconds / 3600
        print(
            f"{n:12,}{workers:12,}{60 * hours:12.1f}{hours * workers:12.1f}"
            f"{hours * workers * rates.price:12.2f}"
            f"{played.busy:12.0%}{played.central:12.0%}{played.last:12.0f}"
            f"{n * rates.book_bytes / 1e6:9,.0f} MB"
            f"{rows.sum() * rates.file_bytes / played.seconds / 1e6:12,.0f}"
        )
    most = 1000 / rates.central_ms
    mean = factor * (rates.fixed_ms + rates.ms_per_1000_rows * rates.rows / 1000) / 1000
    print(f"\nThe main process can take {most:,.0f} results a second: enough for {most * mean:,.0f} workers.")


if __name__ == "__main__":
    main()

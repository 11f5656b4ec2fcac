"""Nanoseconds per review of the native kernels, beside fsrs-rs's epoch, in one run.

    python scripts/benchmark_kernels.py LOG.parquet [--copies 10] [--rounds 7]

LOG is a review log in Parquet with revlog columns (id, cid, ease, type, factor); without it the log is
simulated. A round makes eight passes of a kind in a row, as a fit does (threads sleep between fits, not
between passes), and takes their mean. Every figure is the median over rounds, and the rounds of all
candidates are interleaved, so that a busy machine slows all of them alike. Times are processor time for one
thread, wall time for two; those of fsrs-rs are given as both. Its epoch is the difference between runs of 13
and of 3 epochs, with card ids, divided by the reviews. Needs numpy and pandas, and fsrs-rs-python for the
ratios; no torch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from peers.fsrs_rs_items import fsrs_rs_items

from fsrs_opt import _native
from fsrs_opt.reviews.history import histories

# The defaults of FSRS-6; the cost of a pass does not depend on the parameters.
W = np.fromstring(
    "0.212 1.2931 2.3065 8.2956 6.4133 0.8334 3.0194 0.001 1.8722 0.1666 0.796 "
    "1.4835 0.0614 0.2629 1.6483 0.6014 1.8729 0.5425 0.0912 0.0658 0.1542",
    sep=" ",
)
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
FEW, MANY = 3, 13  # epochs
PASSES = 8  # in a row


def read(path: str) -> Arrays:
    """offsets, rating, delta_t, weight of the histories in a Parquet log; days are those of UTC."""
    rows = pd.read_parquet(path)
    log = pd.DataFrame(
        {
            "review_time": rows["id"].astype(np.int64),
            "card_id": rows["cid"].astype(np.int64),
            "rating": rows["ease"].astype(np.int8),
            "kind": rows["type"].astype(np.int8),
            "factor": rows["factor"].astype(np.int32),
        }
    )
    h = histories(log, lambda ms: ms // 86_400_000)
    return h.offsets, h.rating, h.delta_t, (h.delta_t > 0).astype(np.float64)


def simulate(n_cards: int = 5000, seed: int = 0) -> Arrays:
    """Cards of geometric length with log-normal gaps; a stand-in where no log is given."""
    rng = np.random.default_rng(seed)
    lengths = rng.geometric(1 / 9, n_cards)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = offsets[-1]
    rating = rng.choice([1, 2, 3, 4], n, p=[0.12, 0.1, 0.68, 0.1]).astype(np.int8)
    delta_t = np.where(rng.random(n) < 0.3, 0, np.exp(rng.normal(2, 1.5, n))).astype(np.int32)
    delta_t[offsets[:-1]] = 0
    return offsets, rating, delta_t, (delta_t > 0).astype(np.float64)


def replicate(arrays: Arrays, copies: int) -> Arrays:
    """The same histories as new cards, with redrawn ratings after the first."""
    offsets, rating, delta_t, weight = arrays
    rng = np.random.default_rng(1)
    n = len(rating)
    many = np.concatenate([offsets[:-1] + c * n for c in range(copies)] + [[copies * n]])
    drawn = np.tile(rating, copies)
    redraw = (rng.random(copies * n) < 0.1) & (np.tile(weight, copies) > 0)
    drawn[redraw] = rng.choice(rating[weight > 0], redraw.sum())
    return many.astype(np.int64), drawn, np.tile(delta_t, copies), np.tile(weight, copies)


def fsrs_rs_epochs(arrays: Arrays) -> Callable[[int], object] | None:
    """A function that trains fsrs-rs for some epochs on all items of the histories, or None without it."""
    try:
        import fsrs_rs_python as rs
    except ImportError:
        return None
    offsets, rating, delta_t, weight = arrays
    review = np.flatnonzero(weight > 0)
    card = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[review]
    items, card_ids = fsrs_rs_items(offsets, rating, delta_t, review, card), card.tolist()
    model = rs.FSRS(list(W))
    return lambda epochs: model.compute_parameters(
        items, card_ids, training_config=rs.TrainingConfig(num_epochs=epochs)
    )


def timed(call: Callable[[], object], clock: Callable[[], float], times: int = 1) -> float:
    """Seconds of a call, the mean of some in a row."""
    start = clock()
    for _ in range(times):
        call()
    return (clock() - start) / times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", nargs="?")
    parser.add_argument("--copies", type=int, default=1, help="times the log is replicated (default 1)")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    small = read(options.log) if options.log else simulate()
    large = replicate(small, options.copies)
    n_small, n_large = len(small[1]), len(large[1])
    pack = _native.Pack(*large)

    calls: dict[str, tuple[Callable[[], object], Callable[[], float], int]] = {}
    calls["pack"] = (lambda: _native.Pack(*large), time.process_time, n_large)
    for isa in _native.isas():
        for name in ("loss", "loss_gradient", "loss_gradient_fisher", "forward"):
            method = getattr(pack, name)
            calls[f"{isa} {name}"] = (lambda m=method, i=isa: m(W, 1, i), time.process_time, n_large)
        calls[f"{isa} loss_gradient, 2 threads"] = (
            lambda i=isa: pack.loss_gradient(W, 2, i),
            time.perf_counter,
            n_large,
        )
        calls[f"{isa} loss_gradient, 1 thread, wall"] = (
            lambda i=isa: pack.loss_gradient(W, 1, i),
            time.perf_counter,
            n_large,
        )
    train = fsrs_rs_epochs(small)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    epoch: dict[str, list[float]] = {"processor time": [], "wall time": []}
    for _ in range(options.rounds):
        for name, (call, clock, n) in calls.items():
            seconds[name].append(timed(call, clock, PASSES) / n)
        if train is not None:
            for name, clock in (("processor time", time.process_time), ("wall time", time.perf_counter)):
                few, many = timed(lambda: train(FEW), clock), timed(lambda: train(MANY), clock)
                epoch[name].append((many - few) / (MANY - FEW) / n_small)

    print(f"{n_small} reviews, replicated to {n_large}; slots per review {pack.n_slots / n_large:.2f}")
    print(f"cores {os.cpu_count()}, medians of {options.rounds} rounds, ns per review\n")
    ns = {name: 1e9 * statistics.median(values) for name, values in seconds.items()}
    for name, value in ns.items():
        print(f"{name:44s}{value:8.2f}   (least {1e9 * min(seconds[name]):.2f})")
    print()
    for isa in _native.isas():
        gradient = ns[f"{isa} loss_gradient"]
        print(f"{isa}: Fisher pass / gradient pass {ns[f'{isa} loss_gradient_fisher'] / gradient:.2f}")
        two, one = ns[f"{isa} loss_gradient, 2 threads"], ns[f"{isa} loss_gradient, 1 thread, wall"]
        print(f"{isa}: one thread / two threads {one / two:.2f}")
    if train is None:
        print("fsrs-rs-python is not installed: no ratios to it")
        return
    for name, values in epoch.items():
        per_review = 1e9 * statistics.median(values)
        print(
            f"\nfsrs-rs epoch, card ids, {name}: {per_review:.1f} ns per review "
            f"(least {1e9 * min(values):.1f})"
        )
        for isa in _native.isas():
            own = ns[f"{isa} loss_gradient" + (", 1 thread, wall" if name == "wall time" else "")]
            print(f"fsrs-rs epoch / {isa} loss + gradient: {per_review / own:.1f}")


if __name__ == "__main__":
    main()

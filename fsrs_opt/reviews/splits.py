"""Time-series splits: train on the past, test on what came next."""

from __future__ import annotations

from itertools import pairwise


def time_series_splits(n_items: int, n: int = 5) -> list[tuple[slice, slice]]:
    """Slices (train, test) of `n_items` items in time order, for the honest figure of a fit.

    The items are cut into n + 1 segments; the k-th split trains on the first k and tests on the one after
    them. The last segment takes what does not divide. Without an item for every segment there is no split.
    """
    if n < 1:
        raise ValueError(f"n is {n}: at least one split is needed")
    segment = n_items // (n + 1)
    if segment == 0:
        return []
    ends = [segment * k for k in range(1, n + 1)] + [n_items]
    return [(slice(0, end), slice(end, next_end)) for end, next_end in pairwise(ends)]

"""The order of many whole numbers, and which there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def stable_order(values: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """What `np.argsort(values, kind="stable")` gives, int64 [n], in a fraction of its time.

    Numpy sorts plain numbers many times faster than it sorts places. So each value carries its place in its
    lowest bits, where both fit into 64 bits together; times and ids of a review log do.
    """
    n = len(values)
    bits = n.bit_length()
    lowest, highest = (int(values.min()), int(values.max())) if n else (0, 0)
    if (highest - lowest).bit_length() + bits > 64:
        return np.argsort(values, kind="stable")
    packed = values.astype(np.uint64)  # of negative numbers too the difference to the lowest comes out right
    packed -= np.uint64(lowest % 2**64)
    packed <<= np.uint64(bits)
    packed |= np.arange(n, dtype=np.uint64)
    packed.sort()
    packed &= np.uint64((1 << bits) - 1)
    return packed.view(np.int64)


def distinct(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What `np.unique(values)` gives. Asked for counts too numpy sorts, else it fills a hash table, which is
    many times slower."""
    return np.unique(values, return_counts=True)[0]

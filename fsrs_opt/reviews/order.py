"""Sorting many whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]


def sort_with_places(values: npt.NDArray[np.integer[Any]]) -> tuple[Int64, Int64]:
    """The values in order, int64 [n], and where each was, int64 [n]; equal values stay in their order.

    The places are those of `np.argsort(values, kind="stable")`, in a fraction of its time: numpy sorts plain
    numbers many times faster than it sorts places. So each value carries its place in its lowest bits, where
    both fit into 64 bits together; times and ids of a review log do.
    """
    n = len(values)
    bits = n.bit_length()
    lowest, highest = (int(values.min()), int(values.max())) if n else (0, 0)
    if (highest - lowest).bit_length() + bits > 64:
        places = np.argsort(values, kind="stable")
        return values[places].astype(np.int64), places
    packed = values.astype(np.uint64)  # of negative numbers too the difference to the lowest comes out right
    packed -= np.uint64(lowest % 2**64)
    packed <<= np.uint64(bits)
    packed |= np.arange(n, dtype=np.uint64)
    packed.sort()
    places = (packed & np.uint64((1 << bits) - 1)).view(np.int64)
    packed >>= np.uint64(bits)
    packed += np.uint64(lowest % 2**64)
    return packed.view(np.int64), places

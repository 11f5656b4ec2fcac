"""The training set as mini-batches of items, for the classic recipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fsrs_opt.model.batch import FSRSBatch
from fsrs_opt.training.data import TrainingSet

Array = npt.NDArray[Any]


def mini_batches(
    data: TrainingSet,
    size: int,
    *,
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
    kernel: str | None = None,
) -> Iterator[FSRSBatch]:
    """Mini-batches of `size` items; items with histories of similar length share a batch."""
    histories, chosen = data.histories, data.items
    first = histories.offsets[:-1][chosen.card]
    length = chosen.review - first
    order = np.argsort(length, kind="stable")
    for start in range(0, len(order), size):
        here = order[start : start + size]
        step = np.arange(length[here].max())[:, None]
        index = first[here] + step
        there = step < length[here]
        index[~there] = 0
        ratings = np.where(there, histories.rating[index], 0)
        delta_ts = np.where(there, histories.delta_t[index], 0)

        def tensor(values: Array) -> torch.Tensor:
            return torch.as_tensor(values, dtype=dtype, device=device)

        yield FSRSBatch(
            t_historys=tensor(delta_ts),
            r_historys=tensor(ratings),
            delta_ts=tensor(chosen.delta_t[here]),
            labels=tensor(chosen.label[here]),
            weights=tensor(data.weights[here]),
            kernel=kernel,
        )

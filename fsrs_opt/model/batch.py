"""What a training step is computed on: mini-batches of items, and whole cards (the windowed form).

torch is loaded by what runs on it, no sooner.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsrs_opt.model import native
from fsrs_opt.model.kernel import choose
from fsrs_opt.model.parameters import FloatArray
from fsrs_opt.model.pass_result import PassResult

if TYPE_CHECKING:
    from torch import Tensor

    from fsrs_opt._native import Pack
    from fsrs_opt.model.passes import Steps


@dataclass(frozen=True)
class WindowedBatch:
    """Whole cards: each card's recurrence runs once and scores all of its reviews that carry a weight.

    offsets int64 [n_cards + 1]: card c owns reviews offsets[c]:offsets[c + 1]; rating int8 [n_reviews]
    (1..4); delta_t int32 [n_reviews] (float64 for fractions of days, which only the torch kernel takes), days
    since the review before; weight float64 [n_reviews], 0 where
    a review is not scored (first of a card, same day, left out). The label is rating > 1. kernel, device: see
    `kernel.choose`; dtype: "float64" or "float32", of the torch kernel.
    """

    offsets: NDArray[np.int64]
    rating: NDArray[np.int8]
    delta_t: NDArray[np.int32] | NDArray[np.float64]
    weight: NDArray[np.float64]
    dtype: str = "float64"
    device: str = "cpu"
    kernel: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("packed", "steps")}

    @cached_property
    def packed(self) -> Pack | None:
        """The form that the native kernel works on, None where torch runs the passes."""
        if choose(self.kernel, self.device) == "torch":
            return None
        return native.pack(self.offsets, self.rating, self.delta_t, self.weight)

    @cached_property
    def steps(self) -> Steps:
        """The form that the torch kernel works on."""
        from fsrs_opt.model import passes

        return passes.make_steps(
            self.offsets, self.delta_t, self.rating, self.weight, dtype=self.dtype, device=self.device
        )

    @property
    def n_reviews(self) -> int:
        return len(self.rating)

    def evaluate(self, w: FloatArray, *, fisher: bool = False) -> PassResult:
        """Loss, gradient and, if asked, Fisher matrix at parameters `w` [21]."""
        if self.packed is not None:
            return native.evaluate(self.packed, w, fisher=fisher)
        from fsrs_opt.model import passes

        return passes.evaluate(self.steps, w, fisher=fisher)

    def retrievability(self, w: FloatArray) -> FloatArray:
        """Retrievability [n_reviews] before each review; NaN at the first review of a card."""
        return self.memory_states(w)[0]

    def memory_states(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Retrievability before, stability and difficulty after each review [n_reviews]."""
        if self.packed is not None:
            return native.predict(self.packed, w)
        from fsrs_opt.model import passes

        return passes.predict(self.steps, w)


@dataclass(frozen=True)
class FSRSBatch:
    """A mini-batch of items, in the field's form.

    t_historys, r_historys [seq_len, batch]: days since the review before, and rating, of each review in
    an item's history (rating 0 is padding at the end); delta_ts, labels, weights [batch]: the scored review.
    kernel: see `kernel.choose`; None is torch for float64 tensors, which ask for its accuracy.
    """

    t_historys: Tensor
    r_historys: Tensor
    delta_ts: Tensor
    labels: Tensor
    weights: Tensor
    kernel: str | None = None

    def __post_init__(self) -> None:
        if self.t_historys.shape != self.r_historys.shape or self.t_historys.dim() != 2:
            raise ValueError("t_historys and r_historys must both have the shape [seq_len, batch]")
        n = self.t_historys.shape[1]
        if any(x.shape != (n,) for x in (self.delta_ts, self.labels, self.weights)):
            raise ValueError("delta_ts, labels and weights must have the shape [batch]")

    @cached_property
    def windowed(self) -> WindowedBatch:
        """Each item as a card of its own, of which the last review is scored."""
        there = (self.r_historys > 0).cpu().numpy()
        n_history = there.sum(axis=0)
        n = len(n_history)
        if n and (not there[0].all() or (there[1:] > there[:-1]).any()):
            raise ValueError("padding (rating 0) must come after the reviews of a history")
        offsets = np.concatenate([[0], np.cumsum(n_history + 1)]).astype(np.int64)
        last = offsets[1:] - 1  # the scored review of each item follows its history
        delta_t, rating, weight = (np.zeros(offsets[-1]) for _ in range(3))
        in_history = np.ones(offsets[-1], dtype=bool)
        in_history[last] = False
        delta_t[in_history] = self.t_historys.cpu().numpy().T[there.T]
        rating[in_history] = self.r_historys.cpu().numpy().T[there.T]
        delta_t[last] = self.delta_ts.cpu().numpy()
        rating[last] = np.where(self.labels.cpu().numpy() > 0, 3, 1)
        weight[last] = self.weights.cpu().numpy()
        dtype = str(self.t_historys.dtype).removeprefix("torch.")
        most = np.iinfo(np.int32).max
        whole_days = bool(((delta_t == np.rint(delta_t)) & (np.abs(delta_t) <= most)).all())
        return WindowedBatch(
            offsets=offsets,
            rating=rating.astype(np.int8),
            delta_t=delta_t.astype(np.int32) if whole_days else delta_t,
            weight=weight,
            dtype=dtype,
            device=str(self.t_historys.device),
            kernel=self.kernel if self.kernel or dtype == "float32" else "torch",
        )

    def evaluate(self, w: FloatArray, *, fisher: bool = False) -> PassResult:
        """Loss, gradient and, if asked, Fisher matrix at parameters `w` [21]."""
        return self.windowed.evaluate(w, fisher=fisher)

"""FSRS-6 as a torch module: the equations one by one, in the form that autograd can follow.

State of a card: stability S (days until recall falls to 90 %) and difficulty D (1..10). Tensors are
elementwise over cards; `w` is the tensor [21] of parameters. Source of the formulas: the public
FSRS-6 algorithm (fsrs-rs 6.6). Gradients of clamp, min and max follow the branch that was taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fsrs_opt.model import parameters
from fsrs_opt.model.parameters import D_MAX, D_MIN, S_MAX, S_MIN

if TYPE_CHECKING:
    from fsrs_opt.model.batch import FSRSBatch

R_CLAMP = 1e-7  # retrievability is kept this far from 0 and 1 before the logarithm


def forgetting_curve(t: Tensor, stability: Tensor, w: Tensor) -> Tensor:
    """Retrievability t days after a review: R(t, S) = (1 + factor t / S)^decay, so that R(S, S) = 0.9."""
    decay = -w[20]
    factor = torch.exp(math.log(0.9) / decay) - 1
    return (1 + factor * t / stability) ** decay


def interval(stability: Tensor, desired_retention: float, w: Tensor) -> Tensor:
    """Days after which retrievability has fallen to `desired_retention` (not rounded)."""
    decay = -w[20]
    factor = torch.exp(math.log(0.9) / decay) - 1
    return stability / factor * (desired_retention ** (1 / decay) - 1)


def initial_difficulty(rating: Tensor, w: Tensor) -> Tensor:
    """D0(G) = w4 - exp(w5 (G - 1)) + 1, not clamped."""
    return w[4] - torch.exp(w[5] * (rating - 1)) + 1


def initial_state(rating: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Stability and difficulty after the first review with `rating` (1..4)."""
    stability = w[rating.long() - 1]
    return stability, initial_difficulty(rating, w).clamp(D_MIN, D_MAX)


def same_day_stability(stability: Tensor, rating: Tensor, w: Tensor) -> Tensor:
    """Stability after a review on the same day; Hard, Good and Easy never lower it."""
    inc = torch.exp(w[17] * (rating - 3 + w[18])) * stability ** -w[19]
    # where() instead of maximum(): at a tie autograd must take one side whole, the raw one
    kept = torch.where((rating >= 2) & (inc < 1), torch.ones_like(inc), inc)
    return stability * kept


def lapse_stability(stability: Tensor, difficulty: Tensor, retrievability: Tensor, w: Tensor) -> Tensor:
    """Stability after Again on a later day; never above what same-day steps could give back."""
    new = (
        w[11]
        * difficulty ** -w[12]
        * ((stability + 1) ** w[13] - 1)
        * torch.exp(w[14] * (1 - retrievability))
    )
    ceiling = stability / torch.exp(w[17] * w[18])
    return torch.where(new <= ceiling, new, ceiling)


def recall_stability(
    stability: Tensor, difficulty: Tensor, retrievability: Tensor, rating: Tensor, w: Tensor
) -> Tensor:
    """Stability after Hard, Good or Easy on a later day."""
    one = torch.ones_like(stability)
    hard = torch.where(rating == 2, w[15] * one, one)
    easy = torch.where(rating == 4, w[16] * one, one)
    growth = (
        torch.exp(w[8])
        * (11 - difficulty)
        * stability ** -w[9]
        * (torch.exp(w[10] * (1 - retrievability)) - 1)
        * hard
        * easy
    )
    return stability * (1 + growth)


def next_difficulty(difficulty: Tensor, rating: Tensor, w: Tensor) -> Tensor:
    """Difficulty after a later review: linear damping, then reversion towards D0(Easy), not clamped."""
    damped = difficulty + (10 - difficulty) * (-w[6] * (rating - 3)) / 9
    target = w[4] - torch.exp(3 * w[5]) + 1
    return w[7] * (target - damped) + damped


def next_state(
    stability: Tensor, difficulty: Tensor, delta_t: Tensor, rating: Tensor, w: Tensor
) -> tuple[Tensor, Tensor]:
    """Stability and difficulty after a later review, `delta_t` days after the one before."""
    stability = stability.clamp(S_MIN, S_MAX)
    difficulty = difficulty.clamp(D_MIN, D_MAX)
    retrievability = forgetting_curve(delta_t, stability, w)
    later_day = torch.where(
        rating == 1,
        lapse_stability(stability, difficulty, retrievability, w),
        recall_stability(stability, difficulty, retrievability, rating, w),
    )
    new = torch.where(delta_t == 0, same_day_stability(stability, rating, w), later_day)
    return new.clamp(S_MIN, S_MAX), next_difficulty(difficulty, rating, w).clamp(D_MIN, D_MAX)


@dataclass(frozen=True)
class ClassificationOutput:
    """What a forward pass gives: loss (scalar, weighted sum), retrievability and labels [batch]."""

    loss: Tensor
    retrievability: Tensor
    labels: Tensor


def as_array(values: Tensor) -> parameters.FloatArray:
    """A tensor's numbers as float64; they are the tensor's own where it has them on the processor."""
    values = values.detach()
    if values.dtype == torch.float64 and values.is_cpu:
        return values.numpy()
    return values.cpu().double().numpy()


class FSRS6(nn.Module):
    """FSRS-6 with one parameter `w` [21].

    relearning_steps and short_term decide the allowed ranges (`clip_`). `initial_stability_frozen` is
    set by the pretrain stage and cleared by finetune: while it is set, the training step replaces the
    gradient of w0..w3 by zero.
    """

    def __init__(
        self,
        w: object = None,
        *,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str | None = None,
        relearning_steps: int = 1,
        short_term: bool = True,
    ) -> None:
        super().__init__()
        values = parameters.DEFAULTS if w is None else np.asarray(w, dtype=np.float64)
        if values.shape != (parameters.N_PARAMETERS,) or not all(map(math.isfinite, values)):
            raise ValueError("FSRS-6 needs 21 finite parameters (parameters.convert reads older sets)")
        within = parameters.clip(values, relearning_steps=relearning_steps, short_term=short_term, given=True)
        self.w = nn.Parameter(torch.from_numpy(within).to(dtype=dtype, device=device))
        self.relearning_steps = relearning_steps
        self.short_term = short_term
        self.initial_stability_frozen = False

    def parameters_array(self) -> parameters.FloatArray:
        """A copy of `w` as float64 [21]."""
        return as_array(self.w).copy()

    def clip_(self) -> NDArray[np.bool_]:
        """Bring `w` into its allowed ranges, in place (`parameters.clip`). What is inside keeps its bits.

        Returns which entries were outside, bool [21].
        """
        before = self.parameters_array()
        after = parameters.clip(before, relearning_steps=self.relearning_steps, short_term=self.short_term)
        outside: NDArray[np.bool_] = after != before
        if any(outside):  # of so few a plain loop is quicker than numpy's
            w = self.w.detach()
            moved = torch.as_tensor(outside, device=w.device)
            w[moved] = torch.as_tensor(after, dtype=w.dtype, device=w.device)[moved]
        return outside

    def memory_state(self, t_historys: Tensor, r_historys: Tensor) -> tuple[Tensor, Tensor]:
        """Stability and difficulty [batch] after histories [seq_len, batch]; rating 0 is padding."""
        stability, difficulty = initial_state(r_historys[0].clamp(min=1), self.w)
        for delta_t, rating in zip(t_historys[1:], r_historys[1:], strict=True):
            there = rating > 0
            new_s, new_d = next_state(stability, difficulty, delta_t, rating.clamp(min=1), self.w)
            stability = torch.where(there, new_s, stability)
            difficulty = torch.where(there, new_d, difficulty)
        return stability, difficulty

    def forward(self, batch: FSRSBatch) -> Tensor:
        """Retrievability [batch] at the scored review of each item."""
        stability, _ = self.memory_state(batch.t_historys, batch.r_historys)
        return forgetting_curve(batch.delta_ts, stability.clamp(S_MIN, S_MAX), self.w)

    def forward_classification(self, batch: FSRSBatch) -> ClassificationOutput:
        """Weighted sum of the binary cross-entropy over a mini-batch; autograd can follow it."""
        retrievability = self(batch)
        r = retrievability.clamp(R_CLAMP, 1 - R_CLAMP)
        labels = batch.labels
        bce = -(labels * torch.log(r) + (1 - labels) * torch.log1p(-r))
        return ClassificationOutput((batch.weights * bce).sum(), retrievability, labels)

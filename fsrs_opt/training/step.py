"""The training step: of both recipes, and of everyone who trains a model of their own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from fsrs_opt.gradients.gradients import Gradients, GradientsParams
from fsrs_opt.gradients.stepping import TakesGradients, step
from fsrs_opt.model.fsrs6 import FSRS6, as_array
from fsrs_opt.model.parameters import N_INITIAL_STABILITIES, N_PARAMETERS
from fsrs_opt.training.objective import Batch


@dataclass(frozen=True)
class TrainOutput:
    """loss: the batch's loss before the step; gradients: those that the optimizer got (after replacement)."""

    loss: float
    gradients: Gradients


@lru_cache
def _initial_stability(device: torch.device) -> Tensor:
    """Which entries of `w` [21] are w0..w3."""
    return torch.arange(N_PARAMETERS, device=device) < N_INITIAL_STABILITIES


def training_step(
    model: FSRS6, batch: Batch, optimizer: torch.optim.Optimizer | TakesGradients, lr: float | None = None
) -> TrainOutput:
    """Loss and gradient of `batch`, w0..w3 frozen if pretrain set them, then one step of the optimizer.

    The gradient is a value: it is taken out, replaced and put back before the optimizer sees it, so
    that no momentum, weight decay or limit can move a frozen weight by a single bit. An optimizer with
    a true attribute `wants_fisher` finds the Fisher matrix in the closure's result.
    """
    w = model.w
    result = batch.evaluate(as_array(w), fisher=getattr(optimizer, "wants_fisher", False))
    gradients = Gradients.from_named(model, {"w": torch.from_numpy(result.gradient).to(w)})
    if model.initial_stability_frozen:
        # exactly w0..w3: another entry whose gradient happens to be zero may well have to move
        frozen = _initial_stability(w.device)
        gradients.grad_replace(w, gradients.grad(w).masked_fill(frozen, 0), held=frozen)
    seen = gradients.copy()
    step(optimizer, model, GradientsParams.from_grads(gradients, model), lr=lr, closure=lambda: result)
    if isinstance(optimizer, torch.optim.Optimizer):  # the solver keeps the limits by itself
        model.clip_()
    return TrainOutput(result.loss, seen)


def freeze_initial_stability(model: FSRS6) -> None:
    """Freeze w0..w3 from now on. What lies outside its allowed range is brought in first, with a warning."""
    if any(model.clip_()[:N_INITIAL_STABILITIES]):
        warnings.warn("initial stabilities outside their allowed range were brought into it", stacklevel=2)
    model.initial_stability_frozen = True

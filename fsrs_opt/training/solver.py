"""The optimizer of the `map` recipe: `training_step` hands it gradients, it moves `w` to the minimum of J.

It takes gradients as a value (`gradients.step`), with the mask of the entries that do not move. The
arithmetic is that of trust_region.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fsrs_opt.model import parameters
from fsrs_opt.model.fsrs6 import FSRS6, as_array
from fsrs_opt.model.pass_result import PassResult
from fsrs_opt.training.trust_region import FISHER_STEPS, MAX_PASSES, PATIENCE, PROMISE, TrustRegion

_NONE_HELD = np.zeros(parameters.N_PARAMETERS, dtype=bool)


class Solver:
    """Trust-region solver for the one parameter `w` of a model.

    Held entries (frozen weights) do not move, and the others are chosen with that in mind. w0 <= w1 <= w2 <=
    w3 holds at every accepted point if it holds at the first. It is used until `done`; the model then holds
    the best point found. The rest: `trust_region.TrustRegion`.
    """

    def __init__(
        self,
        model: FSRS6,
        *,
        max_passes: int = MAX_PASSES,
        promise: float = PROMISE,
        fisher_steps: int = FISHER_STEPS,
        patience: int = PATIENCE,
    ) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": [model.w]}]
        self._w = model.w
        self._state = TrustRegion(
            relearning_steps=model.relearning_steps,
            short_term=model.short_term,
            max_passes=max_passes,
            promise=promise,
            fisher_steps=fisher_steps,
            patience=patience,
        )

    @property
    def wants_fisher(self) -> bool:
        """Whether the next step asks for the Fisher matrix in the closure's result."""
        return self._state.wants_fisher

    @property
    def done(self) -> bool:
        return self._state.done

    @property
    def converged(self) -> bool:
        return self._state.converged

    @property
    def passes(self) -> int:
        return self._state.passes

    @property
    def objective(self) -> float:
        """Objective at the best point so far."""
        return self._state.objective

    def take(
        self,
        gradients: Sequence[tuple[nn.Parameter, Tensor, Tensor | None]],
        closure: Callable[[], PassResult] | None,
    ) -> PassResult:
        """Judge the point that the model holds, of which `closure` gives the pass, and write the next one.

        gradients: (w, its gradient [21], mask of held entries or None), as `gradients.step` gives them.
        """
        if closure is None:
            raise ValueError("the solver needs the closure: it judges each point by its loss")
        result = closure()
        ((_, gradient, held),) = gradients
        still = _NONE_HELD if held is None else held.cpu().numpy()
        place = self._state.advance(as_array(self._w), result.loss, as_array(gradient), result.fisher, still)
        self._w.detach().copy_(torch.from_numpy(place))
        return result

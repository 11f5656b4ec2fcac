"""The compiled kernels (native/bindings.cpp). Use them through fsrs_opt.model.native."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

def isa(isa: str = "") -> str: ...
def isas() -> list[str]: ...
def math(which: int, x: NDArray[np.float32], isa: str = "") -> NDArray[np.float64]: ...

class Pack:
    def __init__(
        self,
        offsets: NDArray[np.int64],
        rating: NDArray[np.int8],
        delta_t: NDArray[np.int32],
        weight: NDArray[np.float64],
    ) -> None: ...
    @property
    def n_reviews(self) -> int: ...
    @property
    def n_slots(self) -> int: ...
    def loss(self, w: NDArray[np.float64], threads: int = 1, isa: str = "") -> float: ...
    def loss_gradient(
        self, w: NDArray[np.float64], threads: int = 1, isa: str = ""
    ) -> tuple[float, NDArray[np.float64]]: ...
    def loss_gradient_fisher(
        self, w: NDArray[np.float64], threads: int = 1, isa: str = ""
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]: ...
    def forward(
        self, w: NDArray[np.float64], threads: int = 1, isa: str = ""
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...

class Objective:
    """The compiled `fsrs_opt.training.objective.Objective` with its `MapPrior`."""
    def __init__(self, pack: Pack, centre: NDArray[np.float64], sigma: NDArray[np.float64]) -> None: ...
    def loss_gradient(
        self, w: NDArray[np.float64], threads: int = 1, isa: str = ""
    ) -> tuple[float, NDArray[np.float64]]: ...
    def loss_gradient_fisher(
        self, w: NDArray[np.float64], threads: int = 1, isa: str = ""
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]: ...

class TrustRegion:
    """The compiled `fsrs_opt.training.trust_region.TrustRegion`."""
    def __init__(
        self,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        centre: NDArray[np.float64],
        sigma: NDArray[np.float64],
        ceiling: float,
        relearning_steps: int,
        max_passes: int,
        fisher_steps: int,
        promise: float,
        patience: int,
    ) -> None: ...
    @property
    def wants_fisher(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    @property
    def converged(self) -> bool: ...
    @property
    def passes(self) -> int: ...
    @property
    def objective(self) -> float: ...
    def advance(
        self,
        w: NDArray[np.float64],
        objective: float,
        gradient: NDArray[np.float64],
        fisher: NDArray[np.float64] | None,
        held: NDArray[np.bool_],
    ) -> NDArray[np.float64]: ...

class Minimizer:
    """The stages of `fsrs_opt.training.stepwise`, compiled."""
    def __init__(
        self,
        objective: Objective,
        w: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        centre: NDArray[np.float64],
        sigma: NDArray[np.float64],
        ceiling: float,
        relearning_steps: int,
    ) -> None: ...
    @property
    def w(self) -> NDArray[np.float64]: ...
    def run(
        self,
        held: NDArray[np.bool_],
        promise: float,
        patience: int,
        fisher_steps: int,
        max_passes: int,
        threads: int = 1,
        isa: str = "",
        progress: Callable[[int, float], None] | None = None,
    ) -> tuple[int, float, float, bool]: ...

def solve_qp(
    hessian: NDArray[np.float64],
    gradient: NDArray[np.float64],
    A: NDArray[np.float64],
    b: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def whole_cards(
    offsets: NDArray[np.int64],
    rating: NDArray[np.int8],
    delta_t: NDArray[np.int32],
    review: NDArray[np.int64],
    card: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int32], NDArray[np.float64]]: ...
def initial_stabilities(
    kept: NDArray[np.bool_],
    long_term_count: NDArray[np.int32],
    first_rating: NDArray[np.int8],
    delta_t: NDArray[np.int32],
    label: NDArray[np.bool_],
    centre: NDArray[np.float64],
    w20: float,
    low: float,
    high: float,
) -> tuple[tuple[float, float, float, float], tuple[int, int, int, int]]: ...

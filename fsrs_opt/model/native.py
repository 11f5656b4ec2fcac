"""The compiled passes: the same results as `passes.py`, many times faster, on the processor.

float32 in the lanes, float64 sums: gradients agree with float64 autograd to 1e-5 of the sum of the reviews'
absolute contributions, the Fisher matrix to 1e-4 (five times that for w4..w7 in contrived histories, where
the difficulty stays near 10; 1e-4 and 2e-4 from the Fisher pass on cards of thousands of reviews).
Sums do not depend on the number of threads. The instruction set is the best that the processor has,
or the one named by the environment variable FSRS_OPT_ISA (baseline, avx2, avx512).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsrs_opt.model import parameters
from fsrs_opt.model.kernel import _native
from fsrs_opt.model.kernel import available as available
from fsrs_opt.model.parameters import DEFAULTS, N_INITIAL_STABILITIES, FloatArray
from fsrs_opt.model.pass_result import PassResult

if TYPE_CHECKING:
    from fsrs_opt._native import Minimizer, Objective, Pack

_threads = os.cpu_count() or 1


def set_threads(n: int) -> None:
    """How many threads a pass of this process may use; all cores unless set. Sums do not depend on it."""
    global _threads
    _threads = n


def threads() -> int:
    """See `set_threads`."""
    return _threads


def _array(name: str, values: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """`values` as a contiguous array of `dtype`; ValueError where a value would change on the way."""
    given = np.asarray(values)
    if given.ndim != 1:
        raise ValueError(f"{name} must have one dimension")
    if given.dtype == dtype:
        return np.ascontiguousarray(given)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers")
    with np.errstate(invalid="ignore"):
        converted = given.astype(dtype)
    if not np.array_equal(converted, given, equal_nan=given.dtype.kind == "f"):
        raise ValueError(f"{name} holds values that {np.dtype(dtype)} cannot")
    return np.ascontiguousarray(converted)


def pack(offsets: ArrayLike, rating: ArrayLike, delta_t: ArrayLike, weight: ArrayLike) -> Pack:
    """Histories in the form the kernels work on: the trie of distinct ones, so that cards which begin alike
    share the work up to where they part.

    offsets [n_cards + 1]: card c owns reviews offsets[c]:offsets[c + 1]; rating [n_reviews]
    1..4; delta_t [n_reviews] days since the review before, >= 0; weight [n_reviews] >= 0, 0 where a review
    is not scored (the first of a card never is). The arrays are copied. Raises ValueError for anything else.
    """
    return _native.Pack(
        _array("offsets", offsets, np.int64),
        _array("rating", rating, np.int8),
        _array("delta_t", delta_t, np.int32),
        _array("weight", weight, np.float64),
    )


def whole_cards(
    offsets: ArrayLike,
    rating: ArrayLike,
    delta_t: ArrayLike,
    review: ArrayLike,
    card: ArrayLike,
    weights: ArrayLike,
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int32], NDArray[np.float64]]:
    """`training.data.whole_cards`, compiled. Raises ValueError for an index that is out of bounds."""
    return _native.whole_cards(
        _array("offsets", offsets, np.int64),
        _array("rating", rating, np.int8),
        _array("delta_t", delta_t, np.int32),
        _array("review", review, np.int64),
        _array("card", card, np.int64),
        _array("weights", weights, np.float64),
    )


def initial_stabilities(
    kept: ArrayLike, long_term_count: ArrayLike, first_rating: ArrayLike, delta_t: ArrayLike, label: ArrayLike
) -> tuple[tuple[float, float, float, float], tuple[int, int, int, int]]:
    """Initial stability (NaN where there is no item) and number of items of each first rating: the fits of
    `training.pretrain`, compiled.

    [n_items] each: whether the outlier filter leaves it, and as in `Items`. Raises ValueError for a first
    rating or delta_t that no item has.
    """
    return _native.initial_stabilities(
        _array("kept", kept, np.bool_),
        _array("long_term_count", long_term_count, np.int32),
        _array("first_rating", first_rating, np.int8),
        _array("delta_t", delta_t, np.int32),
        _array("label", label, np.bool_),
        DEFAULTS[:N_INITIAL_STABILITIES],
        float(DEFAULTS[20]),
        parameters.S_MIN,
        parameters.INITIAL_S_MAX,
    )


def _parameters(w: ArrayLike) -> FloatArray:
    return np.ascontiguousarray(w, dtype=np.float64)


def evaluate(
    packed: Pack | Objective, w: ArrayLike, *, fisher: bool = False, threads: int | None = None
) -> PassResult:
    """Loss (of an `Objective`: J), gradient and, if asked, Fisher matrix at parameters `w` [21], as
    `passes.evaluate` gives them.

    Raises ValueError for parameters that are not finite or far outside their ranges.
    """
    if fisher:
        return PassResult(*packed.loss_gradient_fisher(_parameters(w), threads or _threads))
    return PassResult(*packed.loss_gradient(_parameters(w), threads or _threads))


def objective(packed: Pack) -> Objective:
    """J over a pack: `training.objective.Objective` with its `MapPrior`, compiled."""
    return _native.Objective(packed, DEFAULTS, parameters.SIGMA)


def minimizer(objective: Objective, w: FloatArray, *, relearning_steps: int, short_term: bool) -> Minimizer:
    """The stages of the `map` recipe from `w` [21] on, compiled."""
    low, high = parameters.bounds(short_term=short_term)
    return _native.Minimizer(
        objective,
        _parameters(w),
        low,
        high,
        DEFAULTS,
        parameters.SIGMA,
        ceiling=float(parameters.UPPER[17]),
        relearning_steps=relearning_steps,
    )


def predict(
    packed: Pack, w: ArrayLike, *, threads: int | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Retrievability before, stability and difficulty after each review, in the order of the input.

    float64 [n_reviews] each, of float32 accuracy; retrievability is NaN at the first review of a card.
    """
    return packed.forward(_parameters(w), threads or _threads)

"""The training set as whole cards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.model import native
from fsrs_opt.training.data import training_set, whole_cards, windowed_batch
from tests.logs import history_of

KERNELS = ["torch", "native"] if native.available() else ["torch"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_cards_end_with_their_last_item(kernel: str) -> None:
    data = training_set(
        history_of(
            [(3, 0), (1, 0), (4, 2), (2, 5), (3, 0)],  # the last one is on the same day: it has no say
            [(2, 0), (3, 0)],  # no item at all
            [(1, 0), (3, 9)],
        )
    )
    batch = windowed_batch(data, kernel=kernel)
    assert sorted(np.diff(batch.offsets).tolist()) == [2, 4]
    first = [(3, 0), (1, 0), (4, 2), (2, 5)]
    last = [(1, 0), (3, 9)]
    found = list(zip(batch.rating.tolist(), batch.delta_t.tolist(), strict=True))
    assert found in (first + last, last + first)
    scored = batch.delta_t > 0
    assert (batch.weight[scored] > 0).all()
    assert not batch.weight[~scored].any()
    assert sorted(batch.weight[scored]) == sorted(data.weights)


@pytest.mark.parametrize("kernel", KERNELS)
def test_cards_follow_each_other_as_their_first_items_do(kernel: str) -> None:
    # all begin at the same time; the second card has its first item on day 2, the first on day 7
    data = training_set(history_of([(3, 0), (3, 7), (3, 9)], [(1, 0), (2, 2), (4, 8)]))
    assert windowed_batch(data, kernel=kernel).rating.tolist() == [1, 2, 4, 3, 3, 3]


@pytest.mark.skipif(len(KERNELS) == 1, reason="installed without the native kernels")
@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 9), max_size=12), st.integers(0, 10**9))
def test_the_compiled_twin(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = int(offsets[-1])
    card_of = np.repeat(np.arange(len(lengths)), lengths)
    later = np.setdiff1d(np.arange(n), offsets[:-1])
    review = rng.choice(later, rng.integers(0, len(later) + 1), replace=False)
    weights = rng.uniform(0.25, 1, len(review))
    given_ = (
        offsets,
        rng.integers(1, 5, n).astype(np.int8),
        rng.integers(0, 99, n).astype(np.int32),
        review,
        card_of[review],
        weights,
    )
    for ours, theirs in zip(whole_cards(*given_), native.whole_cards(*given_), strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist()


@pytest.mark.skipif(len(KERNELS) == 1, reason="installed without the native kernels")
@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("offsets", [], "offsets must hold n_cards"),
        ("offsets", [0, 3], "an item must be a review of its card"),
        ("offsets", [0, 3, 6], "offsets must rise"),
        ("offsets", [0, 6, 5], "offsets must rise"),
        ("offsets", [-1, 3, 5], "offsets must rise"),
        ("review", [1, 5], "an item must be a review of its card"),
        ("review", [-1, 4], "an item must be a review of its card"),
        ("card", [1, 1], "an item must be a review of its card"),
        ("card", [0, 2], "an item must be a review of its card"),
        ("card", [0], "same length"),
        ("weights", [1.0], "same length"),
        ("delta_t", [0, 1], "delta_t as many as rating"),
        ("rating", [1.5, 1, 1, 1, 1], "rating holds values"),
    ],
)
def test_what_does_not_fit_together_is_refused(name: str, values: list[float], sentence: str) -> None:
    arrays = {
        "offsets": [0, 3, 5],
        "rating": [3, 3, 3, 3, 3],
        "delta_t": [0, 1, 2, 0, 4],
        "review": [1, 4],
        "card": [0, 1],
        "weights": [0.5, 1.0],
    }
    native.whole_cards(**arrays)
    with pytest.raises(ValueError, match=sentence):
        native.whole_cards(**{**arrays, name: values})

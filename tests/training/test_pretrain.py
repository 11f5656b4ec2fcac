"""Initial stabilities: fitted values, the order of ratings, and how missing ratings are filled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.model import native
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews.items import Items
from fsrs_opt.training.data import TrainingSet, training_set
from fsrs_opt.training.pretrain import (
    A,
    B,
    FirstReviews,
    fill,
    first_reviews,
    fit_initial_stability,
    pretrain,
)
from tests.logs import history_of


def test_fitted_stability_has_the_reference_value() -> None:
    reviews = FirstReviews(
        delta_t=np.arange(1.0, 6.0),
        recall=np.array([0.86666667, 0.90721649, 0.73015873, 0.76315789, 0.67857143]),
        count=np.array([435.0, 97, 63, 38, 28]),
    )
    assert fit_initial_stability(reviews, 0.94302857, DEFAULTS[0]) == pytest.approx(0.7355089, rel=1e-4)


def ones(known: dict[int, float]) -> dict[int, int]:
    return dict.fromkeys(known, 1)


def items_of(rng: np.random.Generator, groups: list[tuple[int, int, float, int]]) -> TrainingSet:
    """Items of first rating, delta_t, probability of recall and count; some are left out, or later ones."""
    first_rating, delta_t, recall, n = zip(*groups, strict=True)
    total = sum(n)
    order = rng.permutation(total)
    none = np.zeros(total, dtype=np.int64)
    chosen = Items(
        review=none,
        card=none,
        delta_t=np.repeat(delta_t, n).astype(np.int32)[order],
        label=(rng.random(total) < np.repeat(recall, n))[order],
        first_rating=np.repeat(first_rating, n).astype(np.int8)[order],
        first_long_delta=none,
        long_term_count=rng.choice([1, 1, 1, 2, 7], total).astype(np.int32),
        lapses=none,
    )
    return TrainingSet(history_of(), chosen, np.ones(total), rng.random(total) < 0.9)


@pytest.mark.skipif(not native.available(), reason="installed without the native kernels")
@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 365), st.floats(0, 1), st.integers(1, 200)),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 10**9),
)
def test_the_compiled_fits_find_the_same_minima(groups: list[tuple[int, int, float, int]], seed: int) -> None:
    data = items_of(np.random.default_rng(seed), groups)
    python, compiled = pretrain(data, kernel="torch"), pretrain(data, kernel="native")
    if python is None or compiled is None:
        assert python is compiled is None
        return
    assert compiled.initial_stability == pytest.approx(python.initial_stability, rel=1e-6)
    assert (compiled.n_items, compiled.fitted) == (python.n_items, python.fitted)


@pytest.mark.skipif(not native.available(), reason="installed without the native kernels")
@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("first_rating", [5], "from 1 to 4"),
        ("first_rating", [0], "from 1 to 4"),
        ("delta_t", [0], "above 0"),
        ("delta_t", [-(2**31)], "above 0"),
        ("label", [True, False], "same length"),
        ("delta_t", [1.5], "delta_t holds values"),
    ],
)
def test_what_no_item_has_is_refused(name: str, values: list[float], sentence: str) -> None:
    arrays = {"kept": [True], "long_term_count": [1], "first_rating": [3], "delta_t": [9], "label": [True]}
    native.initial_stabilities(**arrays)
    with pytest.raises(ValueError, match=sentence):
        native.initial_stabilities(**{**arrays, name: values})


@pytest.mark.parametrize("kernel", ["native", "torch"])
def test_a_valley_close_to_the_kink_is_found(kernel: str) -> None:
    """A few Easy cards have a valley at 4 days; a coarse grid from 0.001 days to the kink steps over it."""
    if kernel == "native" and not native.available():
        pytest.skip("installed without the native kernels")
    cards = [[(4, 0), (3, days)] for days in (1, 2, 3) for _ in range(6)]
    cards += [[(4, 0), (3, 5)]] * 5 + [[(4, 0), (1, 5)]]
    cards += [[(3, 0), (3, 3)]] * 237 + [[(3, 0), (1, 3)]] * 63
    data = training_set(history_of(*cards))
    found = pretrain(data, kernel=kernel)
    assert found is not None
    reviews = first_reviews(data)[4]
    recalled = np.count_nonzero(data.items.label & data.kept) / np.count_nonzero(data.kept)

    def penalty(s0: float) -> float:
        recall = (reviews.recall * reviews.count + recalled) / (reviews.count + 1)
        r = (1 + (0.9 ** (-1 / DEFAULTS[20]) - 1) * reviews.delta_t / s0) ** -DEFAULTS[20]
        bce = -(recall * np.log(r) + (1 - recall) * np.log(1 - r))
        return float(np.sum(reviews.count * bce) + abs(s0 - DEFAULTS[3]) / 16)

    best = min(map(penalty, np.geomspace(0.001, 100, 20_001)))
    assert penalty(found.initial_stability[3]) <= best + 1e-9


def test_missing_ratings_are_filled_as_the_reference_does() -> None:
    known = {1: 0.4, 3: 2.3, 4: 10.9}
    assert fill(known, ones(known)) == pytest.approx([0.4, 1.1227008, 2.3, 10.9], rel=1e-6)
    known = {2: 0.35}
    assert fill(known, ones(known)) == pytest.approx([0.05738148, 0.35, 0.6242943, 2.2453482], rel=1e-6)


def expected_fill(s: dict[int, float]) -> list[float]:
    """The table of the specification, row by row."""
    s1, s2, s3, s4 = (s.get(k, float("nan")) for k in (1, 2, 3, 4))
    match tuple(sorted(s)):
        case (3, 4):
            s2 = s3 ** (1 / (1 - B)) * s4 ** (1 - 1 / (1 - B))
            s1 = s2 ** (1 / A) * s3 ** (1 - 1 / A)
        case (2, 4):
            s3 = s2 ** (1 - B) * s4**B
            s1 = s2 ** (1 / A) * s3 ** (1 - 1 / A)
        case (2, 3):
            s4 = s2 ** (1 - 1 / B) * s3 ** (1 / B)
            s1 = s2 ** (1 / A) * s3 ** (1 - 1 / A)
        case (1, 4):
            c, e = A / (A + B - A * B), B / (A + B - A * B)
            s2, s3 = s1**c * s4 ** (1 - c), s1 ** (1 - e) * s4**e
        case (1, 3):
            s2 = s1**A * s3 ** (1 - A)
            s4 = s2 ** (1 - 1 / B) * s3 ** (1 / B)
        case (1, 2):
            s3 = s1 ** (1 - 1 / (1 - A)) * s2 ** (1 / (1 - A))
            s4 = s2 ** (1 - 1 / B) * s3 ** (1 / B)
        case (2, 3, 4):
            s1 = s2 ** (1 / A) * s3 ** (1 - 1 / A)
        case (1, 3, 4):
            s2 = s1**A * s3 ** (1 - A)
        case (1, 2, 4):
            s3 = s2 ** (1 - B) * s4**B
        case (1, 2, 3):
            s4 = s2 ** (1 - 1 / B) * s3 ** (1 / B)
    return [s1, s2, s3, s4]


@pytest.mark.parametrize(
    "known", [(3, 4), (2, 4), (2, 3), (1, 4), (1, 3), (1, 2), (2, 3, 4), (1, 3, 4), (1, 2, 4), (1, 2, 3)]
)
def test_every_row_of_the_fill_table(known: tuple[int, ...]) -> None:
    values = {1: 0.9, 2: 1.4, 3: 2.3, 4: 4.9}
    s = {k: values[k] for k in known}
    assert fill(s, ones(s)) == pytest.approx(expected_fill(s), rel=1e-12)


def test_the_rating_with_fewer_items_takes_the_others_value() -> None:
    assert fill({1: 3.0, 2: 2.0, 3: 5.0, 4: 9.0}, {1: 10, 2: 99, 3: 9, 4: 9})[:2].tolist() == [2.0, 2.0]
    assert fill({1: 3.0, 2: 2.0, 3: 5.0, 4: 9.0}, {1: 99, 2: 10, 3: 9, 4: 9})[:2].tolist() == [3.0, 3.0]
    equal = fill({1: 3.0, 2: 2.0, 3: 5.0, 4: 9.0}, {1: 10, 2: 10, 3: 9, 4: 9})
    assert equal[:2].tolist() == [2.0, 2.0]  # equal counts: the smaller rating takes the larger's value


def test_what_the_pair_rules_leave_unordered_is_put_in_order() -> None:
    s = fill({2: 0.0072, 3: 15.2, 4: 0.0011}, {2: 813, 3: 25, 4: 498})
    assert (np.diff(s) >= 0).all()
    # the pair rules end at 2: .0072, 3: .0011, 4: .0072; rating 2 has nearly all of the weight
    expected = np.exp((813 * np.log(0.0072) + 25 * np.log(0.0011)) / 838)
    assert s[1] == s[2] == pytest.approx(expected, rel=1e-6)
    assert s[3] == pytest.approx(0.0072)


@given(
    st.dictionaries(
        st.integers(1, 4), st.tuples(st.floats(0.001, 100), st.integers(1, 1000)), min_size=1, max_size=4
    )
)
def test_fill_ends_ordered_and_inside(known: dict[int, tuple[float, int]]) -> None:
    s = fill({k: v for k, (v, _) in known.items()}, {k: n for k, (_, n) in known.items()})
    assert (np.diff(s) >= 0).all()
    assert ((s >= 0.001) & (s <= 100)).all()
    if len(known) == 4:
        values = [known[k][0] for k in range(1, 5)]
        if values == sorted(values):
            assert s.tolist() == values


@given(st.integers(1, 400), st.floats(0, 1), st.integers(1, 60))
def test_fit_is_at_least_as_good_as_a_fine_grid(n: int, recall: float, delta_t: int) -> None:
    delays, counts = np.array([1.0, 2.0]) * delta_t, np.array([float(n), 9])
    reviews = FirstReviews(delays, np.array([recall, 0.7]), counts)

    def penalty(s0: np.ndarray) -> np.ndarray:
        factor = 0.9 ** (-1 / DEFAULTS[20]) - 1
        r = (1 + factor * delays / s0[:, None]) ** -DEFAULTS[20]
        y = (reviews.recall * counts + 0.9) / (counts + 1)
        bce = -(y * np.log(r) + (1 - y) * np.log(1 - r))
        return bce @ counts + np.abs(s0 - DEFAULTS[2]) / 16

    found = fit_initial_stability(reviews, 0.9, DEFAULTS[2])
    assert 0.001 <= found <= 100
    assert penalty(np.array([found]))[0] <= penalty(np.geomspace(0.001, 100, 2000)).min() + 1e-6


def test_first_reviews_are_counted_by_rating_and_delay() -> None:
    cards = [[(3, 0), (3, 2), (3, 4)]] * 30 + [[(3, 0), (1, 2)]] * 10 + [[(1, 0), (3, 0), (3, 1)]] * 40
    found = first_reviews(training_set(history_of(*cards)))
    assert sorted(found) == [1, 3]
    assert found[3].delta_t.tolist() == [2.0]
    assert found[3].count.tolist() == [40.0]
    assert found[3].recall.tolist() == [0.75]
    assert found[1].count.tolist() == [40.0]


def test_nothing_left_by_the_outlier_filter() -> None:
    assert pretrain(training_set(history_of(*[[(3, 0)] + [(3, 3)] * 9] * 19))) is None

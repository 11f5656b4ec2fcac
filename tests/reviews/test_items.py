"""Items and what of them is trained on: hand-worked cards, counts of real logs, and fsrs-rs's own filter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.evaluation import metrics
from fsrs_opt.reviews.history import Histories
from fsrs_opt.reviews.items import Items, items, outlier_mask, recency_weights, select
from tests.logs import fsrs_rs_items, history_of, real_index, real_log


def columns(of: Items) -> dict[str, list[int]]:
    return {name: values.tolist() for name, values in vars(of).items()}


# --- items ---


def test_one_card_by_hand():
    of = items(history_of([(3, 0), (1, 0), (3, 2), (1, 5), (3, 0), (1, 4), (4, 7)]))
    assert columns(of) == {
        "review": [2, 3, 5, 6],
        "card": [0, 0, 0, 0],
        "delta_t": [2, 5, 4, 7],
        "label": [True, False, False, True],
        "first_rating": [3, 3, 3, 3],
        "first_long_delta": [2, 2, 2, 2],
        "long_term_count": [1, 2, 3, 4],
        "lapses": [0, 0, 1, 2],  # same-day Again is no lapse, and the item's own answer is not its history
    }


def test_items_of_several_cards_are_in_the_order_of_time_then_card():
    of = items(history_of([(3, 0), (3, 5), (3, 1)], [(4, 0)], [(1, 0), (3, 2), (2, 3)]))
    assert of.card.tolist() == [2, 0, 2, 0]
    assert of.review.tolist() == [5, 1, 6, 2]
    assert of.first_rating.tolist() == [1, 3, 1, 3]
    assert of.first_long_delta.tolist() == [2, 5, 2, 5]
    assert of.long_term_count.tolist() == [1, 1, 2, 2]


def test_cards_reviewed_on_one_day_only_give_no_items():
    of = items(history_of(*[[(1, 0), (3, 0), (3, 0)]] * 300))
    assert len(of) == 0
    assert outlier_mask(of).tolist() == []


def test_dtypes_are_those_of_the_docstring():
    of = items(history_of([(3, 0), (3, 1)]))
    assert {name: values.dtype.name for name, values in vars(of).items()} == {
        "review": "int64",
        "card": "int64",
        "delta_t": "int32",
        "label": "bool",
        "first_rating": "int8",
        "first_long_delta": "int32",
        "long_term_count": "int32",
        "lapses": "int32",
    }


def test_select_takes_the_same_items_of_every_column():
    of = items(history_of([(3, 0), (3, 5), (3, 1)], [(1, 0), (3, 2), (2, 3)]))
    for which in (slice(1, 3), np.array([False, True, True, False]), np.array([1, 2])):
        assert columns(select(of, which)) == {name: values[1:3] for name, values in columns(of).items()}


def test_recency_weights():
    np.testing.assert_allclose(recency_weights(3), [0.25, 0.25 + 0.75 / 8, 1.0])
    assert recency_weights(1).tolist() == [0.25]
    assert recency_weights(0).tolist() == []


# --- the outlier filter ---


def first_pairs(rating: int, sizes: dict[int, int]) -> list[list[tuple[int, int]]]:
    """Cards with this first rating and `sizes[delta_t]` first long-term delays of delta_t."""
    return [[(rating, 0), (3, delta_t)] for delta_t, n in sizes.items() for _ in range(n)]


def kept_deltas(cards) -> list[int]:
    of = items(history_of(*cards))
    return sorted({int(delta_t) for delta_t in of.first_long_delta[outlier_mask(of)]})


def test_fewer_than_twenty_first_items_all_go():
    of = items(history_of(*[[(3, 0)] + [(3, 3)] * 9] * 19))
    assert len(of) == 171
    assert not outlier_mask(of).any()


def test_smallest_groups_go_until_twenty_would_be_removed():
    # 6 + 7 = 13 < 20, and 8 more would be 21: the third group stays
    assert kept_deltas(first_pairs(3, {1: 300, 2: 8, 3: 6, 4: 7})) == [1, 2]


def test_of_equal_groups_the_smallest_delta_t_goes_first():
    assert kept_deltas(first_pairs(3, {1: 10, 2: 10, 3: 10})) == [2, 3]


def test_the_limit_is_a_twentieth_in_whole_items():
    # 419 // 20 = 20 and 440 // 20 = 22: a group of 20 fits under the second limit only
    assert kept_deltas(first_pairs(3, {1: 399, 2: 20})) == [1, 2]
    assert kept_deltas(first_pairs(3, {1: 420, 2: 20})) == [1]


def test_groups_below_six_go_even_beyond_the_limit():
    assert kept_deltas(first_pairs(2, dict.fromkeys(range(2, 12), 5) | {1: 50})) == [1]


def test_long_delays_go_by_first_rating():
    sizes = {1: 40, 100: 30, 101: 30, 365: 30, 366: 30}
    assert kept_deltas(first_pairs(3, sizes)) == [1, 100]
    assert kept_deltas(first_pairs(4, sizes)) == [1, 100, 101, 365]


def test_deeper_items_go_with_their_pair():
    of = items(
        history_of(*first_pairs(3, {1: 30}), [(3, 0), (3, 9), (3, 1), (3, 1)], [(3, 0), (3, 1), (3, 9)])
    )
    mask = outlier_mask(of)
    assert of.first_long_delta[~mask].tolist() == [9, 9, 9]
    assert mask.sum() == 32


CARDS = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.sampled_from([1, 1, 1, 2, 2, 3, 40, 101, 366]),
        st.integers(1, 15),  # copies of the card
        st.booleans(),  # with a later item
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(cards=CARDS)
def test_filter_agrees_with_fsrs_rs(cards):
    fsrs_rs = pytest.importorskip("fsrs_rs_python")
    h = history_of(
        *[
            [(rating, 0), (3, 0), (3, delta_t), *([(1, 4)] if deeper else [])]
            for rating, delta_t, copies, deeper in cards
            for _ in range(copies)
        ]
    )
    assert_same_filter(fsrs_rs, h)


def assert_same_filter(fsrs_rs, h: Histories) -> None:
    of = items(h)
    theirs, _ = fsrs_rs_items(fsrs_rs, h, of)
    first_items = [theirs[i] for i in np.flatnonzero(of.long_term_count == 1)]
    for_pretrain, for_training = fsrs_rs.filter_outlier(first_items, theirs)
    mask = outlier_mask(of)
    assert [repr(item) for item in for_training] == [repr(theirs[i]) for i in np.flatnonzero(mask)]
    assert len(for_pretrain) == np.count_nonzero(mask & (of.long_term_count == 1))


# --- real logs ---


@pytest.fixture(scope="module")
def real(shared_real: Path) -> dict[str, tuple[Histories, int]]:
    """Per log its histories and the number of items that fsrs-rs gets from it."""
    return {
        row["name"]: (real_log(shared_real, row["name"]), int(row["fsrs_items"]))
        for row in real_index(shared_real)
    }


def test_item_counts_of_every_real_log(real):
    assert len(real) == 12
    assert {name: len(items(h)) for name, (h, _) in real.items()} == {
        name: n for name, (_, n) in real.items()
    }


@pytest.mark.parametrize("name", ["real08", "real16", "real28"])
def test_filter_of_real_logs_agrees_with_fsrs_rs(real, name):
    assert_same_filter(pytest.importorskip("fsrs_rs_python"), real[name][0])


@pytest.mark.parametrize("name", ["real11", "real14", "real16", "real36"])
def test_evaluation_of_real_logs_agrees_with_fsrs_rs(real, name):
    fsrs_rs = pytest.importorskip("fsrs_rs_python")
    h, _ = real[name]
    of = items(h)
    w = np.array(fsrs_rs.DEFAULT_PARAMETERS)
    theirs = fsrs_rs.FSRS(w.tolist()).evaluate(fsrs_rs_items(fsrs_rs, h, of)[0])
    r, weights = retrievability(h, w)[of.review], recency_weights(len(of))
    groups = of.delta_t, of.long_term_count, of.lapses
    assert metrics.log_loss(of.label, r, weights) == pytest.approx(theirs.log_loss, abs=1e-4)
    assert metrics.rmse_bins(of.label, r, *groups, weights) == pytest.approx(theirs.rmse_bins, abs=1e-4)


def retrievability(h: Histories, w) -> np.ndarray:
    """FSRS-6 review by review, as its equations read; NaN for a card's first review."""
    factor = 0.9 ** (-1 / w[20]) - 1
    out = np.full(h.n_reviews, np.nan)
    s = d = 0.0

    def first_difficulty(rating):
        return w[4] - np.exp(w[5] * (rating - 1)) + 1

    firsts = set(h.offsets[:-1].tolist())
    for at, (g, t) in enumerate(zip(h.rating.tolist(), h.delta_t.tolist(), strict=True)):
        if at in firsts:
            s, d = w[g - 1], min(max(first_difficulty(g), 1), 10)
            continue
        out[at] = r = (1 + factor * t / s) ** -w[20]
        if t == 0:
            growth = np.exp(w[17] * (g - 3 + w[18])) * s ** -w[19]
            s *= growth if g == 1 else max(growth, 1)
        elif g == 1:
            lapsed = w[11] * d ** -w[12] * ((s + 1) ** w[13] - 1) * np.exp(w[14] * (1 - r))
            s = min(lapsed, s / np.exp(w[17] * w[18]))
        else:
            by_rating = {2: w[15], 3: 1, 4: w[16]}[g]
            s *= 1 + np.exp(w[8]) * (11 - d) * s ** -w[9] * (np.exp(w[10] * (1 - r)) - 1) * by_rating
        s = min(max(s, 0.001), 36500)
        moved = d + (10 - d) * -w[6] * (g - 3) / 9
        d = min(max(w[7] * (first_difficulty(4) - moved) + moved, 1), 10)
    return out

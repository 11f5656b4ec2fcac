"""The rules of a card's history, against known cases, a slow walk card by card, and Anki's own backend."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.reviews import history
from fsrs_opt.reviews import log as review_log
from fsrs_opt.reviews.history import REASONS, Histories, histories, subset

DAY_MS = 86_400_000
TODAY = 20_000  # days since 1970


def day_of(time):
    return time // DAY_MS


def make_log(rows, **more) -> review_log.ReviewLog:
    """rows: (card, review_time in ms, kind, rating, factor)."""
    card, time, kind, rating, factor = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    columns = {"card_id": card, "review_time": time, "kind": kind, "rating": rating, "factor": factor}
    return review_log.make({**columns, **more})


def one_card(*rows) -> review_log.ReviewLog:
    """rows: (days ago, kind, rating, factor) of one card."""
    return make_log([(1, (TODAY - ago) * DAY_MS + DAY_MS // 2, *rest) for ago, *rest in rows])


def learn(ago, rating=3):
    return ago, review_log.LEARNING, rating, 2500


def review(ago, rating=3):
    return ago, review_log.REVIEW, rating, 2500


def deltas(log, **options):
    h = histories(log, day_of, **options)
    assert h.rows == h.n_reviews + sum(h.left_out.values())
    assert h.cards_in_log == h.n_cards + sum(h.cards_left_out.values())
    return h.delta_t.tolist()


def left_out(log, **options):
    return {reason: n for reason, n in histories(log, day_of, **options).left_out.items() if n}


# --- known cases ---


def test_learning_rows_of_later_days_are_reviews_like_any_other():
    assert deltas(one_card(learn(15), learn(13), review(10), review(5))) == [0, 2, 3, 5]


def test_cramming_is_dropped_and_the_days_around_it_add_up():
    log = one_card(learn(10), review(9), (7, review_log.FILTERED, 3, 0), review(4))
    assert deltas(log) == [0, 1, 5]
    assert left_out(log) == {"cramming": 1}


def test_a_filtered_review_with_a_factor_counts():
    assert deltas(one_card(learn(10), review(9), (7, review_log.FILTERED, 3, 2500), review(4))) == [
        0,
        1,
        2,
        3,
    ]


def test_a_reset_starts_the_card_anew():
    log = one_card(learn(10), (7, review_log.MANUAL, 0, 0), learn(4), review(0))
    assert deltas(log) == [0, 4]
    assert left_out(log) == {"before_learning_start": 1, "not_rated": 1}


def test_a_reset_without_new_learning_leaves_the_card_out():
    log = one_card(learn(10), review(9), (7, review_log.MANUAL, 0, 0), review(1))
    assert deltas(log) == []
    assert left_out(log) == {"no_learning_start": 3, "not_rated": 1}
    assert histories(log, day_of).cards_left_out == {"no_learning_start": 1, "before_cutoff": 0}


def test_a_card_reset_last_trains_nothing():
    assert deltas(one_card(learn(10), review(9), (7, review_log.MANUAL, 0, 0))) == []


def test_set_due_date_is_neither_a_review_nor_a_reset():
    log = one_card(learn(10), review(9), (7, review_log.MANUAL, 0, 100), review(4))
    assert deltas(log) == [0, 1, 5]
    assert left_out(log) == {"not_rated": 1}


def test_without_a_reset_row_the_last_run_of_learning_rows_starts_the_card():
    log = one_card(learn(20), review(15), review(12), learn(9), learn(8), review(5))
    assert deltas(log) == [0, 1, 3]
    assert left_out(log) == {"before_learning_start": 3}


def test_cramming_does_not_break_a_run_of_learning_rows():
    assert deltas(one_card(learn(20), (15, review_log.FILTERED, 3, 0), learn(9), review(5))) == [0, 11, 4]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((9, review_log.RESCHEDULED, 0, 2500), "not_rated"),
        ((9, review_log.REVIEW, 0, 2500), "not_rated"),
        ((9, 9, 3, 2500), "unknown_kind"),
        ((9, -1, 3, 2500), "unknown_kind"),
        ((9, review_log.REVIEW, 5, 2500), "unknown_rating"),
        ((9, review_log.REVIEW, -2, 2500), "unknown_rating"),
    ],
)
def test_rows_that_are_no_answers_are_dropped_by_kind(row, reason):
    log = one_card(learn(10), row, review(4))
    assert deltas(log) == [0, 6]
    assert left_out(log) == {reason: 1}


def test_rows_count_in_the_order_of_time_after_the_clock_was_set_back():
    assert deltas(one_card(learn(20), review(5), review(10))) == [0, 10, 5]
    assert deltas(one_card(learn(5), review(10))) == [0]


def test_a_day_column_that_goes_back_gives_zero_and_is_counted():
    log = one_card(learn(20), review(10), review(5))
    log = review_log.make({**log.arrays, "day": np.array([7, 4, 9])})
    h = histories(log, lambda time: pytest.fail("the file's own days come first"))
    assert h.delta_t.tolist() == [0, 0, 5]
    assert h.negative_delta_t == 1


def test_a_card_that_starts_before_the_cutoff_is_left_out_as_a_whole():
    log = one_card(learn(20), review(15), learn(12), review(10), review(5))
    start = (TODAY - 12) * DAY_MS + DAY_MS // 2
    assert deltas(log, ignore_before_ms=start) == [0, 2, 5]
    assert deltas(log, ignore_before_ms=start + 1) == []
    assert left_out(log, ignore_before_ms=start + 1) == {"before_cutoff": 5}


def test_each_card_can_have_a_cutoff_of_its_own():
    log = pd.concat([one_card(learn(20), review(10)).to_pandas().assign(card_id=card) for card in (7, 3, 5)])
    early, late = 0, TODAY * DAY_MS
    cutoffs = {3: early, 5: late, 7: early}
    h = histories(
        log, day_of, ignore_before_ms=lambda ids: np.array([cutoffs[card] for card in ids.tolist()])
    )
    assert h.card_id.tolist() == [3, 7]
    assert h.cards_left_out == {"no_learning_start": 0, "before_cutoff": 1}


def test_a_log_without_factors_has_no_cramming_and_no_resets():
    log = one_card(learn(10), (9, review_log.FILTERED, 3, 0), (7, review_log.MANUAL, 0, 0), review(4))
    log = review_log.make({name: log[name] for name in log if name != "factor"})
    assert deltas(log) == [0, 1, 5]


def test_an_empty_log_gives_empty_histories():
    h = histories(one_card(), day_of)
    assert (h.n_cards, h.n_reviews, h.offsets.tolist(), sum(h.left_out.values())) == (0, 0, [0], 0)


def test_negative_interval_and_duration_have_no_effect():
    rows = learn(15), review(10, 1), review(5)
    negative = dict.fromkeys(("interval", "last_interval", "duration"), np.array([-600, -5, -1]))
    strange = review_log.make({**one_card(*rows).arrays, **negative})
    assert same(histories(strange, day_of), histories(one_card(*rows), day_of))


def test_rows_of_one_moment_have_one_order():
    rows = [(1, 5, review_log.REVIEW, 1, 2500), (1, 5, review_log.RELEARNING, 3, 2500)]
    start = (1, 0, review_log.LEARNING, 3, 2500)
    for log in (make_log([start, *rows]), make_log([start, *rows[::-1]])):
        assert histories(log, day_of).rating.tolist() == [3, 1, 3]


def test_days_are_asked_for_in_bounded_pieces(monkeypatch):
    monkeypatch.setattr(history, "_CHUNK", 2)
    sizes = []

    def counting(time):
        sizes.append(len(time))
        return day_of(time)

    h = histories(one_card(learn(15), learn(13), review(10), review(5), review(2)), counting)
    assert h.delta_t.tolist() == [0, 2, 3, 5, 3]
    assert sizes == [2, 2, 1]


# --- a slow walk, card by card ---


def walk(rows, cutoff):
    """What is kept of one card's rows (time, kind, rating, factor; in time order), and each row's reason."""

    def cramming(row):
        return row[1] == 3 and row[3] == 0

    def rated(row):
        return row[1] in (0, 1, 2, 3) and row[2] in (1, 2, 3, 4)

    start = None
    for at in reversed(range(len(rows))):
        _, kind, _, factor = rows[at]
        if cramming(rows[at]):
            continue
        if rated(rows[at]) and kind == 0:
            start = at
        elif (kind == 4 and factor == 0) or start is not None:
            break

    kept, reasons = [], Counter()
    for at, row in enumerate(rows):
        if cramming(row):
            reasons["cramming"] += 1
        elif row[1] not in range(6):
            reasons["unknown_kind"] += 1
        elif row[1] in (4, 5) or row[2] == 0:
            reasons["not_rated"] += 1
        elif not rated(row):
            reasons["unknown_rating"] += 1
        elif start is None:
            reasons["no_learning_start"] += 1
        elif rows[start][0] < cutoff:
            reasons["before_cutoff"] += 1
        elif at < start:
            reasons["before_learning_start"] += 1
        else:
            kept.append(row)
    return kept, reasons


LOGS = st.lists(
    st.tuples(
        st.integers(1, 5),  # card
        st.integers(0, 40).map(lambda half_days: half_days * DAY_MS // 2),
        st.sampled_from([0, 0, 0, 1, 1, 2, 3, 3, 4, 5, 9]),
        st.sampled_from([0, 1, 2, 3, 4, 5]),
        st.sampled_from([0, 2500]),
    ),
    max_size=60,
    unique_by=lambda row: row[:2],
)


@settings(max_examples=400, deadline=None)
@given(rows=LOGS, cutoff=st.integers(0, 20).map(lambda days: days * DAY_MS))
def test_vectorised_and_slow_walk_agree(rows, cutoff):
    h = histories(make_log(rows), day_of, ignore_before_ms=cutoff)
    expected, reasons = {}, Counter()
    for card in sorted({row[0] for row in rows}):
        kept, why = walk(sorted(row[1:] for row in rows if row[0] == card), cutoff)
        reasons.update(why)
        if kept:
            expected[card] = kept
    assert h.card_id.tolist() == list(expected)
    assert np.diff(h.offsets).tolist() == [len(kept) for kept in expected.values()]
    assert h.review_time.tolist() == [row[0] for kept in expected.values() for row in kept]
    assert h.rating.tolist() == [row[2] for kept in expected.values() for row in kept]
    assert h.delta_t.tolist() == [
        now[0] // DAY_MS - before[0] // DAY_MS
        for kept in expected.values()
        for before, now in zip([kept[0], *kept], kept, strict=False)
    ]
    assert h.left_out == {reason: reasons[reason] for reason in REASONS}
    assert h.cards_in_log == len({row[0] for row in rows}) == h.n_cards + sum(h.cards_left_out.values())
    assert h.rows == len(rows)


def same(one: Histories, other: Histories) -> bool:
    return all(
        np.array_equal(value, getattr(other, name))
        if isinstance(value, np.ndarray)
        else value == getattr(other, name)
        for name, value in vars(one).items()
    )


@settings(max_examples=100, deadline=None)
@given(rows=LOGS, repeats=st.integers(1, 2), data=st.data())
def test_the_order_of_the_rows_and_repeated_times_do_not_matter(rows, repeats, data):
    rows = [row for row in rows for _ in range(repeats)]
    rows += [(*row[:3], 3, row[4]) for row in rows[::3]]  # other contents at a time that is taken
    shuffled = data.draw(st.permutations(rows))
    assert same(histories(make_log(rows), day_of), histories(make_log(shuffled), day_of))


# --- Anki's own backend ---


def test_item_counts_are_those_of_anki(tmp_path: Path):
    """Random rows of the kinds that Anki writes; Anki trains on the whole revlog and says on how much."""
    collection = pytest.importorskip("anki.collection").Collection(str(tmp_path / "collection.anki2"))
    next_day_at = collection.sched.day_cutoff
    g = np.random.default_rng(7)
    n = 900
    kind = g.choice([0, 0, 0, 1, 1, 2, 3, 4, 5], n)
    rows = pd.DataFrame(
        {
            "card": g.integers(1, 150, n),
            "time": next_day_at * 1000 - g.choice(40 * DAY_MS, n, replace=False) - 1,
            "kind": kind,
            "rating": np.where(kind >= 4, 0, g.choice([0, 1, 2, 3, 4, 3, 3], n)),
            "factor": g.choice([0, 2500], n),
        }
    )
    collection.db.executemany(
        "insert into revlog values (?, ?, 0, ?, 1, 1, ?, 1000, ?)",
        rows[["time", "card", "rating", "factor", "kind"]].to_numpy().tolist(),
    )
    cutoffs = [0, *np.quantile(rows["time"], [0.2, 0.5]).astype(int).tolist()]
    theirs = [_anki_items(collection, cutoff) for cutoff in cutoffs]
    collection.close()
    log = make_log(rows.to_numpy())

    def anki_day(time):
        return -(np.maximum(0, next_day_at - time // 1000) // 86_400)

    ours = [
        int(np.count_nonzero(histories(log, anki_day, ignore_before_ms=cutoff).delta_t)) for cutoff in cutoffs
    ]
    assert ours == theirs
    assert ours[0] > ours[1] > ours[2] > 0


def _anki_items(collection, cutoff: int) -> int:
    return collection._backend.compute_fsrs_params(
        search="",
        current_params=[],
        ignore_revlogs_before_ms=cutoff,
        num_of_relearning_steps=1,
        health_check=False,
    ).fsrs_items


# --- subset ---


def test_subset_takes_whole_cards_and_counts_the_rest():
    rows = [
        (card, day * DAY_MS, int(day > 0), 1 + card, 2500) for card in (1, 2, 3) for day in range(card + 1)
    ]
    h = histories(make_log([*rows, (9, 0, 1, 3, 2500)]), day_of)
    some = subset(h, np.array([True, False, True]))
    assert some.card_id.tolist() == [1, 3]
    assert some.offsets.tolist() == [0, 2, 6]
    assert some.rating.tolist() == [2, 2, 4, 4, 4, 4]
    assert some.delta_t.tolist() == [0, 1, 0, 1, 1, 1]
    assert some.review_time.tolist() == [0, DAY_MS, 0, DAY_MS, 2 * DAY_MS, 3 * DAY_MS]
    assert some.left_out["not_selected"] == 3
    assert some.rows == some.n_reviews + sum(some.left_out.values())
    assert some.cards_in_log == some.n_cards + sum(some.cards_left_out.values())
    again = subset(some, np.array([False, True]))
    assert (again.card_id.tolist(), again.left_out["not_selected"]) == ([3], 5)


def test_subset_refuses_a_mask_of_another_length():
    with pytest.raises(ValueError, match="card_mask"):
        subset(histories(one_card(learn(3)), day_of), np.array([True, False]))

"""States, first rows, and the day offsets of the research data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsrs_opt.errors import SourceError
from fsrs_opt.reviews.history import histories
from fsrs_opt.reviews.items import items
from fsrs_opt.sources import read


def csv(home: Path, text: str) -> Path:
    (home / "a.csv").write_text(text)
    return home / "a.csv"


def test_states_become_kinds(home: Path) -> None:
    rows = "".join(f"7,{1_700_000_000_000 + state},3,{state}\n" for state in range(7))
    frame = read(csv(home, "card_id,review_time,review_rating,review_state\n" + rows)).log
    assert frame["kind"].tolist() == [0, 0, 1, 2, 3, 4, 127]  # 127: no kind that Anki knows, counted later


def test_without_states_a_cards_earliest_row_starts_it(home: Path) -> None:
    text = "card_id,review_time,review_rating\n"
    text += "7,1700000200000,3\n8,1700000000000,3\n7,1700000100000,3\n7,1700000300000,3\n"
    collection = read(csv(home, text))
    assert collection.log["kind"].tolist() == [1, 0, 0, 1]
    assert collection.source.notes[1] == (
        "The file does not say what kind of review a row is: a card's first row was taken to start it."
    )


def test_rows_without_a_state_among_others(home: Path) -> None:
    text = "card_id,review_time,review_rating,review_state\n"
    text += "7,1700000000000,3,\n7,1700000100000,3,3\n7,1700000200000,3,\n"
    collection = read(csv(home, text))
    assert collection.log["kind"].tolist() == [0, 2, 1]
    assert "2 rows do not say what kind of review a row is" in collection.source.notes[1]


RESEARCH = {
    "card_id": [1, 2, 1, 1, 1, 2],
    "day_offset": [10, 10, 10, 14, 12, 40],
    "rating": [3, 1, 3, 3, 3, 4],
    "state": [1, 1, 1, 2, 2, 2],
    "duration": [900, 800, 700, 600, 500, 400],
    "elapsed_days": [-1, -1, 0, 4, -2, 30],
    "elapsed_seconds": [-1, -1, 300, 345600, 1, 2592000],
}


def test_the_research_data_sets_form(home: Path) -> None:
    pq.write_table(pa.table(RESEARCH), home / "a.parquet")
    collection = read(home / "a.parquet", columns="all")
    frame = collection.log
    assert collection.source.form == "research"
    assert frame["day"].tolist() == [10, 10, 10, 14, 14, 40]  # 12 after 14 is taken as the same day
    assert frame["kind"].tolist() == [0, 0, 0, 1, 1, 1]
    assert frame["duration"].tolist() == [900, 800, 700, 600, 500, 400]
    assert "1 negative elapsed days were taken as 0." in collection.source.notes
    assert "The file gives its own day numbers, so no day start is needed." in collection.source.notes
    for card in (1, 2):
        times = frame["review_time"][frame["card_id"] == card]
        assert (np.diff(times) > 0).all()
    made = histories(frame, collection.day.day_of)
    assert made.delta_t.tolist() == [0, 0, 4, 0, 0, 30]
    assert len(items(made).label) == 2


def test_after_a_step_back_the_next_step_counts_from_there(home: Path) -> None:
    """Days 0, 15, 10, 18: elapsed 15, -5 (taken as 0), 8."""
    text = "card_id,day_offset,rating\n" + "".join(f"1,{day},3\n" for day in (0, 15, 10, 18))
    collection = read(csv(home, text))
    made = histories(collection.log, collection.day.day_of)
    assert made.delta_t.tolist() == [0, 15, 0, 8]


def test_made_up_times_are_on_their_day(home: Path) -> None:
    """So that a log exported with times only, and read with days from midnight UTC, gives the same days."""
    rng = np.random.default_rng(3)
    days = np.sort(rng.integers(0, 400, 3000))
    pq.write_table(
        pa.table(
            {"card_id": rng.integers(0, 50, 3000), "day_offset": days, "rating": rng.integers(1, 5, 3000)}
        ),
        home / "a.parquet",
    )
    frame = read(home / "a.parquet").log
    by_time = frame["review_time"] // 86_400_000
    assert len(np.unique(by_time - frame["day"])) == 1
    assert (np.diff(frame["review_time"]) > 0).all()


def test_an_impossible_day_is_refused(home: Path) -> None:
    with pytest.raises(SourceError, match="line 2, column day_offset: 99999999 is no day number"):
        read(csv(home, "card_id,day_offset,rating\n1,99999999,3\n"))

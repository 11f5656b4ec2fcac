"""Reading an export back gives the same rows and the same items, whatever was exported."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from fsrs_opt.commands.export import REVLOG_COLUMNS, export
from fsrs_opt.errors import UsageError
from fsrs_opt.reviews.history import histories
from fsrs_opt.reviews.items import items
from fsrs_opt.sources import Collection, read

FIXTURES = [
    *("schema18.anki2", "schema11.anki2", "open_wal.anki2", "new.colpkg", "legacy.colpkg", "backup.colpkg"),
    *("sched_new.apkg", "sched_legacy.apkg", "deck_only_new.apkg", "empty18.anki2"),
    *("schema11_sched1.anki2", "schema14_sched1.anki2", "schema16_sched1.anki2"),
]
ZONE: dict[str, Any] = {"timezone": "Europe/Berlin", "day_start": 4}


def everything(collection: Collection) -> dict[str, Any]:
    """All that training would see, as comparable values."""
    past = histories(collection.log, collection.day.day_of)
    chosen = items(past)
    seen: dict[str, Any] = {
        f"item {each.name}": getattr(chosen, each.name).tolist() for each in fields(chosen)
    }
    seen |= {each.name: getattr(past, each.name) for each in fields(past)}
    return {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in seen.items()}


def assert_same_log(after: Collection, before: Collection) -> None:
    """What the log had before, it has afterwards."""
    pd.testing.assert_frame_equal(after.log.to_pandas()[list(before.log)], before.log.to_pandas())


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", FIXTURES)
def test_every_fixture_comes_back(shared_fixtures: Path, tmp_path: Path, name: str, suffix: str) -> None:
    target = tmp_path / f"out{suffix}"
    done = export(shared_fixtures / name, target)
    before = read(shared_fixtures / name, **ZONE, columns="all")
    after = read(target, **ZONE, columns="all")
    assert done.rows == len(before.log)
    assert everything(after) == everything(before)
    if name.startswith("empty"):  # without rows nobody can tell what the columns would have held
        return
    # the log itself too, to the last column
    assert_same_log(after, before)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_every_real_log_comes_back(shared_real: Path, tmp_path: Path, suffix: str) -> None:
    for path in sorted(shared_real.glob("*.parquet")):
        target = tmp_path / f"{path.stem}{suffix}"
        export(path, target)
        before, after = read(path, **ZONE, columns="all"), read(target, **ZONE, columns="all")
        assert_same_log(after, before)


def test_columns_and_states(shared_fixtures: Path, tmp_path: Path) -> None:
    export(shared_fixtures / "schema18.anki2", tmp_path / "out.csv")
    frame = pd.read_csv(tmp_path / "out.csv")
    assert list(frame.columns) == [
        *("card_id", "review_time", "review_rating", "review_state", "review_duration"),
        *("type", "factor", "ivl", "lastIvl"),
    ]
    # the field's states are Anki's types plus one, and it has none for a rescheduled row (type 5)
    pairs = set(zip(frame["type"], frame["review_state"], strict=True))
    assert pairs == {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 5)}


def test_nothing_but_the_review_log_leaves_the_file(shared_fixtures: Path, tmp_path: Path) -> None:
    for suffix in (".csv", ".parquet"):
        target = tmp_path / f"out{suffix}"
        export(shared_fixtures / "schema18.anki2", target)
        raw = target.read_bytes()
        for word in ("Sprachen", "Medizin", "Übung", "schema18", str(shared_fixtures)):
            assert word.encode() not in raw
    assert pyarrow.parquet.read_schema(tmp_path / "out.parquet").metadata is None


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_names_of_cards_stay_text(tmp_path: Path, suffix: str) -> None:
    names = ["Zürich", 'say "hi"', "a,b", "007", " ; ", "NA", "x"]
    names = [name.strip() for name in names]
    source = tmp_path / "source.parquet"
    pd.DataFrame(
        {
            "card_id": [name for name in names for _ in range(3)],
            "review_time": [1_700_000_000_000 + 86_400_000 * k for k in range(3 * len(names))],
            "review_rating": [1 + k % 4 for k in range(3 * len(names))],
        }
    ).to_parquet(source)
    target = tmp_path / f"out{suffix}"
    done = export(source, target)
    assert "factor" not in done.columns  # not known, so not made up
    table = pd.read_csv(target, keep_default_na=False) if suffix == ".csv" else pd.read_parquet(target)
    assert table["card_id"].unique().tolist() == names
    before, after = read(source, **ZONE), read(target, **ZONE)
    assert after.log.card_names == tuple(names)
    assert everything(after) == everything(before)


def test_odd_rows_come_back(tmp_path: Path) -> None:
    """Types and buttons that Anki does not know, negative intervals and times, a clock that was set back."""
    source = tmp_path / "odd.csv"
    source.write_text(
        "id,cid,usn,ease,ivl,lastIvl,factor,time,type\n"
        "1700000000000,5,0,3,-60,-60,0,900,0\n"
        "1700086400000,5,0,3,-86400,-60,2500,-900,1\n"
        "1600000000000,5,0,5,1,1,2500,900,1\n"
        "1700172800000,5,0,3,1,1,2500,900,9\n"
        "1700259200000,5,0,0,1,1,0,0,4\n"
        "1700345600000,6,0,0,1,1,0,0,5\n"
        "12345,6,0,3,1,1,0,0,0\n"
    )
    for suffix in (".csv", ".parquet"):
        export(source, tmp_path / f"out{suffix}")
        before, after = (
            read(source, **ZONE, columns="all"),
            read(tmp_path / f"out{suffix}", **ZONE, columns="all"),
        )
        assert everything(after) == everything(before)
        assert_same_log(after, before)


@pytest.mark.parametrize(
    "zone",
    [{}, {"timezone": "Asia/Istanbul"}, {"timezone": "Pacific/Apia", "day_start": 23}, {"day_start": 0}],
)
def test_days_without_times(tmp_path: Path, zone: dict[str, Any]) -> None:
    """The research form numbers its days and has no times; the export has times that fall on those days."""
    source = tmp_path / "research.csv"
    rng = np.random.default_rng(4)
    days = [
        np.cumsum(np.concatenate([[0], rng.integers(0, 30, 9)])) + rng.integers(0, 400) for _ in range(40)
    ]
    rows = [
        (card, day, int(rng.integers(1, 5)), k)
        for card, all_ in enumerate(days)
        for k, day in enumerate(all_)
    ]
    rows.sort(key=lambda row: row[1])
    source.write_text(
        "card_id,day_offset,rating,state\n"
        + "".join(f"{card},{day},{rating},{1 if k == 0 else 2}\n" for card, day, rating, k in rows)
    )
    for suffix in (".csv", ".parquet"):
        done = export(source, tmp_path / f"out{suffix}", **zone)
        assert any("made up" in message for message in done.messages)
        before, after = everything(read(source, **zone)), everything(read(tmp_path / f"out{suffix}", **zone))
        assert before["item delta_t"]
        for seen in (before, after):
            del seen["review_time"]
        assert after == before


def test_a_library_call_takes_a_collection_that_was_read(shared_fixtures: Path, tmp_path: Path) -> None:
    collection = read(shared_fixtures / "schema18.anki2")
    done = export(collection, tmp_path / "out.csv")
    assert done.rows == len(collection.log)
    with pytest.raises(UsageError, match="is the file that is read"):
        export(read(tmp_path / "out.csv"), tmp_path / "out.csv", force=True)


def test_every_column_of_the_revlog_has_a_name_in_the_table() -> None:
    assert set(REVLOG_COLUMNS.values()) == {"type", "factor", "ivl", "lastIvl"}

"""The sample data is what data/README.md says it is."""

from __future__ import annotations

import csv
import math
import sqlite3
import sys
import zipfile
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
import zstandard

from fsrs_opt.model.parameters import DEFAULTS, LOWER, UPPER
from fsrs_opt.reviews.history import histories
from fsrs_opt.reviews.items import items
from fsrs_opt.sources import Collection, read, select

MEGABYTE = 1_000_000
END = 1_741_021_200
"""3 March 2025, 18:00 in Berlin, when the package was exported (s since 1970 UTC)."""


@pytest.fixture(scope="module")
def table_rows(data: Path) -> list[list[str]]:
    """The cells of every table row in the README."""
    lines = (data / "README.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


@pytest.fixture(scope="module")
def counts(table_rows: list[list[str]]) -> dict[str, int]:
    return {row[0]: int(row[1]) for row in table_rows if len(row) == 2 and row[1].isdigit()}


@pytest.fixture(scope="module")
def database(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """The database inside the package, unpacked without any code of the project."""
    path = tmp_path_factory.mktemp("sample") / "collection.anki2"
    with zipfile.ZipFile(data / "sample.colpkg") as package:
        packed = package.read("collection.anki21b")
    path.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def csv_rows(data: Path) -> list[dict[str, str]]:
    with (data / "sample.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("what", "query"),
    [
        ("rows in the review log", "revlog"),
        ("cards in the review log", "(select distinct cid from revlog)"),
        ("cards in the collection", "cards"),
        (
            "cards deleted, their reviews kept",
            "(select distinct cid from revlog where cid not in (select id from cards))",
        ),
        ("suspended cards", "cards where queue = -1"),
        ("cards in a filtered deck", "cards where odid != 0"),
        ("preview rows (type 3, factor 0)", "revlog where type = 3 and factor = 0"),
        ("resets (type 4, factor 0)", "revlog where type = 4 and factor = 0"),
        ("due dates set (type 4, factor above 0)", "revlog where type = 4 and factor > 0"),
        ("rescheduled (type 5)", "revlog where type = 5"),
    ],
)
def test_package_holds_what_the_readme_counts(
    what: str, query: str, counts: dict[str, int], database: sqlite3.Connection
) -> None:
    (found,) = database.execute(f"select count(*) from {query}").fetchone()
    assert found == counts[what]
    assert found > 0


def test_package_has_three_presets_and_fsrs_is_on(database: sqlite3.Connection) -> None:
    presets = {name for (name,) in database.execute("select name from deck_config")}
    assert presets == {"Default", "Languages", "Medicine"}
    assert database.execute("select val from config where key = 'fsrs'").fetchone() == (b"true",)


def test_files_are_small_enough_for_a_repository(data: Path) -> None:
    assert (data / "sample.colpkg").stat().st_size < MEGABYTE
    assert (data / "sample.csv").stat().st_size < 0.6 * MEGABYTE


def test_csv_has_the_columns_of_fsrs_optimizer(
    csv_rows: list[dict[str, str]], counts: dict[str, int]
) -> None:
    columns = "card_id review_time review_rating review_state review_duration"
    assert list(csv_rows[0]) == columns.split()
    assert len(csv_rows) == counts["rows that count (rows of sample.csv)"]
    assert {row["review_rating"] for row in csv_rows} == {"1", "2", "3", "4"}
    assert {row["review_state"] for row in csv_rows} == {"0", "1", "2", "3", "4"}


def test_csv_rows_are_answers_in_the_package(
    csv_rows: list[dict[str, str]], database: sqlite3.Connection
) -> None:
    columns = ("review_time", "card_id", "review_rating", "review_duration")
    reviews = {tuple(int(row[column]) for column in columns) for row in csv_rows}
    answers = set(database.execute("select id, cid, ease, time from revlog where ease > 0"))
    assert reviews < answers


def test_csv_marks_the_first_review_of_each_card(csv_rows: list[dict[str, str]]) -> None:
    first_rows = [next(rows) for _, rows in groupby(csv_rows, key=itemgetter("card_id"))]
    assert first_rows == [row for row in csv_rows if row["review_state"] == "0"]
    assert len(first_rows) == len({row["card_id"] for row in csv_rows})


def count_items(collection: Collection) -> int:
    return len(items(histories(collection.log, collection.day.day_of)).label)


def test_items_of_each_preset_are_those_that_anki_counts(table_rows: list[list[str]], data: Path) -> None:
    collection = read(data / "sample.colpkg", now=END)
    by_anki = {row[0]: int(row[1]) for row in table_rows if len(row) == 4 and row[1].isdigit()}
    ours = {
        preset.name: count_items(select(collection, preset=preset.name))
        for preset in collection.presets.values()
    }
    assert ours == by_anki
    assert sum(ours.values()) > 4000


def test_csv_and_package_hold_the_same_reviews_and_items(data: Path) -> None:
    package = read(data / "sample.colpkg", now=END)
    table = read(data / "sample.csv", timezone="Europe/Berlin", day_start=4)
    in_package = histories(package.log, package.day.day_of)
    in_table = histories(table.log, table.day.day_of)
    assert sum(in_table.left_out.values()) == 0
    for field in ("card_id", "offsets", "review_time", "rating", "delta_t"):
        np.testing.assert_array_equal(getattr(in_table, field), getattr(in_package, field))


def test_the_whole_package_shows_every_kind_of_row_that_is_left_out(data: Path) -> None:
    package = read(data / "sample.colpkg", now=END)
    left_out = histories(package.log, package.day.day_of).left_out
    kinds = ("cramming", "not_rated", "before_learning_start", "no_learning_start")
    assert all(left_out[kind] > 0 for kind in kinds)


def test_true_parameters_are_possible_and_not_the_defaults(table_rows: list[list[str]]) -> None:
    true = [[float(w) for w in row[3].split(",")] for row in table_rows if len(row) == 4 and row[2] == "true"]
    assert len(true) == 3
    for w in true:
        assert len(w) == 21
        assert all(low <= value <= high for low, value, high in zip(LOWER, w, UPPER, strict=True))
        assert w[0] <= w[1] <= w[2] <= w[3]
        assert sum(value != default for value, default in zip(w, DEFAULTS, strict=True)) > 15


def test_simulated_learner_remembers_by_fsrs6(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference batch of the field: four cards of six reviews and a seventh, log loss summed."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parent.parent / "scripts"))
    from simulated_learner import after_review, retrievability

    elapsed = [(0, 0, 0, 0, 1, 3), (0, 0, 0, 1, 3, 6), (0, 0, 0, 1, 3, 6), (0, 0, 1, 3, 5, 12)]
    ratings = [(1, 3, 1, 4, 3, 2), (2, 4, 4, 3, 1, 3), (3, 2, 4, 3, 3, 3), (4, 4, 3, 3, 3, 4)]
    scored = [(4, 1), (11, 1), (12, 1), (23, 0)]
    loss = 0.0
    for card_elapsed, card_ratings, (delta_t, label) in zip(elapsed, ratings, scored, strict=True):
        memory, day = None, 0
        for days, rating in zip(card_elapsed, card_ratings, strict=True):
            day += days
            memory = after_review(DEFAULTS, memory, day, rating)
        recall = retrievability(DEFAULTS, delta_t, memory.stability)
        loss -= math.log(recall if label else 1 - recall)
    assert loss == pytest.approx(4.0466027, rel=1e-5)
    sys.modules.pop("simulated_learner")

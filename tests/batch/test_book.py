from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fsrs_opt.batch.book import FORMAT, NAME, Book
from fsrs_opt.batch.tasks import DONE, FAILED, Options, Order, Outcome, Row, Task
from fsrs_opt.errors import FsrsOptError

W = tuple(float(k) for k in range(21))


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    with closing(Book.create(tmp_path)) as opened:
        yield opened


def order(path: str = "/a", split: str = "none", stamp: str = "s") -> Order:
    return Order(Task(path, path[1:], 10, stamp), split, Options())


def done(selection: str = "", status: str = DONE) -> Row:
    return Row(selection, f"deck {selection}" if selection else "", status, parameters=W, decision="change")


def test_what_was_put_is_there_after_a_flush(book: Book, tmp_path: Path) -> None:
    book.put(Outcome(order(), "c", (done(),), version="1"))
    book.flush()
    with closing(sqlite3.connect(tmp_path / NAME)) as other:
        row = other.execute("select path, content, status, parameters, version from task").fetchone()
    assert row == ("/a", "c", "done", "[" + ",".join(f"{w}" for w in W) + "]", "1")
    assert book.known("none")["/a"].status == {"": DONE}


def test_a_group_is_put_down_whole_or_not_at_all(book: Book) -> None:
    bad = Row("", "", "no such status")
    book.put(Outcome(order("/a"), "c", (done(),)))
    book.put(Outcome(order("/b"), "c", (bad,)))
    with pytest.raises(FsrsOptError):
        book.flush()
    assert book.counts() == {"waiting": 0, "done": 0, "failed": 0}
    assert book.damage() == ""


def test_results_take_the_place_of_earlier_ones(book: Book) -> None:
    book.expect([order().task], "deck")
    assert book.counts()["waiting"] == 1
    book.put(Outcome(order(split="deck"), "c1", (done("1"), done("2"))))
    book.flush()
    assert book.known("deck")["/a"].status == {"1": DONE, "2": DONE}
    # deck 1 is gone, deck 3 is new
    book.put(Outcome(order(split="deck"), "c2", (done("2"), done("3", FAILED))))
    book.flush()
    assert book.known("deck")["/a"].status == {"2": DONE, "3": FAILED}
    # what failed is done now, the rest is kept
    book.put(Outcome(order(split="deck"), "c2", (done("3"),), kept=("2",)))
    book.flush()
    assert book.known("deck")["/a"].status == {"2": DONE, "3": DONE}


def test_a_touched_file_with_the_same_content_gets_its_new_stamp(book: Book) -> None:
    book.put(Outcome(order(stamp="old"), "c", (done(),)))
    book.put(Outcome(order(stamp="new"), "c", (), kept=("",)))
    book.flush()
    assert book.known("none")["/a"].stamp == "new"
    assert book.counts()["done"] == 1


def test_rows_of_different_moments_vouch_for_nothing(book: Book) -> None:
    book.put(Outcome(order(split="deck"), "c1", (done("1"),)))
    book.put(Outcome(order(split="deck"), "c2", (done("2"),), kept=("1",)))
    book.flush()
    assert book.known("deck")["/a"].content == ""


def test_names_that_are_no_text_can_be_kept(book: Book) -> None:
    book.put(Outcome(order("/a\udcff.apkg"), "c", (Row("", "", FAILED, error="\udcff is bad"),)))
    book.flush()
    assert [row["path"] for row in book.rows()] == ["/a\\udcff.apkg"]


def test_a_folder_without_a_book_is_told(tmp_path: Path) -> None:
    with pytest.raises(FsrsOptError, match="holds no batch job"):
        Book(tmp_path)


def test_what_is_no_book_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("my diary, which is longer than a header of an SQLite database" * 10)
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(FsrsOptError, match="no book"):
        Book.create(tmp_path)
    assert (tmp_path / NAME).read_bytes() == before


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / NAME)) as other:
        other.execute("create table mine (x)")
        other.commit()
    with pytest.raises(FsrsOptError, match="no book"):
        Book.create(tmp_path)


def test_a_newer_book_is_left_alone(book: Book, tmp_path: Path) -> None:
    book.close()
    with closing(sqlite3.connect(tmp_path / NAME)) as other:
        other.execute(f"pragma user_version = {FORMAT + 1}")
    with pytest.raises(FsrsOptError, match="newer"):
        Book.create(tmp_path)


def test_a_book_whose_making_was_cut_off_is_made_again(tmp_path: Path) -> None:
    (tmp_path / NAME).touch()
    with closing(Book.create(tmp_path)) as made:
        assert made.counts() == {"waiting": 0, "done": 0, "failed": 0}


def test_a_full_disk_is_one_sentence_and_the_book_stays_whole(book: Book) -> None:
    book.put(Outcome(order("/kept"), "c", (done(),)))
    book.flush()
    pages = book._database.execute("pragma page_count").fetchone()[0]
    book._database.execute(f"pragma max_page_count = {pages}")
    for k in range(100):
        book.put(Outcome(order(f"/{k}"), "c", (done(),)))
    with pytest.raises(FsrsOptError, match="disk is full") as raised:
        book.flush()
    assert str(raised.value).count(". ") == 0
    assert [row["path"] for row in book.rows()] == ["/kept"]
    assert book.damage() == ""

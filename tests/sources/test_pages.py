"""Rows decoded from pages: SQLite's own answer is what they have to be."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsrs_opt.sources import pages
from fsrs_opt.sources.pages import UnusualError, read_columns

NAMES = ("id", "small", "large")
TABLE = "create table t (id integer primary key, small integer, note text, large integer, rest)"
WIDTHS = [2**n for n in (7, 15, 23, 31, 47, 63)]  # what a whole number of 1, 2, 3, 4, 6 and 8 bytes can hold
EDGES = [0, 1, 2, -1, *(edge for n in WIDTHS for edge in (n - 1, -n)), *(n for n in WIDTHS if n < 2**63)]

Row = tuple[Any, ...]


def database(
    rows: Iterable[Row], *, table: str = TABLE, page_size: int = 4096, more: Sequence[str] = ()
) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(f"pragma page_size = {page_size}")
        connection.execute(table)
        for row in rows:
            connection.execute(f"insert into t values ({', '.join('?' * len(row))})", row)
        for statement in more:
            connection.execute(statement)
        return connection.serialize()


def decoded(content: bytes, names: Sequence[str] = NAMES) -> list[Row]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        columns = read_columns(connection, BytesIO(content), "t", dict.fromkeys(names, np.int64))
    return list(zip(*(columns[name].tolist() for name in names), strict=True))


def by_sqlite(content: bytes, names: Sequence[str] = NAMES) -> list[Row]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        return connection.execute(f"select {', '.join(names)} from t order by id").fetchall()


def some_rows(n: int, *, seed: int = 0, note: Callable[[int], str] = str) -> list[Row]:
    draw = random.Random(seed)
    ids = sorted(draw.sample(range(1, 50 * n), n))
    return [(id_, draw.choice(EDGES), note(k), draw.choice(EDGES), "") for k, id_ in enumerate(ids)]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 2**56 - 1),
            st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1),
            st.text(max_size=40) | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.none(),
            st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1),
            st.text(max_size=700) | st.none(),
        ),
        unique_by=lambda row: row[0],
        max_size=60,
    ),
    page_size=st.sampled_from([512, 1024, 65536]),
)
def test_any_whole_numbers(rows: list[Row], page_size: int) -> None:
    content = database(rows, page_size=page_size)
    try:
        found = decoded(content)
    except UnusualError:  # a text of more than 57 bytes before a number has a type of two bytes
        long = any(isinstance(note, str) and len(note.encode()) > 57 for _, _, note, _, _ in rows)
        assert long or not rows
    else:
        assert found == by_sqlite(content)


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_a_tree_of_several_levels(page_size: int) -> None:
    content = database(some_rows(20_000), page_size=page_size)
    assert decoded(content) == by_sqlite(content)


def test_pages_in_any_order_and_unused_ones() -> None:
    more = [
        "create table other (x)",
        *(
            "insert into other values (zeroblob(3000))",
            "insert into t select id + 500000, 1, 'x', 2, '' from t",
        ),
        "delete from t where id % 3 = 0 or id between 9000 and 30000",
        "drop table other",
        "insert into t select id + 10000000, 1, 'x', 2, '' from t",
    ]
    content = database(some_rows(2000), page_size=1024, more=more)
    assert decoded(content) == by_sqlite(content)
    assert len(decoded(content)) > 2000


def test_rows_that_go_on_in_other_pages() -> None:
    rows = [(*row[:4], "long" * 5000) for row in some_rows(100)]
    content = database(rows)
    assert decoded(content) == by_sqlite(content)


def test_a_long_row_whose_numbers_do_not_fit_the_page_is_unusual() -> None:
    table = "create table t (id integer primary key, note text, small, large)"
    content = database([(1, "x" * 57, 1, 2**40)] * 1, table=table, page_size=512)
    assert decoded(content) == [(1, 1, 2**40)]
    columns = ", ".join(f"c{k} text" for k in range(12))
    table = f"create table t (id integer primary key, {columns}, small, large, rest)"
    content = database([(1, *["x" * 57] * 12, 1, 2, "y" * 900)], table=table, page_size=512)
    with pytest.raises(UnusualError):
        decoded(content)


def test_a_table_without_rows_is_unusual() -> None:
    with pytest.raises(UnusualError):
        decoded(database([]))


def test_names_in_another_case() -> None:
    table = "create table t (ID INTEGER PRIMARY KEY, Small, note, LARGE, rest)"
    content = database([(5, 6, "", 7, "")], table=table)
    assert decoded(content) == [(5, 6, 7)]
    assert decoded(content, ("id", "sMALL")) == [(5, 6)]


@pytest.mark.parametrize("value", [None, 1.5, "1", b"1"])
def test_other_values_are_unusual(value: object) -> None:
    rows = [*some_rows(500), (10**9, value, "", 1, "")]
    with pytest.raises(UnusualError):
        decoded(database(rows, table=TABLE.replace("small integer", "small")))


@pytest.mark.parametrize(
    "table",
    [
        "create table t (id, small, note, large, rest)",
        "create table t (id int primary key, small, note, large, rest)",
        "create table t (id integer primary key desc, small, note, large, rest)",
        "create table t (id integer, small, note, large, rest, primary key (id, small))",
        "create table t (id integer primary key, small, note, large, rest) without rowid",
        "create table t (small integer primary key, id, note, large, rest)",
        "create table t (id integer primary key, big, note, large, rest)",
        "create table t (id integer primary key, small, note, large, rest, twice as (2 * small))",
        "create virtual table t using fts5 (id, small, note, large, rest)",
    ],
)
def test_other_tables_are_unusual(table: str) -> None:
    rows = [] if "virtual" in table or "twice" in table else [(3, 2, "", 1, ""), (1, 2, "", 3, "")]
    with pytest.raises(UnusualError):
        decoded(database(rows, table=table))


def test_a_column_added_later_is_unusual() -> None:
    content = database(some_rows(10), more=["alter table t add column more integer default 7"])
    assert decoded(content) == by_sqlite(content)
    with pytest.raises(UnusualError):
        decoded(content, ("id", "more"))


@pytest.mark.parametrize("key", [-5, 2**56])
def test_keys_of_nine_bytes_are_unusual(key: int) -> None:
    with pytest.raises(UnusualError):
        decoded(database([(key, 1, "", 2, "")]))


def test_values_beyond_the_type_end_at_its_ends() -> None:
    content = database([(1, 300, "", -(2**40), ""), (2, -300, "", 5, "")])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        dtypes = {"id": np.int64, "small": np.int8, "large": np.int32}
        columns = read_columns(connection, BytesIO(content), "t", dtypes)
    assert columns["small"].tolist() == [127, -128]
    assert columns["large"].tolist() == [-(2**31), 5]
    assert {name: values.dtype for name, values in columns.items()} == dtypes


def test_an_open_file(tmp_path: Path) -> None:
    file = tmp_path / "t.sqlite"
    file.write_bytes(database(some_rows(3000)))
    with closing(sqlite3.connect(file)) as connection, file.open("rb", buffering=0) as content:
        columns = read_columns(connection, content, "t", {"id": np.int64, "large": np.int64})
    assert columns["id"].tolist() == [row[0] for row in by_sqlite(file.read_bytes())]


def test_a_file_that_is_cut_off() -> None:
    content = database(some_rows(3000))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        with pytest.raises(UnusualError):
            read_columns(connection, BytesIO(content[:-5000]), "t", dict.fromkeys(NAMES, np.int64))


def test_damage_is_unusual_or_read_as_sqlite_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of any page changed at random: nothing else than SQLite's own answer is ever given."""
    monkeypatch.setattr(pages, "_CHUNK_BYTES", 2048)
    content = database(some_rows(900, note=lambda k: "x" * (k % 30)), page_size=512)
    draw, read = random.Random(1), 0
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(draw.choice((1, 1, 3))):
            page = draw.randrange(len(content) // 512)
            place = page * 512 + draw.choice((draw.randrange(14), draw.randrange(512)))
            if place >= 100:
                damaged[place] = draw.choice((0, 0xFF, draw.randrange(256)))
        try:
            found = decoded(bytes(damaged))
        except (UnusualError, sqlite3.Error, UnicodeDecodeError):
            continue
        assert found == by_sqlite(bytes(damaged))
        read += 1
    assert 50 < read < 400

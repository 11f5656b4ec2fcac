"""Databases that are open elsewhere, have a -wal or a hot journal beside them, or hold odd values."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsrs_opt.errors import SourceError
from fsrs_opt.sources import database, read, select
from fsrs_opt.sources.locks import held_by_another

from .conftest import ROWS, MakeDatabase, listing

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2].split(";"):
    connection.execute(statement).fetchall()
print("held", flush=True)
sys.stdin.read()
if len(sys.argv) > 3:
    import os
    os._exit(0)
"""
pytestmark = pytest.mark.skipif(not sys.platform.startswith(("linux", "darwin")), reason="asks POSIX locks")


@contextmanager
def held(path: Path, statements: str, *more: str) -> Iterator[None]:
    """Another process has the database open, and lets go at the end (with `more`: dies)."""
    command = [sys.executable, "-c", HOLD, str(path), statements, *more]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield
        process.communicate("")


def test_an_exclusive_lock_is_one_line_after_a_short_wait(
    make_database: MakeDatabase, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_WAIT_S", 0.2)
    path = make_database()
    with held(path, "begin exclusive"):
        before = listing(home)
        with pytest.raises(SourceError) as caught:
            read(path)
        assert listing(home) == before
    assert str(caught.value) == (
        f"{path} is locked by another program; close Anki, or export the collection (File > Export) and give "
        "the exported file."
    )
    assert len(read(path).log) == 3


def test_a_lock_that_ends_in_time_is_waited_for(make_database: MakeDatabase) -> None:
    path = make_database()
    with held(path, "begin exclusive"):
        assert held_by_another(path) == "exclusive"
        code = "import sys; from fsrs_opt.sources import read; print(len(read(sys.argv[1]).log))"
        waiter = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True)
    assert waiter.communicate()[0] == "3\n"
    assert waiter.returncode == 0


def test_readers_elsewhere_do_not_matter(make_database: MakeDatabase) -> None:
    path = make_database()
    for statements in ("begin; select * from revlog", "begin immediate"):
        with held(path, statements):
            assert held_by_another(path) == "shared"
            assert len(read(path).log) == 3
    assert held_by_another(path) is None


def test_a_collection_that_anki_has_open_is_read_from_a_copy(make_database: MakeDatabase, home: Path) -> None:
    """Anki opens its collection in WAL mode with an exclusive lock and keeps new answers in the -wal."""
    path = make_database()
    statements = (
        "pragma locking_mode = exclusive; pragma journal_mode = wal; pragma wal_autocheckpoint = 0;"
        "insert into revlog values (1700300000000, 6, 0, 3, 1, 1, 2500, 900, 1)"
    )
    with held(path, statements):
        assert held_by_another(path) == "exclusive"
        before = listing(home)
        assert path.name + "-wal" in before
        collection = read(path)
        assert listing(home) == before
    assert collection.log["review_time"].tolist() == [row[0] for row in ROWS] + [1_700_300_000_000]
    assert "a copy was read" in collection.source.notes[0]


def test_newest_reviews_only_in_the_wal(shared_fixtures: Path, home: Path) -> None:
    for name in ("open_wal.anki2", "open_wal.anki2-wal"):
        shutil.copyfile(shared_fixtures / name, home / name)
    before = listing(home)
    collection = read(home / "open_wal.anki2")
    assert len(collection.log) == 1440
    assert "open_wal.anki2-wal" in collection.source.notes[0]
    assert listing(home) == before
    (home / "open_wal.anki2-wal").unlink()
    assert len(read(home / "open_wal.anki2").log) == 1438


def test_a_wal_database_without_wal_file_leaves_no_files(shared_fixtures: Path, home: Path) -> None:
    shutil.copyfile(shared_fixtures / "schema18.anki2", home / "c.anki2")
    read(home / "c.anki2")
    assert list(listing(home)) == ["c.anki2"]


def test_a_program_that_died_in_a_write_is_rolled_back_in_the_copy(
    make_database: MakeDatabase, home: Path
) -> None:
    path = make_database()
    statements = "pragma cache_spill = 1; pragma cache_size = 1; begin; update revlog set ease = 1;"
    filler = "insert into revlog select null, cid, usn, 1, ivl, lastIvl, factor, time, type from revlog;" * 12
    with held(path, statements + filler + "select 1", "die"):
        pass
    journal = home / "collection.anki2-journal"
    assert journal.stat().st_size > 0
    before = listing(home)
    collection = read(path)
    assert collection.log["rating"].tolist() == [3, 3, 1]
    assert listing(home) == before


def test_a_read_only_file_in_a_read_only_folder(make_database: MakeDatabase, home: Path) -> None:
    path = make_database()
    path.chmod(0o444)
    home.chmod(0o555)
    try:
        assert len(read(path).log) == 3
    finally:
        home.chmod(0o755)


def test_a_name_that_looks_like_a_uri(make_database: MakeDatabase) -> None:
    assert len(read(make_database("a?mode=rw#50%25 ü.anki2")).log) == 3


@pytest.mark.parametrize("late", [False, True])
def test_odd_values_are_cast_not_fatal(make_database: MakeDatabase, late: bool) -> None:
    """SQLite keeps any kind of value in any column; late ones come after the types were settled."""
    plenty = [(1_600_000_000_000 + i, 5, 3, 1, 2500) for i in range(70_000 if late else 0)]
    odd = [
        (1_700_000_000_000, 5, 3, 1, 2500.5),
        (1_700_000_000_001, 5, None, 1, None),
        (1_700_000_000_002, 5, "4", "x", 0),
        (1_700_000_000_003, 5, 300, -300, 2**40),
    ]
    log = read(make_database(rows=[*plenty, *odd])).log
    assert log["factor"][len(plenty) :].tolist() == [2500, 0, 0, 2**31 - 1]
    assert log["rating"][len(plenty) :].tolist() == [3, 0, 4, 127]
    assert log["kind"][len(plenty) :].tolist() == [1, 1, 0, -128]


def test_values_beyond_their_dtype_are_clipped_on_the_fast_way_too(make_database: MakeDatabase) -> None:
    log = read(make_database(rows=[(1_700_000_000_000, 5, 300, -300, 2**40)])).log
    assert [log[name][0] for name in log] == [1_700_000_000_000, 5, 127, -128, 2**31 - 1]


def test_a_foreign_database_and_a_view_in_place_of_the_table(home: Path) -> None:
    with sqlite3.connect(home / "other.db") as connection:
        connection.execute("create table songs (id)")
        connection.execute("create view revlog as select 1")
    connection.close()
    with pytest.raises(SourceError, match=r"other\.db is an SQLite database but not an Anki collection"):
        read(home / "other.db")


def test_a_table_with_other_columns(make_database: MakeDatabase) -> None:
    path = make_database()
    with sqlite3.connect(path) as connection:
        connection.execute("alter table revlog rename column ease to button")
    connection.close()
    with pytest.raises(SourceError, match="not laid out like Anki's"):
        read(path)


def test_an_empty_col_table_and_a_torn_page(make_database: MakeDatabase) -> None:
    path = make_database()
    with sqlite3.connect(path) as connection:
        connection.execute("delete from col")
    connection.close()
    with pytest.raises(SourceError, match="damaged"):
        read(path)
    whole = make_database("torn.anki2", rows=[(1_600_000_000_000 + i, 5, 3, 1, 2500) for i in range(5000)])
    content = bytearray(whole.read_bytes())
    for page in range(4, len(content) // 4096):
        content[page * 4096 : page * 4096 + 8] = b"\xff" * 8
    whole.write_bytes(content)
    with pytest.raises(SourceError, match=r"torn\.anki2 is damaged .*Check Database"):
        read(whole)


def test_names_of_tables_that_are_no_text(make_database: MakeDatabase) -> None:
    path = make_database()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE revlog", b"CREATE TABLE \xa5evl\xff "))
    with pytest.raises(SourceError, match=r"damaged .*Check Database"):
        read(path)


def test_unicase_ignores_case_outside_ascii() -> None:
    assert database.unicase("ÜBUNG", "übung") == 0
    assert database.unicase("a", "B") < 0 < database.unicase("b", "A")


def test_names_with_the_collation_can_be_looked_up(shared_fixtures: Path) -> None:
    with database.open_live(shared_fixtures / "schema18.anki2") as opened:
        found = opened.connection.execute(
            "select id from decks where name = ?", ("SPRACHEN\x1fFRANÇAIS",)
        ).fetchall()
        names = opened.connection.execute("select name from decks order by name").fetchall()
    assert len(found) == 1
    assert names == sorted(names, key=lambda row: row[0].casefold())
    collection = read(shared_fixtures / "schema18.anki2")
    assert len(select(collection, deck="SPRACHEN::français").cards) == 24

"""Small databases and packages made on the spot, and a guard that a source's folder stays as it was."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import zstandard

Row = tuple[int, int, int, int, int]  # id, cid, ease, type, factor
MakeDatabase = Callable[..., Path]

REVLOG = "id integer primary key, cid, usn, ease, ivl, lastIvl, factor, time, type"
CARDS = "id integer primary key, nid, did, odid, queue, flags"
COL = "id integer primary key, crt, ver, conf, decks, dconf"
ROWS: tuple[Row, ...] = (
    (1_700_000_000_000, 5, 3, 0, 0),
    (1_700_100_000_000, 5, 3, 1, 2500),
    (1_700_200_000_000, 6, 1, 0, 0),
)


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Name -> size and time of change of all that lies in a folder."""
    return {file.name: (file.stat().st_size, file.stat().st_mtime_ns) for file in folder.iterdir()}


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test: the temporary folders of reading are gone afterwards, error or not."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    yield
    assert list(scratch.iterdir()) == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of its own for the files that a test reads."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def make_database(home: Path) -> MakeDatabase:
    """A schema 11 collection with the given revlog rows; cards 5 (deck 2) and 6 (deck 1)."""

    def make(
        name: str = "collection.anki2",
        rows: Sequence[Sequence[object]] = ROWS,
        *,
        conf: dict[str, object] | None = None,
        decks: object = None,
        dconf: object = None,
        cards: Sequence[Sequence[object]] = ((5, 5, 2, 0, 2, 0), (6, 6, 1, 0, 2, 0)),
        flds: str = "front",
    ) -> Path:
        decks = (
            {"1": {"name": "Default", "conf": 1}, "2": {"name": "B", "conf": 1}} if decks is None else decks
        )
        dconf = {"1": {"name": "Default"}} if dconf is None else dconf
        path = home / name
        with sqlite3.connect(path) as database:
            for table, columns in (("revlog", REVLOG), ("cards", CARDS), ("col", COL)):
                database.execute(f"create table {table} ({columns})")
            database.execute("create table notes (id integer primary key, flds)")
            stored = [json.dumps(part) for part in (conf or {}, decks, dconf)]
            database.execute("insert into col values (1, 1600000000, 11, ?, ?, ?)", stored)
            database.execute("insert into notes values (1, ?)", (flds,))
            database.executemany("insert into cards values (?, ?, ?, ?, ?, ?)", cards)
            database.executemany(
                "insert into revlog (id, cid, ease, type, factor, usn, ivl, lastIvl, time)"
                " values (?, ?, ?, ?, ?, 0, 1, -600, 2000)",
                rows,
            )
        database.close()
        return path

    return make


@pytest.fixture
def make_package(home: Path) -> Callable[..., Path]:
    """A zip with the given members, in that order; `zstd=True` compresses the anki21b member."""

    def make(name: str, members: dict[str, bytes], *, compression: int = zipfile.ZIP_STORED) -> Path:
        path = home / name
        with zipfile.ZipFile(path, "w", compression) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        return path

    return make


def zstd(content: bytes) -> bytes:
    """As Anki writes it: no content size, no checksum."""
    compressor = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return compressor.compress(content) + compressor.flush()

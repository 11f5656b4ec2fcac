"""Collections for the tests, and what is in them, told by Anki's backend and by SQLite alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import zstandard
from anki.collection import Collection
from anki.deck_config_pb2 import DeckConfig

NEW = (
    *(0.4, 1.3, 2.5, 9.0, 6.2, 0.85, 3.1, 0.02, 1.8, 0.17, 0.8),
    *(1.5, 0.06, 0.25, 1.6, 0.6, 1.9, 0.55, 0.09, 0.06, 0.2),
)
"""Parameters inside every limit that no preset of the sample holds."""

Tables = dict[str, list[tuple[Any, ...]]]


def unpacked_sample(data: Path, target: Path) -> Path:
    """The database of the sample package (schema 18; three presets, eleven decks, one of them filtered)."""
    with zipfile.ZipFile(data / "sample.colpkg") as package:
        packed = package.read("collection.anki21b")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    return target


def result_file(
    folder: Path, parameters: Sequence[float] = NEW, decision: str = "change", preset: str = ""
) -> Path:
    """What `optimize --json` would have written, as far as it matters here."""
    verdict = {
        "decision": decision,
        "sentence": f"The test says {decision}.",
        "gain": {"mean": 0.01, "low": 0.004, "high": 0.016},
    }
    path = folder / f"result-{decision}{preset}.json"
    result = {"new_parameters": list(parameters), "verdict": verdict}
    path.write_text(json.dumps(result | ({"preset": preset} if preset else {})))
    return path


def unicase(a: str, b: str) -> int:
    a, b = a.casefold(), b.casefold()
    return (a > b) - (a < b)


@contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the database (with its -wal), so that looking at it leaves it as it is."""
    copy = path.with_name(f"looked-at-{path.name}")
    for suffix in ("", "-wal"):
        if Path(f"{path}{suffix}").exists():
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    try:
        with closing(sqlite3.connect(copy)) as connection:
            connection.create_collation("unicase", unicase)
            yield connection
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{copy}{suffix}").unlink(missing_ok=True)


def contents(path: Path) -> Tables:
    """Every row of every table, and the schema."""
    with database(path) as connection:
        names = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
        found = {name: sorted(connection.execute(f'select * from "{name}"'), key=repr) for name in names}
        found["sqlite_master"] = connection.execute(
            "select type, name, sql from sqlite_master order by name"
        ).fetchall()
    return found


def differing(a: Tables, b: Tables) -> dict[str, int]:
    """How many rows of `b` are not in `a`, or the other way round if more, by table."""
    found = {name: (set(map(repr, a.get(name, []))), set(map(repr, b.get(name, [])))) for name in {*a, *b}}
    return {name: max(len(y - x), len(x - y)) for name, (x, y) in found.items() if x != y}


def preset_messages(path: Path) -> dict[str, Any]:
    """Anki's own message of each preset, by name."""
    with database(path) as connection:
        rows = connection.execute("select name, config from deck_config").fetchall()
    return {name: DeckConfig.Config.FromString(config) for name, config in rows}


def change_preset(path: Path, preset: str, change: Callable[[Any], object], unknown: bytes = b"") -> None:
    """Store a preset with something changed in Anki's message; unknown: a field that no Anki knows yet."""
    message = preset_messages(path)[preset]
    change(message)
    with closing(sqlite3.connect(path)) as connection:
        connection.create_collation("unicase", unicase)
        raw = message.SerializeToString() + unknown
        connection.execute("update deck_config set config = ? where name = ?", (raw, preset))
        connection.commit()


@contextmanager
def in_anki(path: Path) -> Iterator[Collection]:
    """The collection, open in Anki."""
    col = Collection(str(path))
    try:
        yield col
    finally:
        col.close()


def stored(path: Path, preset: str) -> tuple[float, ...]:
    """The FSRS-6 parameters that Anki reads, to four decimals."""
    with in_anki(path) as col:
        (config,) = [each for each in col.decks.all_config() if each["name"] == preset]
        assert col.db is not None
        assert col.db.scalar("pragma integrity_check") == "ok"
    return tuple(round(value, 4) for value in config["fsrsParams6"])

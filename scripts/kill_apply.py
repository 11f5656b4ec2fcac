#!/usr/bin/env python3
"""Kill `fsrs-opt apply` and `fsrs-opt undo` at random moments and look at what is left.

    .venv/bin/python scripts/kill_apply.py [--runs 50] [--seed 1] [--copies 10]

Each run gets a fresh copy of the sample collection (its review log repeated `--copies` times under new ids,
so that every step takes long enough to be met), starts the command as a process and kills it with SIGKILL at
a moment drawn from the whole run, from the time in which the collection is locked, or from that in which it
is written, in turn. Then the collection must open in Anki, pass the integrity check, and hold the old or the
new parameters and nothing else that is new; where it holds the new ones, a backup of the old state must be
there and `undo` must bring it back. Prints how often which was found, and where it was killed. Linux and
macOS.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import zstandard
from anki.collection import Collection

ROOT = Path(__file__).resolve().parent.parent
PRESET = "Languages"
NEW = (
    *(0.4, 1.3, 2.5, 9.0, 6.2, 0.85, 3.1, 0.02, 1.8, 0.17, 0.8),
    *(1.5, 0.06, 0.25, 1.6, 0.6, 1.9, 0.55, 0.09, 0.06, 0.2),
)
SINCE = ("start", "locked", "written")
TABLES = ("cards", "notes", "revlog", "decks", "config", "notetypes", "fields", "templates", "tags", "graves")


def make_collection(path: Path, copies: int) -> None:
    """The sample's database with a longer review log."""
    with zipfile.ZipFile(ROOT / "data" / "sample.colpkg") as package:
        packed = package.read("collection.anki21b")
    path.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    with closing(sqlite3.connect(path)) as connection:
        for n in range(1, copies):
            connection.execute(
                "insert or ignore into revlog select id - ?, cid, usn, ease, ivl, lastIvl, factor, time, type"
                " from revlog where id > 1600000000000",
                (n * 60_000_000_000,),
            )
        connection.commit()


def state_of(path: Path) -> tuple[tuple[float, ...], str]:
    """What Anki reads: the preset's parameters, and a digest of the tables that must never change."""
    col = Collection(str(path))
    try:
        assert col.db is not None
        assert col.db.scalar("pragma integrity_check") == "ok", "the integrity check fails"
        (preset,) = [each for each in col.decks.all_config() if each["name"] == PRESET]
        rows = [col.db.first("select crt, scm, ver, usn, ls from col")]  # scm: whether a full sync is forced
        rows += [col.db.first(f"select count() from {name}") for name in TABLES]
        rows.append(col.db.first("select sum(id % 1000003), sum(ivl), sum(factor), sum(time) from revlog"))
        rows.append(col.db.first("select sum(mod), sum(due), sum(ivl), sum(length(data)) from cards"))
        rows += col.db.all("select id, mtime_secs, hex(config) from deck_config where name != ?", PRESET)
    finally:
        col.close()
    return tuple(round(value, 4) for value in preset["fsrsParams6"]), str(rows)


def command(name: str, collection: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "fsrs_opt", name, str(collection), *more]


def run_and_kill(arguments: list[str], folder: Path, whole: float, share: float, since: str) -> str:
    """Start a command, kill it, and say in which step that was.

    whole: seconds that the command takes undisturbed. share: 0 to 1, how late it is killed: since its
    "start", since the collection is "locked", or since it is "written".
    """
    wal = folder / "collection.anki2-wal"
    reached = {
        "start": lambda: True,
        "locked": wal.exists,
        "written": lambda: wal.exists() and wal.stat().st_size > 0,
    }[since]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with suppress(FileNotFoundError):
        while process.poll() is None and not reached():
            time.sleep(0.0005)
    time.sleep(share * whole * {"start": 1.05, "locked": 0.4, "written": 0.03}[since])
    ended = process.poll() is not None
    process.kill()
    process.wait()
    if ended:
        return "after its end"
    if not wal.exists():
        return "before the collection was locked or after"
    if wal.stat().st_size:
        return "while the collection was written"
    copying = any((folder / "fsrs-opt-backups").glob(".fsrs-opt-work-*"))
    return "while a copy was made or checked" if copying else "while the collection was locked"


def check(folder: Path, old: tuple[float, ...], rows: str, original: bytes) -> str:
    """ "old" or "new"; AssertionError for anything else."""
    collection = folder / "collection.anki2"
    parameters, seen = state_of(collection)
    assert parameters in (old, NEW), f"neither old nor new: {parameters}"
    assert seen == rows, "another table changed"
    if parameters == old:
        return "old"
    kept = [file for file in (folder / "fsrs-opt-backups").glob("*.anki2") if file.read_bytes() == original]
    assert kept, "new parameters and no backup"
    return "new"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--copies", type=int, default=10)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    found: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        start = Path(scratch) / "start.anki2"
        make_collection(start, options.copies)
        old, rows = state_of(start)
        original = start.read_bytes()
        result = Path(scratch) / "result.json"
        result.write_text(
            json.dumps({"new_parameters": NEW, "verdict": {"decision": "change", "sentence": "A test."}})
        )
        write = ("--preset", PRESET, "--from", str(result), "--yes")
        seconds = {}
        for turn in range(-1, options.runs):
            folder = Path(scratch) / "profile"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            collection = folder / "collection.anki2"
            shutil.copyfile(start, collection)
            name = "apply" if turn < 0 or turn % 2 == 0 else "undo"
            if turn < 0 or name == "undo":
                began = time.monotonic()
                subprocess.run(command("apply", collection, *write), check=True, stdout=subprocess.DEVNULL)
                seconds["apply"] = time.monotonic() - began
            if turn < 0:
                began = time.monotonic()
                subprocess.run(command("undo", collection), check=True, stdout=subprocess.DEVNULL)
                seconds["undo"] = time.monotonic() - began
                continue
            arguments = command(name, collection, *(write if name == "apply" else ()))
            place = run_and_kill(arguments, folder, seconds[name], chance.random(), SINCE[turn // 2 % 3])
            state = check(folder, old, rows, original)
            found[name, place, state] += 1
            if state == "new":
                subprocess.run(command("undo", collection), check=True, stdout=subprocess.DEVNULL)
                assert check(folder, old, rows, original) == "old"
            leftovers = sorted(file.name for file in folder.iterdir())
            assert set(leftovers) <= {"collection.anki2", "collection.media", "fsrs-opt-backups"}, leftovers
    print(f"killed {options.runs} times; every collection opened in Anki with the old or the new parameters")
    for (name, place, state), count in sorted(found.items()):
        print(f"  {count:3}  {name:5}  {place:41}  {state} parameters")


if __name__ == "__main__":
    main()

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from fsrs_opt.batch import content
from fsrs_opt.batch.content import content_of, files_of, measure
from tests.batch.made_up import write_user


def settled(path: Path) -> None:
    """As if written long ago, as far as the clock of the change allows: the test waits for the rest."""
    os.utime(path, (1_700_000_000, 1_700_000_000))


def test_content_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    file = tmp_path / "a.apkg"
    file.write_bytes(b"hello")
    assert content_of(file) == hashlib.sha256(b"hello").hexdigest()


def test_what_sqlite_keeps_beside_a_database_is_content(tmp_path: Path) -> None:
    file = tmp_path / "collection.anki2"
    file.write_bytes(b"hello")
    alone = content_of(file)
    (tmp_path / "collection.anki2-wal").write_bytes(b"new reviews")
    assert content_of(file) != alone
    copy = tmp_path / "other"
    copy.mkdir()
    for name in ("collection.anki2", "collection.anki2-wal"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    assert content_of(copy / "collection.anki2") == content_of(file)


def test_content_of_a_user_counts_all_files(tmp_path: Path) -> None:
    folder = write_user(tmp_path, 1)
    before = content_of(folder)
    (folder / "part-1.parquet").write_bytes(b"other")
    assert content_of(folder) != before


def test_a_stamp_changes_with_the_file_even_where_size_and_time_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "_SETTLED_SECONDS", 0.3)
    file = tmp_path / "a.apkg"
    file.write_bytes(b"one")
    settled(file)
    assert measure(files_of(file)) == (3, "")  # it was changed only now: not to be relied on
    time.sleep(0.4)
    size, stamp = measure(files_of(file))
    assert (size, len(stamp)) == (3, 32)
    assert measure(files_of(file)) == (size, stamp)
    file.write_bytes(b"two")
    settled(file)
    time.sleep(0.4)
    assert measure(files_of(file))[1] not in ("", stamp)


def test_a_file_that_is_not_there_has_no_stamp(tmp_path: Path) -> None:
    assert measure([tmp_path / "missing"]) == (0, "")

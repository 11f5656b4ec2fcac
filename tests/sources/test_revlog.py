"""The two ways to read the large tables: as Arrow columns, and with the standard library."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NoReturn

import pytest

from fsrs_opt.sources import read, revlog

FILES = (
    "new.colpkg",
    "legacy.colpkg",
    "sched_new.apkg",
    "sched_legacy.apkg",
    "schema11.anki2",
    "schema14_sched1.anki2",
    "schema16_sched1.anki2",
    "schema18.anki2",
    "open_wal.anki2",
)


@pytest.mark.parametrize("columns", ["training", "all"])
@pytest.mark.parametrize("name", FILES)
def test_both_ways_read_the_same_from_files_of_anki(
    name: str, columns: Literal["training", "all"], shared_fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_need(*_: Any) -> NoReturn:
        pytest.fail("Anki's own tables are read as columns")

    def odd(*_: Any) -> NoReturn:
        raise revlog._OddValuesError

    with monkeypatch.context() as patched:
        patched.setattr(revlog, "_read_cast", no_need)
        as_columns = read(shared_fixtures / name, columns=columns)
    monkeypatch.setattr(revlog, "_read_arrow", odd)
    by_cast = read(shared_fixtures / name, columns=columns)
    assert len(as_columns.log) > 100
    assert as_columns.log.to_pandas().equals(by_cast.log.to_pandas())
    assert as_columns.cards is not None
    assert by_cast.cards is not None
    assert as_columns.cards.to_pandas().equals(by_cast.cards.to_pandas())

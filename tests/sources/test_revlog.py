"""The two ways to read the large tables: from the pages, and by SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NoReturn

import pytest

from fsrs_opt.sources import read, revlog
from fsrs_opt.sources.pages import UnusualError

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
        pytest.fail("Anki's own tables are read from their pages")

    def unusual(*_: Any) -> NoReturn:
        raise UnusualError

    with monkeypatch.context() as patched:
        patched.setattr(revlog, "_read_cast", no_need)
        from_pages = read(shared_fixtures / name, columns=columns)
    monkeypatch.setattr(revlog, "read_columns", unusual)
    by_sqlite = read(shared_fixtures / name, columns=columns)
    assert len(from_pages.log) > 100
    assert from_pages.log.equals(by_sqlite.log)
    assert from_pages.cards is not None
    assert from_pages.cards.equals(by_sqlite.cards)

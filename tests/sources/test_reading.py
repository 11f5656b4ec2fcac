"""`read` on real files: what comes out, what is refused and how, and that nothing is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsrs_opt.errors import FsrsOptError, SourceError, UsageError
from fsrs_opt.reviews import log
from fsrs_opt.sources import read

from .conftest import MakeDatabase, listing, zstd

EVERY = [
    "schema18.anki2",
    "schema11.anki2",
    "schema11_sched1.anki2",
    "schema14_sched1.anki2",
    "schema16_sched1.anki2",
    "empty18.anki2",
    "open_wal.anki2",
    "new.colpkg",
    "legacy.colpkg",
    "backup.colpkg",
    "sched_new.apkg",
    "sched_legacy.apkg",
    "deck_only_new.apkg",
]


@pytest.fixture(scope="module")
def truth(shared_fixtures: Path) -> dict[str, Any]:
    return json.loads((shared_fixtures / "truth.json").read_text("utf-8"))["fixtures"]


@pytest.mark.parametrize("name", EVERY)
def test_rows_cards_and_schema_are_the_true_ones(
    name: str, shared_fixtures: Path, truth: dict[str, Any]
) -> None:
    collection = read(shared_fixtures / name, columns="all")
    assert {name: collection.log[name].dtype for name in collection.log} == {
        name: dtype for name, dtype in log.DTYPES.items() if name != "day"
    }
    assert (np.diff(collection.log["review_time"]) > 0).all()
    if name not in truth:
        assert (collection.schema, len(collection.log)) == {
            "schema11_sched1.anki2": (11, 2300),
            "schema14_sched1.anki2": (14, 4490),
            "schema16_sched1.anki2": (16, 626),
        }[name]
        return
    known = truth[name].get("raw_file") or truth[name]["inner"][collection.source.member]
    assert collection.schema == known["schema"]
    assert len(collection.log) == truth[name].get("with_wal_revlog", known["revlog"])
    assert len(collection.cards) == known["cards"]
    assert int(collection.cards["suspended"].sum()) == known["suspended"]
    assert int((collection.cards["flag"] > 0).sum()) == known["flagged"]
    assert int((collection.cards["filtered_deck_id"] > 0).sum()) == known["in_filtered"]
    if name != "open_wal.anki2":
        kinds = zip(*np.unique(collection.log["kind"], return_counts=True), strict=True)
        assert {str(kind): int(n) for kind, n in kinds} == known["revlog_types"]


def test_optional_columns_are_those_of_the_table(shared_fixtures: Path, shared_real: Path) -> None:
    import pandas as pd

    collection = read(shared_fixtures / "schema14_sched1.anki2", columns="all")
    raw = pd.read_parquet(shared_real / "real14.parquet").sort_values("id")
    names = {
        "id": "review_time",
        "cid": "card_id",
        "ease": "rating",
        "type": "kind",
        "factor": "factor",
        "time": "duration",
        "ivl": "interval",
        "lastIvl": "last_interval",
    }
    for theirs, ours in names.items():
        assert (collection.log[ours] == raw[theirs].to_numpy()).all(), ours


def test_training_columns_are_a_part_of_all(shared_fixtures: Path) -> None:
    few = read(shared_fixtures / "schema18.anki2").log
    every = read(shared_fixtures / "schema18.anki2", columns="all").log
    assert list(few) == ["review_time", "card_id", "rating", "kind", "factor"]
    assert all(np.array_equal(every[name], few[name]) for name in few)
    with pytest.raises(ValueError, match="training"):
        read(shared_fixtures / "schema18.anki2", columns="some")  # type: ignore[arg-type]


def test_nothing_is_changed_or_left_beside_any_file(shared_fixtures: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "copies"
    shutil.copytree(shared_fixtures, folder)
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.chmod(0o644)
    before = listing(folder)
    for name in before:
        try:
            read(folder / name)
        except FsrsOptError:
            continue
    assert listing(folder) == before


@pytest.mark.parametrize("name", ["nosched_new.apkg", "nosched_legacy.apkg"])
def test_export_without_scheduling_says_how_to_export(name: str, shared_fixtures: Path) -> None:
    with pytest.raises(SourceError) as caught:
        read(shared_fixtures / name)
    assert str(caught.value) == (
        f"{shared_fixtures / name} was exported without scheduling information: it holds 95 cards and no "
        'reviews; in Anki choose File > Export, tick "Include scheduling information" and export again.'
    )


def test_a_package_says_what_it_is(shared_fixtures: Path) -> None:
    source = read(shared_fixtures / "new.colpkg").source
    assert (source.kind, source.member) == ("colpkg", "collection.anki21b")
    source = read(shared_fixtures / "sched_legacy.apkg").source
    assert (source.kind, source.member) == ("apkg", "collection.anki21")


def test_suffix_in_any_case_and_content_before_suffix(shared_fixtures: Path, home: Path) -> None:
    for source, name, kind in (
        ("new.colpkg", "A.COLPKG", "colpkg"),
        ("sched_new.apkg", "B.APKG", "apkg"),
        ("schema18.anki2", "named.csv", "anki2"),
        ("new.colpkg", "named.anki2", "package"),
    ):
        (home / name).write_bytes((shared_fixtures / source).read_bytes())
        assert read(home / name).source.kind == kind


def test_a_bare_compressed_database(make_database: MakeDatabase, home: Path) -> None:
    database = make_database()
    (home / "collection.anki21b").write_bytes(zstd(database.read_bytes()))
    collection = read(home / "collection.anki21b")
    assert (len(collection.log), collection.source.kind) == (3, "anki21b")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.colpkg", b"", "is empty"),
        ("text.apkg", b"hello\nworld\n", "is no Anki package"),
        ("list.apkg", b"one,two\n1,2\n", "is no review log"),
        ("text.anki2", b"hello\n", "is no Anki collection"),
        ("image.png", b"\x89PNG\r\n\x1a\n\0\0\0", "is not a file that can be read here"),
        ("cut.anki2", b"SQLite format 3\0" + b"\x10\0\x01\x01\0\x40\x20\x20" + b"\0" * 200, "is damaged"),
        ("cut.parquet", b"PAR1 and no more", "is no readable Parquet file"),
        ("cut.anki21b", b"\x28\xb5\x2f\xfd\x20", "is damaged or incomplete"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it(home: Path, name: str, content: bytes, message: str) -> None:
    (home / name).write_bytes(content)
    with pytest.raises(SourceError) as caught:
        read(home / name)
    text = str(caught.value)
    assert text.startswith(str(home / name))
    assert message in text
    assert "\n" not in text


def test_a_missing_file_and_a_folder(home: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        read(home / "nothing.colpkg")
    with pytest.raises(SourceError, match="is a folder"):
        read(home)


def test_every_cut_of_a_package_is_refused(shared_fixtures: Path, home: Path) -> None:
    whole = (shared_fixtures / "new.colpkg").read_bytes()
    for size in (4, 100, 3000, len(whole) // 2, len(whole) - 30):
        (home / "cut.colpkg").write_bytes(whole[:size])
        with pytest.raises(SourceError, match=r"cut\.colpkg is damaged or incomplete"):
            read(home / "cut.colpkg")


def test_options_are_checked_before_the_file(home: Path) -> None:
    with pytest.raises(UsageError, match="time zone"):
        read(home / "nothing", timezone="Foo/Bar")
    with pytest.raises(UsageError, match="day start"):
        read(home / "nothing", day_start=24)


def test_a_package_without_day_settings_says_so(shared_fixtures: Path) -> None:
    (note,) = read(shared_fixtures / "sched_new.apkg").source.notes
    assert "04:00 as day start and this machine's time zone" in note
    assert "--timezone and --day-start" in note
    assert read(shared_fixtures / "new.colpkg").source.notes == ()


def test_importing_the_package_is_light() -> None:
    code = (
        "import sys, fsrs_opt.sources; print([m for m in ('pandas', 'numpy', 'pyarrow') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_reading_does_not_need_torch() -> None:
    code = "import sys; from fsrs_opt.sources import read, select; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_unknown_names_of_the_package_are_refused() -> None:
    import fsrs_opt.sources

    make: Callable[[], object] = lambda: fsrs_opt.sources.nothing  # noqa: E731
    with pytest.raises(AttributeError, match="nothing"):
        make()

from __future__ import annotations

import os
import shutil
import sqlite3
import zipfile
from pathlib import Path

import pytest

from fsrs_opt.batch.discover import Found, discover, shard
from fsrs_opt.batch.tasks import Task
from fsrs_opt.errors import SourceError
from tests.batch.made_up import write_log, write_user


def names(found: Found) -> list[str]:
    return [task.name for task in found.tasks]


def test_a_folder_is_searched_by_content(tmp_path: Path, data: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    shutil.copy(data / "sample.colpkg", deep / "no-suffix")
    shutil.copy(data / "sample.colpkg", deep / "EXPORT.APKG")
    write_log(tmp_path / "reviews.txt")
    (tmp_path / "notes.txt").write_text("buy milk\n")
    (tmp_path / "other.csv").write_text("name,price\nmilk,1\n")
    (tmp_path / "truth.json").write_text('{"items": 3}')
    (tmp_path / "photos.zip").touch()
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("a.jpg", b"x")
    sqlite3.connect(tmp_path / "other.db").execute("create table t (x)").connection.close()
    found = discover([str(tmp_path)])
    assert names(found) == ["a/b/EXPORT.APKG", "a/b/no-suffix", "reviews.txt"]
    assert found.others == 5


@pytest.mark.parametrize("name", ["empty.colpkg", "torn.apkg", "zero.csv", "broken.parquet", "old.anki2"])
def test_what_claims_to_be_a_collection_is_not_passed_over(tmp_path: Path, data: Path, name: str) -> None:
    content = b"" if name.startswith(("empty", "zero")) else (data / "sample.colpkg").read_bytes()[:3000]
    (tmp_path / name).write_bytes(b"PAR1" + content if name.endswith("parquet") else content)
    assert names(discover([str(tmp_path)])) == [name]


def test_each_file_comes_once_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log(tmp_path / "a.csv")
    os.symlink(tmp_path / "a.csv", tmp_path / "link.csv")
    monkeypatch.chdir(tmp_path)
    found = discover(["a.csv", str(tmp_path / "a.csv"), "./a.csv", "link.csv", "."])
    assert [task.path for task in found.tasks] == [str(tmp_path / "a.csv")]
    assert found.twice == 5


def test_two_files_of_one_name_are_two(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        write_log(tmp_path / folder / "a.csv")
    assert names(discover([str(tmp_path)])) == ["x/a.csv", "y/a.csv"]


def test_patterns_and_lists(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.csv"):
        write_log(tmp_path / name)
    listed = tmp_path / "list.txt"
    listed.write_text(f"# my decks\n{tmp_path}/c.csv\n\n{tmp_path}/a.*\n")
    assert names(discover([f"@{listed}"])) == ["a.csv", "c.csv"]
    assert names(discover([str(tmp_path / "[ab].csv")])) == ["a.csv", "b.csv"]


def test_what_is_not_there_is_a_task_that_fails_later(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    paths = [tmp_path / "missing.apkg", tmp_path / "no*.apkg", tmp_path / "empty"]
    assert len(discover([str(path) for path in paths]).tasks) == 3


@pytest.mark.parametrize("content", [None, "# nothing\n"])
def test_a_list_that_cannot_be_used_is_told_at_once(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "list.txt").write_text(content)
    with pytest.raises(SourceError, match=r"list\.txt"):
        discover([f"@{tmp_path / 'list.txt'}"])


def test_a_user_of_the_data_set_is_one_task(tmp_path: Path) -> None:
    for user in (1, 2, 10):
        write_user(tmp_path, user)
    expected = {f"user_id={user}" for user in (1, 2, 10)}
    for given in (tmp_path, tmp_path / "revlogs", tmp_path / "revlogs" / "user_id=*"):
        found = discover([str(given)])
        assert {task.name.split("/")[-1] for task in found.tasks} == expected
        assert found.others == 0


def test_backups_and_media_of_a_profile_are_left_out(tmp_path: Path, data: Path) -> None:
    profile = tmp_path / "User 1"
    for folder in ("backups", "collection.media"):
        (profile / folder).mkdir(parents=True)
        shutil.copy(data / "sample.colpkg", profile / folder / "backup-1.colpkg")
    (profile / "collection.anki2").write_bytes(b"")
    (tmp_path / "prefs21.db").write_bytes(b"SQLite format 3\0")
    found = discover([str(tmp_path)])
    assert names(found) == ["User 1/collection.anki2"]
    assert found.backups == 1


def test_a_url_is_listed_through_fsspec(tmp_path: Path, data: Path) -> None:
    write_log(tmp_path / "a.csv")
    (tmp_path / "readme.md").write_text("x")
    write_user(tmp_path / "set", 3)
    found = discover([f"file://{tmp_path}"])
    assert [task.path for task in found.tasks] == [
        f"file://{tmp_path}/a.csv",
        f"file://{tmp_path}/set/revlogs/user_id=3",
    ]
    assert all(task.stamp and task.size for task in found.tasks)


def test_shards_are_disjoint_and_together_all() -> None:
    tasks = [Task(f"/x/{k}", str(k), 1, "") for k in range(200)]
    parts = [shard(tasks, number, 3) for number in (1, 2, 3)]
    assert sorted(task.path for part in parts for task in part) == sorted(task.path for task in tasks)
    assert all(len(part) > 40 for part in parts)
    # a file stays in its shard when others go, and when the folder lies elsewhere
    moved = [Task(f"/y/{k}", str(k), 1, "") for k in range(0, 200, 7)]
    assert {task.name for task in shard(moved, 2, 3)} <= {task.name for task in parts[1]}

"""A file is replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fsrs_opt.errors import FsrsOptError
from fsrs_opt.gradients.files import replace_file


def test_new_and_old_files_are_written(tmp_path: Path) -> None:
    for content in (b"one", b"two, longer", b""):
        replace_file(tmp_path / "x", content)
        assert (tmp_path / "x").read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("where", ["replace", "fsync"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    (tmp_path / "x").write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, where, full)
    with pytest.raises(FsrsOptError, match="x cannot be written: No space left on device"):
        replace_file(tmp_path / "x", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"old"


def test_an_interrupt_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_file(tmp_path / "x", b"new")
    assert not list(tmp_path.iterdir())


def test_the_old_file_is_there_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_bytes(b"old")
    move, seen = os.replace, []

    def watched(part: Path, place: Path) -> None:
        seen.append((place.read_bytes(), Path(part).read_bytes(), Path(part).parent))
        move(part, place)

    monkeypatch.setattr(os, "replace", watched)
    replace_file(tmp_path / "x", b"new")
    assert seen == [(b"old", b"new", tmp_path)]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_permissions_follow_the_umask_and_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "link", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o640

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fsrs_opt.atomic_file import check_target, replacing
from fsrs_opt.errors import UsageError


def test_the_file_appears_whole_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    with replacing(target) as part:
        part.write_text("new")
        assert part.parent == tmp_path
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_nothing_is_left_of_a_failure(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fail() -> None:
        with replacing(target) as part:
            part.write_text("half of it")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


KILLED = """
import os, signal, sys
from pathlib import Path
from fsrs_opt.atomic_file import replacing
with replacing(Path(sys.argv[1])) as part:
    part.write_text("half of it")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_what_a_killed_program_left_goes_the_next_time(tmp_path: Path) -> None:
    target, other = tmp_path / "out.csv", tmp_path / ".out.csv.mine.part"
    other.write_text("not ours")
    assert (
        subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False).returncode == -signal.SIGKILL
    )
    assert len(list(tmp_path.iterdir())) == 2
    with replacing(tmp_path / "out.csv.txt"):
        assert len(list(tmp_path.iterdir())) == 3  # what is left of another file is not its business
    with replacing(target) as part:
        part.write_text("new")
    assert target.read_text() == "new"
    assert sorted(tmp_path.iterdir()) == [other, target, tmp_path / "out.csv.txt"]


def test_another_writer_that_is_alive_keeps_its_file(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with replacing(target) as first:
        first.write_text("first")
        with replacing(target) as second:
            second.write_text("second")
        assert target.read_text() == "second"
    assert target.read_text() == "first"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    with replacing(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_rights_are_those_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "out.csv") as part:
            part.write_text("new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o640


def test_a_long_name(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 250 + ".csv")
    with replacing(target) as part:
        part.write_text("new")
    assert target.read_text() == "new"


def test_targets_that_are_refused(tmp_path: Path) -> None:
    source, other = tmp_path / "log.csv", tmp_path / "other.csv"
    source.write_text("log")
    other.write_text("mine")
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for target, said in (
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "out.csv", "does not exist"),
        (source, "is the file that is read"),
        (pipe, "not a regular file"),
    ):
        with pytest.raises(UsageError, match=said):
            check_target(target, source, force=True)
    check_target(other, source, force=True)
    with pytest.raises(UsageError, match="exists already"):
        check_target(other, source, force=False)
    check_target(tmp_path / "new.csv", tmp_path / "no such source", force=False)

"""When nothing may be written, and that nothing is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from fsrs_opt.apply import anki_package, carry_out, live
from fsrs_opt.apply.plan import plan_apply
from fsrs_opt.apply.undo import undo
from fsrs_opt.errors import FsrsOptError, RefusedError, UsageError
from tests.apply.anki_collection import (
    NEW,
    change_preset,
    contents,
    differing,
    result_file,
    stored,
)
from tests.cli.program import environment


@contextmanager
def left_alone(collection: Path) -> Iterator[None]:
    """What is in the folder is, to the byte, what was there before."""

    def everything() -> dict[str, bytes | None]:
        return {
            str(file): file.read_bytes() if file.is_file() else None for file in collection.parent.rglob("*")
        }

    before = everything()
    yield
    assert everything() == before


def refused(collection: Path, result: Path, match: str, *presets: str, **options: object) -> None:
    with left_alone(collection), pytest.raises(FsrsOptError, match=match) as caught:
        carry_out.carry_out(
            plan_apply(collection, presets=presets or ("Languages",), from_file=result, **options)
        )  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


HOLDER = """
import sys
from anki.collection import Collection
col = Collection(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def held_by(program: str, collection: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", program, collection],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def test_a_collection_that_anki_has_open(collection: Path, result: Path) -> None:
    with held_by(HOLDER, collection) as anki:
        shutil.rmtree(collection.with_name("collection.media"))
        refused(collection, result, "is open in another program: close Anki")
        anki.communicate("")


READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("begin")
connection.execute("select count(*) from cards").fetchone()
print("open", flush=True)
sys.stdin.read()
"""


def test_anki_opens_while_the_user_thinks(
    collection: Path, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LOCK_WAIT_S", 0.1)
    found = plan_apply(collection, presets=["Languages"], from_file=result)
    for program in (HOLDER, READER):
        with held_by(program, collection) as other:
            with pytest.raises(RefusedError, match="is open in another program"):
                carry_out.carry_out(found)
            other.communicate("")
    assert stored(collection, "Languages") != NEW


def test_a_collection_that_changed_after_it_was_read(collection: Path, result: Path) -> None:
    found = plan_apply(collection, presets=["Languages"], from_file=result)
    change_preset(collection, "Medicine", lambda message: setattr(message, "new_per_day", 7))
    with left_alone(collection), pytest.raises(RefusedError, match="changed by another program"):
        carry_out.carry_out(found)


def other_schema(collection: Path, version: int) -> Path:
    with closing(sqlite3.connect(collection)) as connection:
        connection.execute("update col set ver = ?", (version,))
        connection.commit()
    return collection


def test_a_schema_that_the_package_does_not_know_yet(collection: Path, result: Path) -> None:
    refused(other_schema(collection, 19), result, r"schema 19, newer than the 18 .* pip install --upgrade")


@pytest.mark.parametrize(
    "name", ["schema11.anki2", "schema11_sched1.anki2", "schema14_sched1.anki2", "schema16_sched1.anki2"]
)
def test_an_old_schema_is_not_converted(
    shared_fixtures: Path, tmp_path: Path, result: Path, name: str
) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    collection = shutil.copyfile(shared_fixtures / name, folder / "collection.anki2")
    refused(collection, result, "old schema 1[146], .* open it in Anki once", "Default")


def test_a_preset_with_a_setting_of_a_newer_anki(collection: Path, result: Path) -> None:
    """Field 200 of the message, which Anki's code would drop."""
    change_preset(collection, "Default", lambda message: None, unknown=b"\xc2\x0c\x03new")
    refused(collection, result, "“Default” has settings of a newer Anki")


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("new.colpkg", "is a package"),
        ("sched_legacy.apkg", "is a package"),
        ("truth.json", "is a table of reviews|not a file that can be read"),
    ],
)
def test_not_a_collection(shared_fixtures: Path, tmp_path: Path, result: Path, name: str, match: str) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    refused(Path(shutil.copyfile(shared_fixtures / name, folder / name)), result, match)


def test_files_that_are_none(tmp_path: Path, result: Path, collection: Path) -> None:
    refused(tmp_path / "missing.anki2", result, "does not exist")
    refused(tmp_path, result, "is a folder")
    damaged = collection.with_name("damaged.anki2")
    damaged.write_bytes(collection.read_bytes()[:8000])
    refused(damaged, result, "damaged")
    strange = collection.with_name("strange.anki2")
    with closing(sqlite3.connect(strange)) as connection:
        connection.execute("create table t (a)")
    refused(strange, result, "not an Anki collection")


def test_a_damaged_index_is_found_before_anything_is_written(collection: Path, result: Path) -> None:
    with closing(sqlite3.connect(collection)) as connection:
        connection.execute("pragma writable_schema = on")
        page = connection.execute(
            "select rootpage from sqlite_master where name = 'ix_revlog_cid'"
        ).fetchone()[0]
        size = connection.execute("pragma page_size").fetchone()[0]
    raw = bytearray(collection.read_bytes())
    raw[(page - 1) * size + 8 : (page - 1) * size + 60] = bytes(52)
    collection.write_bytes(raw)
    refused(collection, result, "damaged .* Check Database|could not write a copy")


@pytest.mark.parametrize("protected", ["file", "folder"])
def test_write_protected(collection: Path, result: Path, protected: str) -> None:
    place, mode = (collection, 0o444) if protected == "file" else (collection.parent, 0o555)
    place.chmod(mode)
    try:
        refused(collection, result, f"The {protected} .* is write-protected")
    finally:
        place.chmod(0o755)


def test_the_package_is_not_installed(
    collection: Path, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anki.collection", None)
    refused(collection, result, r'pip install "fsrs-opt\[anki\]"')


def test_a_package_that_does_more_than_it_should(
    collection: Path, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a later release might: the call for the preset recomputes the cards too."""

    def write(col: object, parameters: object, memory: str, decks: object) -> None:
        real(col, parameters, "recompute", decks)  # type: ignore[arg-type]

    real = anki_package.write
    monkeypatch.setattr(anki_package, "write", write)
    refused(collection, result, r"change more than was asked for \(the table cards\)")


def test_the_verdict(collection: Path, tmp_path: Path) -> None:
    keep = result_file(tmp_path, decision="keep")
    found = plan_apply(collection, presets=["Languages"], from_file=keep)
    assert found.to_write == ()
    assert found.changes[0].why_not == "The test says keep."
    forced = plan_apply(collection, presets=["Languages"], from_file=keep, force=True)
    assert [each.preset for each in forced.to_write] == ["Languages"]


def test_which_preset(collection: Path, result: Path) -> None:
    with pytest.raises(RefusedError, match=r"3 presets in use: “Languages” \(302 cards\), .* --all-presets"):
        plan_apply(collection, from_file=result)
    assert len(plan_apply(collection, from_file=result, all_presets=True).to_write) == 3
    with pytest.raises(UsageError, match=r"no preset named 'Langages'.*Languages"):
        plan_apply(collection, from_file=result, presets=["Langages"])
    with pytest.raises(UsageError, match="one of --optimize"):
        plan_apply(collection, presets=["Languages"])


def test_a_file_for_another_preset(collection: Path, tmp_path: Path) -> None:
    of_medicine = result_file(tmp_path, preset="Medicine")
    found = plan_apply(collection, from_file=of_medicine, all_presets=True)
    assert [each.preset for each in found.to_write] == ["Medicine"]


def test_no_room_for_the_backup(collection: Path, result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(collection)._replace(free=2_000_000)
    monkeypatch.setattr(carry_out.shutil, "disk_usage", lambda place: usage)
    refused(collection, result, r"no room for the backup: .* 2.0 MB free")


@pytest.mark.parametrize("limit", [0.3, 0.98])
def test_writing_fails_for_want_of_room(collection: Path, result: Path, limit: float) -> None:
    """A limit on the size of files, as a quota sets: the first breaks the backup off, the second the log of
    the last transaction, which is a little longer than the collection."""
    code = (
        "import resource, sys; from pathlib import Path; from fsrs_opt.apply.plan import plan_apply;"
        "from fsrs_opt.apply import carry_out, live;"
        "found = plan_apply(Path(sys.argv[1]), presets=['Languages'], from_file=Path(sys.argv[2]));"
        "install = live.Live.install\n"
        "def limited(*arguments):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))\n"
        "    return install(*arguments)\n"
        "share = float(sys.argv[3]); limit = int(share * Path(sys.argv[1]).stat().st_size)\n"
        "if share > 0.5: live.Live.install = limited\n"
        "else: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))\n"
        "carry_out.carry_out(found)"
    )
    before = contents(collection)
    with left_alone(collection):
        done = subprocess.run(
            [sys.executable, "-c", code, collection, result, str(limit)],
            capture_output=True,
            text=True,
            env=environment(),
            check=False,
        )
    assert "RefusedError" in done.stderr.splitlines()[-1]
    assert "nothing was changed" in done.stderr
    assert differing(before, contents(collection)) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_disk_that_is_really_full(
    collection: Path, result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", small], check=False, capture_output=True
    )
    if mount.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        found = plan_apply(collection, presets=["Languages"], from_file=result)
        with pytest.raises(RefusedError, match="no room"):
            carry_out.carry_out(found, backup_dir=small / "backups")
        monkeypatch.setattr(carry_out, "check_room", lambda *arguments: None)
        with (
            left_alone(collection),
            pytest.raises(RefusedError, match=r"nothing was changed|could not write a copy"),
        ):
            carry_out.carry_out(found, backup_dir=small / "backups")
        assert os.listdir(small) == []
    finally:
        subprocess.run(["umount", small], check=True)


def test_undo_refuses(collection: Path, result: Path) -> None:
    with left_alone(collection), pytest.raises(RefusedError, match="nothing to undo"):
        undo(collection)
    done = carry_out.carry_out(plan_apply(collection, presets=["Languages"], from_file=result))
    change_preset(collection, "Medicine", lambda message: setattr(message, "new_per_day", 7))
    with left_alone(collection), pytest.raises(RefusedError, match=r"has changed since .* --force"):
        undo(collection)
    studied = contents(collection)
    forced = undo(collection, force=True)
    assert differing(contents(done.backup.file), contents(collection)) == {}
    assert forced.kept is not None
    assert differing(studied, contents(forced.kept.file)) == {}
    undo(collection)  # of the forced undo
    assert differing(studied, contents(collection)) == {}


def test_undo_while_anki_is_open(collection: Path, result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOCK_WAIT_S", 0.1)
    carry_out.carry_out(plan_apply(collection, presets=["Languages"], from_file=result))
    with held_by(HOLDER, collection) as anki:
        with pytest.raises(RefusedError, match="is open in another program"):
            undo(collection)
        anki.communicate("")
    undo(collection)
    assert stored(collection, "Languages") != NEW


def test_undo_with_a_damaged_backup(collection: Path, result: Path) -> None:
    done = carry_out.carry_out(plan_apply(collection, presets=["Languages"], from_file=result))
    with done.backup.file.open("r+b") as file:
        file.seek(5000)
        file.write(b"\xff")
    with left_alone(collection), pytest.raises(RefusedError, match="missing or was changed"):
        undo(collection)
    assert stored(collection, "Languages") == NEW

"""Packages: which member is read, and hostile ones."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from fsrs_opt.errors import SourceError
from fsrs_opt.sources import package, read

from .conftest import MakeDatabase, zstd

MakePackage = Callable[..., Path]
PLACEHOLDER = "Please update to the latest Anki version, then import the .colpkg/.apkg file again."


@pytest.fixture
def databases(make_database: MakeDatabase) -> dict[str, bytes]:
    """A real database of 3 reviews, one of 1, and the placeholder."""
    return {
        "three": make_database("three").read_bytes(),
        "one": make_database("one", rows=[(1_700_000_000_000, 5, 3, 0, 0)]).read_bytes(),
        "placeholder": make_database(
            "placeholder", rows=[], cards=[(1, 1, 1, 0, 0, 0)], flds=PLACEHOLDER
        ).read_bytes(),
    }


def test_anki21b_before_anki21_before_anki2(make_package: MakePackage, databases: dict[str, bytes]) -> None:
    newest = {"collection.anki21b": zstd(databases["three"]), "collection.anki21": databases["one"]}
    path = make_package("a.colpkg", {"collection.anki2": databases["placeholder"], **newest})
    assert (len(read(path).log), read(path).source.member) == (3, "collection.anki21b")
    path = make_package(
        "b.colpkg", {"collection.anki2": databases["placeholder"], "collection.anki21": databases["one"]}
    )
    assert (len(read(path).log), read(path).source.member) == (1, "collection.anki21")
    path = make_package("c.apkg", {"collection.anki2": databases["three"]}, compression=zipfile.ZIP_DEFLATED)
    assert (len(read(path).log), read(path).source.member) == (3, "collection.anki2")


@pytest.mark.parametrize("member", package.MEMBERS)
def test_a_large_database_is_unpacked_into_a_file(
    member: str,
    make_package: MakePackage,
    databases: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = zstd(databases["three"]) if member == package.MEMBERS[0] else databases["three"]
    path = make_package("a.colpkg", {member: content}, compression=zipfile.ZIP_DEFLATED)
    in_memory, _, _ = package.unpack(path, lambda: pytest.fail("no folder is needed"))
    assert in_memory == databases["three"]
    monkeypatch.setattr(package, "MAX_IN_MEMORY_BYTES", 1000)
    file, _, _ = package.unpack(path, lambda: tmp_path)
    assert isinstance(file, Path)
    assert file.read_bytes() == databases["three"]
    assert len(read(path).log) == 3


def test_a_database_in_wal_mode(make_package: MakePackage, databases: dict[str, bytes]) -> None:
    content = databases["three"][:18] + b"\2\2" + databases["three"][20:]
    assert len(read(make_package("a.colpkg", {"collection.anki21": content})).log) == 3


def test_the_placeholder_is_not_read_in_place_of_a_damaged_collection(
    make_package: MakePackage, databases: dict[str, bytes]
) -> None:
    path = make_package(
        "a.colpkg",
        {"collection.anki2": databases["one"], "collection.anki21b": zstd(databases["three"])[:-50]},
    )
    with pytest.raises(SourceError, match="damaged or incomplete"):
        read(path)


@pytest.mark.parametrize("meta", [b"\x08\x03", b"\x08\x02", None])
def test_a_package_with_only_the_placeholder(
    make_package: MakePackage, databases: dict[str, bytes], meta: bytes | None
) -> None:
    members = {"collection.anki2": databases["placeholder"]}
    path = make_package("a.colpkg", {**members, "meta": meta} if meta else members)
    with pytest.raises(SourceError, match="only the placeholder card that asks to update Anki"):
        read(path)


def test_a_package_from_a_future_anki(make_package: MakePackage, databases: dict[str, bytes]) -> None:
    path = make_package("a.colpkg", {"meta": b"\x08\x07", "collection.anki2": databases["placeholder"]})
    with pytest.raises(SourceError, match=r"newer Anki \(package version 7\)"):
        read(path)


def test_a_meta_that_is_nonsense_does_not_matter(
    make_package: MakePackage, databases: dict[str, bytes]
) -> None:
    path = make_package("a.colpkg", {"meta": b"\xff" * 9000, "collection.anki21": databases["three"]})
    assert len(read(path).log) == 3


def test_a_zip_without_a_collection(make_package: MakePackage) -> None:
    with pytest.raises(SourceError, match="zip file without an Anki collection"):
        read(make_package("a.apkg", {"readme.txt": b"hello"}))
    with pytest.raises(SourceError, match="zip file without an Anki collection"):
        read(make_package("empty.apkg", {}))


def test_only_the_database_is_unpacked(
    make_package: MakePackage, databases: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real = zipfile.ZipFile.open

    def spy(self: zipfile.ZipFile, name: str, *args: object, **more: object) -> object:
        opened.append(name)
        return real(self, name, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(zipfile.ZipFile, "open", spy)
    members = {
        "../x": b"out",
        "../../home/x": b"out",
        "/tmp/fsrs-opt-absolute": b"out",
        "0": b"\0" * 50_000_000,
        "collection.anki21": databases["three"],
    }
    path = make_package("a.colpkg", members, compression=zipfile.ZIP_DEFLATED)
    opened.clear()
    assert len(read(path).log) == 3
    assert set(opened) == {"meta", "collection.anki21"}
    assert not (tmp_path / "x").exists()
    assert not Path("/tmp/fsrs-opt-absolute").exists()


@pytest.mark.parametrize("kind", ["deflate", "zstd"])
def test_a_bomb_is_refused_before_it_fills_the_disk(
    kind: str, make_package: MakePackage, databases: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts like a database, so that only its size gives it away."""
    monkeypatch.setattr(package, "FREE_EXPANSION_BYTES", 1 << 20)
    bomb = databases["three"] + b"\0" * (64 << 20)
    if kind == "zstd":
        path = make_package("bomb.colpkg", {"collection.anki21b": zstd(bomb)})
    else:
        path = make_package("bomb.colpkg", {"collection.anki21": bomb}, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(SourceError, match=r"bomb\.colpkg was refused: .* more than \d+ MiB"):
        read(path)


def test_no_database_beyond_the_absolute_bound(
    make_package: MakePackage, databases: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "MAX_DATABASE_BYTES", 1000)
    with pytest.raises(SourceError, match="was refused"):
        read(make_package("a.colpkg", {"collection.anki21": databases["three"]}))


def test_a_size_in_the_frame_that_lies(make_package: MakePackage, databases: dict[str, bytes]) -> None:
    packed = zstandard.ZstdCompressor(write_content_size=True).compress(databases["three"])
    at = (
        packed.index(len(databases["three"]).to_bytes(4, "little")) if len(databases["three"]) > 65_791 else 5
    )
    lying = bytearray(packed)
    lying[at] ^= 0xFF
    with pytest.raises(SourceError):
        read(make_package("a.colpkg", {"collection.anki21b": bytes(lying)}))


def test_several_frames_one_after_the_other(make_package: MakePackage, databases: dict[str, bytes]) -> None:
    content = databases["three"]
    frames = zstd(content[:5000]) + zstd(content[5000:])
    assert len(read(make_package("a.colpkg", {"collection.anki21b": frames})).log) == 3


def test_a_member_that_is_no_database(make_package: MakePackage) -> None:
    for name, member in (("a", zstd(b"hello")), ("b", zstd(b"\0" * 1000)), ("c", zstd(b""))):
        with pytest.raises(SourceError, match="is not a database"):
            read(make_package(f"{name}.colpkg", {"collection.anki21b": member}))
    with pytest.raises(SourceError, match="damaged or incomplete"):
        read(make_package("d.colpkg", {"collection.anki21b": b"not zstd at all"}))


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
def test_a_damaged_member(at: float, shared_fixtures: Path, home: Path) -> None:
    """Deflated or stored, zip's own checksum or SQLite finds it; never more than one sentence."""
    for name in ("new.colpkg", "legacy.colpkg"):
        content = bytearray((shared_fixtures / name).read_bytes())
        with zipfile.ZipFile(shared_fixtures / name) as archive:
            member = next(each for each in package.MEMBERS if each in archive.namelist())
            info = archive.getinfo(member)
        start = info.header_offset + 60 + int(info.compress_size * at)
        content[start : start + 40] = bytes(byte ^ 0x5A for byte in content[start : start + 40])
        (home / name).write_bytes(content)
        with pytest.raises(SourceError, match="damaged or incomplete"):
            read(home / name)


def test_an_encrypted_member(make_package: MakePackage, databases: dict[str, bytes]) -> None:
    path = make_package("a.apkg", {"collection.anki21": databases["three"]})
    content = bytearray(path.read_bytes())
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(SourceError, match="damaged or incomplete"):
        read(path)

"""Anki's next sync after `apply`, with Anki's own sync server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anki.collection import Collection

from fsrs_opt.apply.carry_out import carry_out
from fsrs_opt.apply.plan import plan_apply
from tests.apply.anki_collection import NEW, in_anki, stored

NO_CHANGES, NORMAL_SYNC, FULL_DOWNLOAD, FULL_UPLOAD = 0, 1, 3, 4
"""Anki's SyncCollectionResponse.ChangesRequired."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "SYNC_USER1": "user:secret",
        "SYNC_BASE": str(tmp_path / "server"),
        "SYNC_HOST": "127.0.0.1",
        "SYNC_PORT": str(port),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "anki.syncserver"],
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, "the server does not start"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.wait()


def log_in(col: Collection, server: str) -> Any:
    return col.sync_login("user", "secret", server)


def sync(col: Collection, server: str) -> int:
    """What the sync needed; a normal one is carried out."""
    return int(col.sync_collection(log_in(col, server), sync_media=False).required)


def full_sync(col: Collection, server: str, *, upload: bool) -> None:
    auth = log_in(col, server)
    col.close_for_full_sync()
    col.full_upload_or_download(auth=auth, server_usn=None, upload=upload)
    col.reopen(after_full_sync=True)


@pytest.mark.parametrize("memory", ["keep", "reschedule"])
def test_a_normal_sync_brings_the_parameters_to_another_device(
    collection: Path, result: Path, server: str, tmp_path: Path, memory: Any
) -> None:
    other = tmp_path / "User 2" / "collection.anki2"
    other.parent.mkdir()
    with in_anki(collection) as col:
        assert sync(col, server) == FULL_UPLOAD
        full_sync(col, server, upload=True)
        assert sync(col, server) == NO_CHANGES
    with in_anki(other) as col:
        assert sync(col, server) == FULL_DOWNLOAD
        full_sync(col, server, upload=False)

    done = carry_out(plan_apply(collection, presets=["Languages"], from_file=result, memory=memory))

    with in_anki(collection) as col:
        assert col.sync_status(log_in(col, server)).required == NORMAL_SYNC
        sync(col, server)
        assert sync(col, server) == NO_CHANGES
        ours = col.db.all("select id, mod, usn, due, ivl from cards")
    with in_anki(other) as col:
        sync(col, server)
        theirs = col.db.all("select id, mod, usn, due, ivl from cards")
    assert stored(other, "Languages") == NEW
    assert theirs == ours
    assert (done.cards > 0) == (memory == "reschedule")

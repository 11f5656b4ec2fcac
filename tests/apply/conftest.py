from __future__ import annotations

from pathlib import Path

import pytest

from tests.apply.anki_collection import result_file, unpacked_sample


@pytest.fixture
def collection(data: Path, tmp_path: Path) -> Path:
    """A collection as Anki leaves it, in a folder of its own."""
    return unpacked_sample(data, tmp_path / "User 1" / "collection.anki2")


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """New parameters with the verdict “change”."""
    return result_file(tmp_path)

"""Where the test data lies, and a clear reason for skipping where it does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Continuous integration tries the same examples each time; elsewhere each run tries new ones.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def _folder(path: Path, what: str) -> Path:
    if not path.is_dir():
        pytest.skip(f"{what} are not beside this checkout ({path})")
    return path


@pytest.fixture(scope="session")
def shared_fixtures() -> Path:
    """Collections and packages written by Anki itself, with their true counts."""
    return _folder(SHARED / "fixtures" / "anki", "Anki's own fixture files")


@pytest.fixture(scope="session")
def shared_real() -> Path:
    """Anonymised real review logs (Parquet with the revlog's columns)."""
    return _folder(SHARED / "data" / "real", "the real review logs")


@pytest.fixture(scope="session")
def data() -> Path:
    """The sample collection and CSV that ship with the project."""
    return ROOT / "data"

from __future__ import annotations

import pytest

from tests.cli.program import Here


@pytest.fixture
def fsrs_opt(capsys: pytest.CaptureFixture[str]) -> Here:
    """The program, run in this process: `fsrs_opt("inspect", path)` gives code, out and err."""
    return Here(capsys)

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from fsrs_opt.batch import content
from fsrs_opt.batch.api import run_batch
from fsrs_opt.errors import UsageError
from tests.batch.made_up import run, write_log
from tests.cli.program import environment

JOB = """
import sys
from fsrs_opt.batch import content, engine_local
from fsrs_opt.batch.api import run_batch
content._SETTLED_SECONDS = 0.05
assert run_batch(sys.argv[1], sys.argv[2]).at_hand == 1
print(*{name.split(".")[0] for name in sys.modules})
"""


def test_the_process_that_keeps_the_book_loads_neither_torch_nor_pandas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "_SETTLED_SECONDS", 0.05)
    log = write_log(tmp_path / "a.csv")
    time.sleep(0.1)
    run([log], tmp_path / "out")
    done = subprocess.run(
        [sys.executable, "-c", JOB, log, tmp_path / "out"],
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "psutil" in loaded
    assert loaded.isdisjoint({"torch", "pandas", "pyarrow", "matplotlib"})


@pytest.mark.parametrize(
    ("option", "value"),
    [("timezone", "Nowhere/Atlantis"), ("day_start", 24), ("ignore_before", "soon"), ("current", (1.0, 2.0))],
)
def test_what_would_make_every_task_fail_is_told_before_any(
    tmp_path: Path, option: str, value: object
) -> None:
    with pytest.raises(UsageError):
        run_batch(tmp_path, tmp_path / "out", **{option: value})  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()

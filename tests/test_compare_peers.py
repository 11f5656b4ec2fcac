"""The parts of scripts/compare_peers.py: packages that hold the same items, failures shown, figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fsrs_opt.reviews.history import histories
from fsrs_opt.reviews.items import items
from fsrs_opt.sources import read

SCRIPTS = Path(__file__).parent.parent / "scripts"
MIDNIGHT = 1_700_006_400_000  # 15 November 2023 UTC, ms
sys.path.insert(0, str(SCRIPTS))

from peers import fits, held_out, log_files, report, timing  # noqa: E402


@pytest.mark.parametrize("name", ["sample.colpkg", "sample.csv"])
def test_the_package_holds_the_items_of_the_log(data: Path, tmp_path: Path, name: str) -> None:
    file = log_files.load(data / name)
    log_files.write_colpkg(file, tmp_path / "written.colpkg")
    collection = read(tmp_path / "written.colpkg")
    assert (collection.schema, collection.source.member) == (11, "collection.anki21")
    written = histories(collection.log, collection.day.day_of)
    found, expected = items(written), file.data.items
    past = file.data.histories
    assert written.review_time[found.review].tolist() == past.review_time[expected.review].tolist()
    assert written.card_id[found.card].tolist() == past.card_id[expected.card].tolist()
    assert found.delta_t.tolist() == expected.delta_t.tolist()
    assert found.label.tolist() == expected.label.tolist()


def table_of(path: Path) -> Path:
    """Two reviews of one card, at 03:00 and 05:00 UTC of one date."""
    frame = pd.DataFrame(
        {"card_id": [1, 1], "review_time": [MIDNIGHT + 10_800_000, MIDNIGHT + 18_000_000], "review_rating": 3}
    )
    frame.to_csv(path, index=False)
    return path


def test_a_table_counts_days_from_the_index_or_from_four(tmp_path: Path) -> None:
    path = table_of(tmp_path / "log.csv")
    assert len(log_files.load(path).data) == 1  # 04:00 lies between them
    (tmp_path / "index.csv").write_text("name,day_start_utc_secs\nlog,7200.0\nother,14400\n")
    file = log_files.load(path)
    assert len(file.data) == 0  # 02:00 does not
    assert file.day_start == 7200
    (tmp_path / "index.csv").write_text("name,day_start_utc_secs\nlog,\n")
    assert log_files.load(path).day_start == 4 * 3600


def test_logs_of_a_folder(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.csv", "index.csv", "notes.txt", "c.colpkg"):
        (tmp_path / name).touch()
    assert [path.name for path in log_files.find([tmp_path], [])] == ["a.csv", "b.parquet", "c.colpkg"]
    assert [path.name for path in log_files.find([tmp_path], ["c"])] == ["c.colpkg"]


def test_fits_are_those_of_fsrs_rs(data: Path) -> None:
    fsrs_rs = pytest.importorskip("fsrs_rs_python")
    file = log_files.load(data / "sample.csv")
    asked = [(fits.RUST_5, 1000), (fits.Peer("no such peer", 5), 1000), (fits.RUST_IDS_8, 1000)]
    plain, failed, with_ids = fits.fits(file.data, asked, sys.executable)
    assert failed.parameters is None
    assert "no such peer" in failed.error
    h, of = file.data.histories, file.data.items
    theirs = []
    for card, review in zip(of.card[:1000], of.review[:1000], strict=True):
        span = range(h.offsets[card], review + 1)
        theirs.append(
            fsrs_rs.FSRSItem([fsrs_rs.FSRSReview(int(h.rating[i]), int(h.delta_t[i])) for i in span])
        )
    model = fsrs_rs.FSRS(fsrs_rs.DEFAULT_PARAMETERS)
    assert plain.parameters is not None
    assert plain.parameters == pytest.approx(model.compute_parameters(theirs), abs=1e-6)
    ids = h.card_id[of.card[:1000]].tolist()
    config = fsrs_rs.TrainingConfig(num_epochs=8)
    expected = model.compute_parameters(theirs, ids, training_config=config)
    assert with_ids.parameters is not None
    assert with_ids.parameters == pytest.approx(expected, abs=1e-6)


def test_a_peer_that_ends_its_process_costs_only_its_own_fit(data: Path, tmp_path: Path) -> None:
    """A stand-in for fsrs-rs, in a Python of its own, that ends its process at 8 epochs."""
    (tmp_path / "fsrs_rs_python.py").write_text(
        "import os\n"
        "DEFAULT_PARAMETERS = [1.0] * 21\n"
        "FSRSReview = lambda *_: None\n"
        "FSRSItem = list\n"
        "TrainingConfig = lambda num_epochs: num_epochs\n"
        "class FSRS:\n"
        "    def __init__(self, w): self.w = w\n"
        "    def compute_parameters(self, items, ids, training_config):\n"
        "        return self.w if training_config == 5 else os._exit(7)\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    file = log_files.load(data / "sample.csv")
    asked = [(fits.RUST_5, 50), (fits.RUST_IDS_8, 50), (fits.RUST_IDS_5, 50)]
    first, ended, last = fits.fits(file.data, asked, str(python))
    assert first.parameters is not None
    assert last.parameters is not None
    assert ended.parameters is None
    assert "code 7" in ended.error


def row(log: str, n_items: int, **log_loss: float) -> held_out.Row:
    return held_out.Row(log, n_items, log_loss, {})


def test_differences_by_hand() -> None:
    rows = [row("a", 100, ours=0.30, other=0.31), row("b", 300, ours=0.40, other=0.39), row("c", 9, ours=0.2)]
    (found,) = held_out.differences(rows)
    assert found.method == "other"
    assert found.by_item == pytest.approx((-0.01 * 100 + 0.01 * 300) / 400)
    assert found.by_log == pytest.approx(0.0)
    assert (found.better, found.logs) == (1, 2)


def test_a_failure_is_in_the_cell() -> None:
    failed = held_out.Row("a", 100, {"ours": 0.3}, {"other": "1 of 5 splits: too few"})
    losses, _, summary = held_out.tables([failed, row("b", 100, ours=0.3, other=0.4)])
    assert losses.rows[0][-1] == "fails"
    assert losses.notes == ["a, other fails in 1 of 5 splits: too few"]
    assert summary.rows[0][3] == "1 of 1"


def test_calibration_is_shown_by_method_and_on_average() -> None:
    rows = [
        held_out.Row("a", 100, {"ours": 0.3, "other": 0.3}, {}, {"ours": 0.01, "other": 0.03}),
        held_out.Row("b", 100, {"ours": 0.3, "other": 0.3}, {}, {"ours": 0.02, "other": 0.05}),
    ]
    _, calibration, _ = held_out.tables(rows)
    assert calibration.rows == [
        ["a", "100", "1.00", "3.00"],
        ["b", "100", "2.00", "5.00"],
        ["mean", "", "1.50", "4.00"],
    ]


def timed(program: str, seconds: float | None, peak: float | None, log: str = "a", n: int = 10) -> timing.Row:
    return timing.Row(log, n, program, 1, seconds, seconds, peak, "" if seconds else "ended with code 1: oh")


@pytest.mark.parametrize(
    ("ours", "slow", "passed"),
    [
        ((2.0, 100.0), (20.0, 101.0), [True, True]),
        ((2.0, 100.0), (19.9, 100.0), [False, False]),
        ((2.0, 100.0), (None, None), [False, False]),
    ],
)
def test_checks_of_time_and_memory(
    ours: tuple[float, float], slow: tuple[float | None, float | None], passed: list[bool]
) -> None:
    rows = [timed(timing.OURS, *ours), timed(timing.SLOW, *slow)]
    small = [timed(timing.OURS, 9.0, 9.0, "b", 5), timed(timing.SLOW, 1.0, 1.0, "b", 5)]
    assert [check.passed for check in timing.checks([*rows, *small])] == passed


def measured(tmp_path: Path, code: str) -> dict[str, float]:
    command = [sys.executable, "-S", SCRIPTS / "peers" / "run_measured.py", tmp_path / "said", sys.executable]
    run = subprocess.run([*command, "-c", code], check=True, capture_output=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


FILL = "x = bytes(range(256)) * (200 << 12)"
"""Takes 200 MiB."""


def test_measured_commands_count_their_own_memory(tmp_path: Path) -> None:
    ballast = np.ones(300 << 17)  # we ourselves are larger still
    found = measured(tmp_path, f"{FILL}; print('done')")
    assert found["code"] == 0
    assert 200 < found["peak_mib"] < 280
    assert (tmp_path / "said").read_text() == "done\n"
    assert ballast.sum() > 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory of children is known on Linux only")
def test_memory_of_what_a_command_starts_counts(tmp_path: Path) -> None:
    fill = [sys.executable, "-c", f"import time; {FILL}; time.sleep(2)"]
    code = f"import subprocess as s; {FILL}; s.run({fill!r})"
    assert 400 < measured(tmp_path, code)["peak_mib"] < 500


def test_tables_as_text_and_as_markdown() -> None:
    table = report.Table("Title", ["log", "n"], [["a", "1,000"]], ["a remark"])
    assert table.text(markdown=False).splitlines() == [
        *("Title", "log      n", "---  -----", "a    1,000", "", "- a remark"),
    ]
    assert table.text(markdown=True).splitlines() == [
        *("### Title", "", "| log |     n |", "| --- | ----: |", "| a   | 1,000 |", "", "- a remark"),
    ]

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import pandas as pd
import psutil
import pytest

import fsrs_opt as library
from fsrs_opt.model.kernel import available
from tests.batch.made_up import write_log, write_user
from tests.cli.program import Here, command, environment, process

COMMAND_FILES = {"book.sqlite", "lock", "results.csv", "results.parquet", "results.jsonl", "summary.html"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for seed, name in enumerate(("a.csv", "b.csv", "c.csv")):
        write_log(folder / name, seed=seed)
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_all_done_is_code_0_and_the_results_are_there(fsrs_opt: Here, logs: Path, out: Path) -> None:
    ended = fsrs_opt("batch", logs, "--out", out)
    assert ended.code == 0, ended.err
    assert {path.name for path in out.iterdir()} == COMMAND_FILES
    assert "3 of 3 files" in ended.err
    assert "log loss" in ended.out
    tables = [pd.read_csv(out / "results.csv"), pd.read_parquet(out / "results.parquet")]
    for table in tables:
        assert table["name"].tolist() == ["a.csv", "b.csv", "c.csv"]
    assert tables[0]["w3"].tolist() == pytest.approx(tables[1]["w3"].tolist())


def test_the_lines_of_the_benchmark_form(fsrs_opt: Here, tmp_path: Path, out: Path) -> None:
    for user in (1, 2):
        write_user(tmp_path / "set", user, seed=user)
    assert fsrs_opt("batch", tmp_path / "set", "--out", out, "--evaluate").code == 0
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert [line["user"] for line in lines] == [1, 2]
    for line in lines:
        judged = library.evaluate(tmp_path / "set" / "revlogs" / f"user_id={line['user']}").evaluation
        new = judged.held_out["new"]
        assert new is not None
        assert line["size"] == judged.time_series.n_held_out
        assert line["metrics"]["LogLoss"] == pytest.approx(new.scores.log_loss, abs=1e-6)
        assert line["metrics"]["RMSE(bins)"] == pytest.approx(new.scores.rmse_bins, abs=1e-6)
        assert line["metrics"].keys() == {"RMSE", "LogLoss", "RMSE(bins)", "ICI", "AUC"}
        assert [len(each) for each in line["parameters"].values()] == [21]


def test_every_fixture_every_bad_file_and_doubles(
    fsrs_opt: Here, shared_fixtures: Path, tmp_path: Path, out: Path
) -> None:
    """What the issue asks for, in one folder."""
    folder = tmp_path / "all"
    shutil.copytree(shared_fixtures, folder / "anki")
    whole = (shared_fixtures / "sched_new.apkg").read_bytes()
    (folder / "first3000.apkg").write_bytes(whole[:3000])
    (folder / "text.apkg").write_text("this is no package\n")
    (folder / "zero.colpkg").touch()
    with (
        zipfile.ZipFile(shared_fixtures / "legacy.colpkg") as good,
        zipfile.ZipFile(folder / "damaged.colpkg", "w", zipfile.ZIP_STORED) as bad,
    ):
        bad.writestr("collection.anki21", good.read("collection.anki21"))
    content = bytearray((folder / "damaged.colpkg").read_bytes())
    content[20_000:20_100] = bytes(100)
    (folder / "damaged.colpkg").write_bytes(content)
    for name in ("one", "two"):
        (folder / name).mkdir()
    write_log(folder / "one" / "same.csv", seed=1)
    write_log(folder / "two" / "same.csv", seed=2)
    (folder / "rating5.csv").write_text("card_id,review_time,review_rating\n1,1600000000000,5\n")
    (folder / "blank.csv").write_text("card_id,review_time,review_rating\n,1600000000000,3\n")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    given = folder / "one" / "same.csv"
    ended = fsrs_opt("batch", folder, given, tmp_path / "missing.apkg", "--out", out, "--json")
    assert ended.code == 1
    said = json.loads(ended.out)
    table = pd.read_csv(out / "results.csv", keep_default_na=False)
    assert not table["path"].duplicated().any()

    done = table[table["status"] == "done"]
    for row in done.itertuples():
        alone = library.optimize(row.path, splits=0)
        assert int(float(row.items)) == len(alone.data), row.path
        assert float(row.w2) == pytest.approx(alone.fit.parameters[2], abs=1e-12)
    assert {str(Path(path).relative_to(folder)) for path in done["path"]} == {
        "one/same.csv",
        "two/same.csv",
        *(
            f"anki/{name}"
            for name in (
                *("backup.colpkg", "legacy.colpkg", "new.colpkg", "open_wal.anki2", "schema11.anki2"),
                *("schema11_sched1.anki2", "schema14_sched1.anki2", "schema16_sched1.anki2"),
                *("schema18.anki2", "sched_legacy.apkg", "sched_new.apkg"),
            )
        ),
    } | ({"anki/deck_only_new.apkg"} & {str(Path(path).relative_to(folder)) for path in done["path"]})
    reasons = {Path(each["path"]).name: each["reason"] for each in said["failures"]}
    for name, why in {
        "first3000.apkg": "",
        "text.apkg": "no Anki package",
        "zero.colpkg": "is empty",
        "damaged.colpkg": "damaged",
        "rating5.csv": "line 2, column review_rating",
        "blank.csv": "line 2, column card_id",
        "missing.apkg": "does not exist",
        "nosched_new.apkg": "without scheduling information",
        "nosched_legacy.apkg": "without scheduling information",
        "empty18.anki2": "holds no reviews",
    }.items():
        assert why in reasons.pop(name), name
    assert reasons.keys() <= {"deck_only_new.apkg"}
    assert all("\n" not in each["reason"] for each in said["failures"])
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_progress_is_a_line_and_failures_are_listed(fsrs_opt: Here, logs: Path, out: Path) -> None:
    (logs / "bad.csv").write_text("card_id,review_time,review_rating\n1,x,3\n")
    ended = fsrs_opt("batch", logs, "--out", out, "--quiet")
    assert (ended.code, ended.err) == (1, "")
    assert "Failed: 1" in ended.out
    assert f"{logs}/bad.csv, line 2" in ended.out
    assert "log loss" not in ended.out


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--shard", "3/2"), "I/N"),
        (("--retry-failed", "--force"), "choose one"),
        (("--scheduler", "tcp://x:1"), "--engine dask"),
        (("--timezone", "Europe/Berln"), "Europe/Berlin"),
        (("--day-start", "25"), "0"),
        (("--ignore-before", "01/02/2023"), "YYYY-MM-DD"),
        (("--current", "1,2,3"), "21"),
        (("--workers", "0"), "--workers"),
    ],
)
def test_wrong_options_are_told_before_anything_is_made(
    fsrs_opt: Here, logs: Path, out: Path, options: tuple[str, ...], word: str
) -> None:
    ended = fsrs_opt("batch", logs, "--out", out, *options)
    assert ended.code == 2
    assert word in ended.err
    assert "Traceback" not in ended.err
    assert not out.exists()


@pytest.mark.parametrize(("name", "value"), [("FSRS_OPT_KERNEL", "bogus"), ("FSRS_OPT_ISA", "mmx")])
def test_a_kernel_that_is_not_there_is_told_before_anything_is_made(
    logs: Path, out: Path, name: str, value: str
) -> None:
    if name == "FSRS_OPT_ISA" and not available():
        pytest.skip("installed without the native kernels")
    ended = process("batch", logs / "a.csv", "--out", out, **{name: value})
    assert ended.code == 2
    assert value in ended.err
    assert ended.err.count("\n") == 1
    assert not out.exists()
    # what is asked for by name does not ask the environment
    assert process("batch", logs / "a.csv", "--out", out, "--kernel", "torch", **{name: value}).code == 0


def test_a_folder_that_is_a_file_or_holds_another_book_is_refused(
    fsrs_opt: Here, logs: Path, out: Path
) -> None:
    out.write_text("mine")
    assert fsrs_opt("batch", logs, "--out", out).code == 2
    out.unlink()
    out.mkdir()
    (out / "book.sqlite").write_text("my own words, which are more than a header of a database is" * 9)
    ended = fsrs_opt("batch", logs, "--out", out)
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert "no book" in ended.err


def test_results_of_an_unfinished_job_and_of_several(fsrs_opt: Here, logs: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        assert fsrs_opt("batch", logs, "--out", tmp_path / f"p{number}", "--shard", f"{number}/2").code == 0
    both = (tmp_path / "p1", tmp_path / "p2")
    assert fsrs_opt("results", *both).code == 2
    assert fsrs_opt("results", *both, "--to", tmp_path / "all").code == 0
    assert len(pd.read_csv(tmp_path / "all" / "results.csv")) == 3
    ended = fsrs_opt("results", logs)
    assert ended.code == 1
    assert "holds no batch job" in ended.err


def test_an_empty_shard_is_no_failure(fsrs_opt: Here, logs: Path, out: Path) -> None:
    ended = [fsrs_opt("batch", logs / "a.csv", "--out", out, "--shard", f"{number}/2") for number in (1, 2)]
    assert [each.code for each in ended] == [0, 0]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stops_within_a_second_and_goes_on(
    tmp_path: Path, out: Path, fsrs_opt: Here, number: signal.Signals, code: int
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for seed in range(30):
        write_log(logs / f"{seed}.csv", seed=seed, cards=3000)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = subprocess.Popen(
        command("batch", logs, "--out", out, "--workers", "1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(TMPDIR=str(scratch)),
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and not has_results(out):
        time.sleep(0.05)
    program.send_signal(number)
    asked = time.monotonic()
    said, err = program.communicate(timeout=30)
    assert time.monotonic() - asked < 5  # one second where nothing else runs
    assert (program.returncode, said) == (code, "")
    assert err.splitlines()[-1] == "Interrupted."
    assert {path.name for path in out.iterdir()} <= {"book.sqlite", "lock"}
    assert list(scratch.iterdir()) == []
    again = fsrs_opt("batch", logs, "--out", out, "--json")
    assert again.code == 0
    job = json.loads(again.out)["job"]
    assert job["files"] == 30
    assert job["done"] < 30


def test_ctrl_c_while_the_workers_load(logs: Path, out: Path) -> None:
    program = subprocess.Popen(
        command("batch", logs, "--out", out),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and not loading(program.pid):
        time.sleep(0.01)
    time.sleep(0.3)
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    _, err = program.communicate(timeout=30)
    assert program.returncode == 130
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "Interrupted."


def loading(program: int) -> bool:
    """Whether the process that loads everything for the workers has started."""
    with suppress(psutil.Error):
        return any("forkserver" in " ".join(each.cmdline()) for each in psutil.Process(program).children())
    return False


def test_nothing_selected_is_not_taken_for_nothing_studied(fsrs_opt: Here, data: Path, out: Path) -> None:
    sample = data / "sample.colpkg"
    selection = ("--preset", "Languages", "--deck", "Geography")
    ended = fsrs_opt("batch", sample, "--out", out, "--split", "preset", *selection)
    assert ended.code == 1
    assert "has no preset with reviewed cards among those selected." in ended.out


def has_results(out: Path) -> bool:
    """Whether the book of a running job holds any."""
    try:
        with closing(sqlite3.connect(f"file:{out / 'book.sqlite'}?mode=ro", uri=True)) as book:
            return bool(book.execute("select count(*) from task where status = 'done'").fetchone()[0])
    except sqlite3.Error:
        return False

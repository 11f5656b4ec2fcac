from __future__ import annotations

import os
import shutil
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import fsrs_opt
from fsrs_opt.batch import content, job
from fsrs_opt.batch.book import Book
from fsrs_opt.batch.results import frame
from fsrs_opt.batch.tasks import Options
from fsrs_opt.errors import FsrsOptError
from tests.batch.made_up import Inline, run, write_log, write_user


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for seed, name in enumerate(("a.csv", "b.csv", "c.csv")):
        write_log(folder / name, seed=seed)
    return folder


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stamps are relied on after a moment, not after seconds."""
    monkeypatch.setattr(content, "_SETTLED_SECONDS", 0.05)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_results_are_those_of_optimize(logs: Path, out: Path) -> None:
    standing, _ = run([logs], out)
    assert (standing.done, standing.failed, standing.reasons) == (3, 0, [])
    table = frame([out])
    for name in ("a.csv", "b.csv"):
        alone = fsrs_opt.optimize(logs / name, splits=0)
        row = table[table["name"] == name].iloc[0]
        np.testing.assert_array_equal(row[[f"w{k}" for k in range(21)]].astype(float), alone.fit.parameters)
        scores = alone.scores["new"]
        assert scores is not None
        assert row["in_sample_new_log_loss"] == scores.log_loss
        assert (row["items"], row["decision"]) == (len(alone.data), alone.verdict.decision)


def test_again_does_nothing_then_only_what_is_new_changed_or_failed(logs: Path, out: Path) -> None:
    (logs / "d.csv").write_text("card_id,review_time,review_rating\n1,x,3\n")
    assert run([logs], out)[1] == ["a.csv", "b.csv", "c.csv", "d.csv"]
    time.sleep(0.1)  # until the stamps of files are relied on
    assert run([logs], out)[1] == ["a.csv", "b.csv", "c.csv", "d.csv"]  # looked at, the same
    assert run([logs], out)[1] == ["d.csv"]
    write_log(logs / "b.csv", seed=9)
    write_log(logs / "e.csv", seed=5)
    standing, did = run([logs], out)
    assert did == ["b.csv", "d.csv", "e.csv"]
    assert (standing.done, standing.failed, standing.at_hand) == (2, 1, 2)
    write_log(logs / "d.csv", seed=6)
    assert run([logs], out)[0].reasons == []
    assert len(frame([out])) == 5


def test_a_file_that_was_only_touched_is_not_fitted_again(logs: Path, out: Path) -> None:
    run([logs], out)
    finished = frame([out])["finished"].tolist()
    time.sleep(0.1)
    os.utime(logs / "a.csv")
    time.sleep(0.1)
    standing, did = run([logs], out)
    assert standing.unchanged == len(did) == 3
    assert frame([out])["finished"].tolist() == finished
    assert run([logs], out)[1] == []


def test_a_change_is_seen_though_size_and_time_stay(logs: Path, out: Path) -> None:
    time.sleep(0.1)
    run([logs], out)
    file = logs / "a.csv"
    before = file.stat()
    file.write_text(file.read_text().replace(",3,2\n", ",1,2\n", 1))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    standing, did = run([logs], out)
    assert did == ["a.csv"]
    assert standing.done == 1


def test_other_options_do_all_again(logs: Path, out: Path) -> None:
    run([logs], out)
    standing, _ = run([logs], out, Options(short_term=False))
    assert standing.done == 3
    assert set(frame([out])["w17"]) == {0.0}
    assert set(frame([out])["options"]) == {'{"short_term": false}'}


def test_results_stay_until_new_ones_replace_them(logs: Path, out: Path) -> None:
    run([logs], out)

    def broken() -> Inline:
        raise FsrsOptError("no scheduler")

    with pytest.raises(FsrsOptError, match="no scheduler"):
        job.run([logs], out, Options(short_term=False), broken)
    assert frame([out])["status"].tolist() == ["done"] * 3
    assert run([logs], out, Options(short_term=False))[0].done == 3


def test_force_and_retry_failed(logs: Path, out: Path) -> None:
    (logs / "bad.csv").write_text("card_id,review_time,review_rating\n1,x,3\n")
    run([logs / "a.csv", logs / "bad.csv"], out)
    assert run([logs], out, redo="failed")[1] == ["bad.csv"]
    assert run([logs], out, redo="all")[1] == ["a.csv", "b.csv", "bad.csv", "c.csv"]


def test_an_interrupted_job_goes_on(logs: Path, out: Path) -> None:
    def stop(standing: job.Standing) -> None:
        if standing.files_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([logs], out, progress=stop)
    with closing(Book(out)) as book:
        assert book.counts() == {"waiting": 1, "done": 2, "failed": 0}
    assert run([logs], out)[0].done >= 1
    assert len(frame([out])) == 3


def test_a_bad_file_fails_alone_with_its_reason(logs: Path, out: Path, data: Path) -> None:
    torn = logs / "torn.colpkg"
    torn.write_bytes((data / "sample.colpkg").read_bytes()[:3000])
    standing, _ = run([logs, logs / "gone.apkg"], out)
    assert standing.done == 3
    reasons = {Path(path).name: why for path, _, why in standing.reasons}
    assert reasons.keys() == {"torn.colpkg", "gone.apkg"}
    assert "gone.apkg does not exist" in reasons["gone.apkg"]
    assert all("\n" not in why and str(logs) in why for why in reasons.values())


def test_each_deck_or_preset_is_a_task(out: Path, data: Path) -> None:
    sample = data / "sample.colpkg"
    collection = fsrs_opt.read(sample)
    run([sample], out, split="deck")
    run([sample], out, split="preset")
    table = frame([out])
    decks = table[table["split"] == "deck"]
    reviewed = set(
        collection.cards["deck_id"][np.isin(collection.cards["card_id"], collection.log["card_id"])].tolist()
    )
    assert {int(each) for each in decks["selection"]} == reviewed
    assert set(decks["part"]) == {collection.decks[each].name for each in reviewed}
    for _, row in table[table["status"] == "done"].iterrows():
        part = fsrs_opt.sources.select(collection, **{row["split"]: int(row["selection"])})
        assert row["items"] == len(fsrs_opt.optimize(part, splits=0).data)


def test_a_table_has_no_decks(logs: Path, out: Path) -> None:
    standing, _ = run([logs / "a.csv"], out, split="deck")
    assert "no decks" in standing.reasons[0][2]


def test_the_data_set_is_done_by_user_and_by_deck(tmp_path: Path, out: Path) -> None:
    write_user(tmp_path / "set", 12)
    run([tmp_path / "set"], out)
    run([tmp_path / "set"], out, split="deck")
    run([tmp_path / "set"], out, split="preset")
    table = frame([out])
    assert set(table["user"]) == {"12"}
    assert table.groupby("split")["selection"].agg(list).to_dict() == {
        "none": [""],
        "deck": ["7", "8"],
        "preset": ["107", "108"],
    }
    counts = table.groupby("split")["revlog_rows"].sum()
    assert set(counts) == {240}  # 40 cards of 6 reviews, in either way of dividing


def test_held_out_figures_are_those_of_evaluate(logs: Path, out: Path) -> None:
    write_log(logs / "a.csv", cards=150)
    run([logs / "a.csv"], out, Options(evaluate=True))
    row = frame([out]).iloc[0]
    judged = fsrs_opt.evaluate(logs / "a.csv").evaluation.held_out["new"]
    assert judged is not None
    assert row["held_out_new_log_loss"] == pytest.approx(judged.scores.log_loss, abs=1e-12)
    assert row["held_out_new_ici"] == pytest.approx(judged.calibration.ici, abs=1e-12)


def test_a_url_is_fetched_and_named_as_the_user_did(tmp_path: Path, out: Path) -> None:
    write_log(tmp_path / "a.csv")
    (tmp_path / "bad.csv").write_text("card_id,review_time,review_rating\n1,x,3\n")
    standing, _ = run([f"file://{tmp_path}/*.csv"], out)
    assert standing.done == 1
    assert standing.reasons[0][2].startswith(f"file://{tmp_path}/bad.csv, line 2")


def test_two_jobs_in_one_folder_are_refused(logs: Path, out: Path) -> None:
    def second(standing: job.Standing) -> None:
        with pytest.raises(FsrsOptError, match="Another batch job is at work"):
            job.run([logs / "b.csv"], out, Options(), Inline)

    run([logs / "a.csv"], out, progress=second)


def test_shards_put_together_are_the_whole(logs: Path, tmp_path: Path) -> None:
    run([logs], tmp_path / "whole")
    folders = []
    for number in (1, 2):
        folders.append(tmp_path / f"part{number}")
        run([logs], folders[-1], shard=(number, 2))
    whole, together = frame([tmp_path / "whole"]), frame(folders)
    assert together["path"].tolist() == whole["path"].tolist()
    assert together["w0"].tolist() == whole["w0"].tolist()


def test_limit_takes_the_first_files(logs: Path, out: Path) -> None:
    assert run([logs], out, limit=2)[1] == ["a.csv", "b.csv"]


def test_the_largest_comes_first(logs: Path, out: Path) -> None:
    write_log(logs / "z.csv", cards=90)
    engine = Inline()
    job.run([logs], out, Options(), lambda: engine)
    assert engine.did[0] == "z.csv"


def test_results_of_a_moved_copy_do_not_mix(logs: Path, out: Path) -> None:
    """One content under two paths is two results."""
    shutil.copytree(logs, logs.parent / "copy")
    run([logs, logs.parent / "copy"], out)
    table = frame([out])
    assert len(table) == 6
    assert table["content"].nunique() == 3

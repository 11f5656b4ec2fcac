"""`optimize` as a library call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fsrs_opt
from fsrs_opt.commands.optimize import check_device
from fsrs_opt.errors import NothingToTrainError, UsageError
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.sources import read

BERLIN: dict[str, Any] = {"timezone": "Europe/Berlin", "day_start": 4}


@pytest.fixture(scope="module")
def fixture_result(shared_fixtures: Path) -> Any:
    return fsrs_opt.optimize(shared_fixtures / "schema18.anki2", splits=0)


def test_counts_and_current_parameters_are_the_collection_s(
    fixture_result: Any, shared_fixtures: Path
) -> None:
    assert len(fixture_result.data) == 927  # Anki's own count
    assert [one.name for one in fixture_result.current] == ["Default", "Übung zwei"]
    assert fixture_result.relearning_steps == 1  # of Default, which has the most reviews
    said = " ".join(fixture_result.messages)
    assert "2 presets are in use" in said
    assert "cut-off dates do not apply" in said


def test_the_better_set_is_chosen_on_the_same_items(fixture_result: Any) -> None:
    scores = fixture_result.scores
    assert scores["new"].log_loss_recency < scores["current"].log_loss_recency
    assert (fixture_result.verdict.basis, fixture_result.verdict.decision) == ("in-sample", "change")
    np.testing.assert_array_equal(fixture_result.parameters, fixture_result.fit.parameters)


def test_the_current_ones_are_kept_when_they_are_better(fixture_result: Any, shared_fixtures: Path) -> None:
    best = fixture_result.fit.parameters
    again = fsrs_opt.optimize(
        shared_fixtures / "schema18.anki2", current=best.tolist(), stages=["pretrain"], splits=0
    )
    assert again.verdict.decision == "keep"
    np.testing.assert_allclose(again.parameters, best)
    assert again.scores["current"].log_loss_recency == pytest.approx(
        fixture_result.scores["new"].log_loss_recency
    )


def test_rows_in_any_order_and_cards_renumbered(shared_real: Path, tmp_path: Path) -> None:
    frame = pd.read_parquet(shared_real / "real14.parquet")
    first = fsrs_opt.optimize(shared_real / "real14.parquet", **BERLIN)
    cards = frame["cid"].unique()
    new = pd.Series(np.random.default_rng(1).permutation(len(cards)) + 7, index=cards)
    frame["cid"] = frame["cid"].map(new)
    frame.sample(frac=1, random_state=2).to_parquet(tmp_path / "shuffled.parquet")
    second = fsrs_opt.optimize(tmp_path / "shuffled.parquet", **BERLIN)
    np.testing.assert_allclose(second.parameters, first.parameters, atol=5e-5)
    third = fsrs_opt.optimize(shared_real / "real14.parquet", **BERLIN)
    np.testing.assert_array_equal(third.parameters, first.parameters)


def test_the_cutoff_leaves_out_whole_cards(shared_fixtures: Path) -> None:
    path = shared_fixtures / "schema18.anki2"
    result = fsrs_opt.optimize(path, ignore_before="2024-01-19", stages=["pretrain"])
    past = result.histories
    starts = past.review_time[past.offsets[:-1]]
    assert starts.min() >= pd.Timestamp("2024-01-19", tz="UTC").value // 1_000_000
    assert past.left_out["before_cutoff"] > 0
    assert past.cards_left_out["before_cutoff"] > 0
    with pytest.raises(NothingToTrainError, match="the cut-off leaves 0 reviews"):
        fsrs_opt.optimize(path, ignore_before="2999-01-01")


def test_progress_is_reported_and_can_stop_the_training(shared_real: Path) -> None:
    seen = []

    class Enough(Exception):  # noqa: N818
        pass

    def progress(now: Any) -> None:
        seen.append((now.stage, now.passes))
        if now.stage == "finetune":
            raise Enough

    with pytest.raises(Enough):
        fsrs_opt.optimize(shared_real / "real28.parquet", progress=progress)
    stages = [stage for stage, _ in seen]
    assert stages[:-1] == ["train"] * (len(seen) - 1)
    assert [passes for stage, passes in seen if stage == "train"] == list(range(1, len(seen)))


def test_too_little_gives_the_defaults(shared_real: Path) -> None:
    result = fsrs_opt.optimize(shared_real / "real29.parquet")
    assert result.fit.rung == "defaults"
    assert result.verdict.decision == "not enough data"
    np.testing.assert_array_equal(result.parameters, DEFAULTS)


def test_what_read_gave_can_be_used_again(shared_fixtures: Path, fixture_result: Any) -> None:
    collection = read(shared_fixtures / "schema18.anki2")
    result = fsrs_opt.optimize(collection)
    np.testing.assert_array_equal(result.fit.parameters, fixture_result.fit.parameters)


def test_devices() -> None:
    check_device("cpu")
    for device in ("meta", "toaster", "cuda:99"):
        with pytest.raises(UsageError, match="not available here"):
            check_device(device)

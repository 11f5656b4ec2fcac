"""What the JSON objects must look like, written from the issue's list of keys."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from fsrs_opt.model.parameters import LOWER, UPPER

FIGURES = {"log_loss", "rmse_bins", "log_loss_recency", "rmse_bins_recency", "auc"}
COUNTS = {"revlog_rows", "cards", "cards_used", "reviews_used", "items", "left_out"}
KEYS = {
    *("format", "version", "source", "day", "counts", "rung", "stages", "parameters", "new_parameters"),
    *("current_parameters", "parameter_notes", "objective", "metrics", "metric_notes", "verdict", "messages"),
    *("seconds", "paste", "recipe", "kernel", "relearning_steps", "selection"),
}


def strict(text: str) -> Any:
    """The one JSON object in a text; fails for NaN and Infinity, and for anything beside it."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def check_usable(w: list[float], *, given: bool = False) -> None:
    """Finite, inside the ranges of FSRS-6, and the initial stabilities in order. given: w19 may be 0, as that
    of sets from before FSRS-6 is."""
    lower = np.where(np.arange(21) == 19, 0.0, LOWER) if given else LOWER
    assert len(w) == 21
    assert all(map(is_number, w))
    assert np.all(np.array(w) >= lower)
    assert np.all(np.array(w) <= UPPER)
    assert w[0] <= w[1] <= w[2] <= w[3]


def check_object(result: Any) -> None:
    """What the issue asks of `optimize --json`."""
    assert set(result) == KEYS
    assert result["format"] == "fsrs-opt.optimize/1"
    assert isinstance(result["version"], str)
    assert isinstance(result["source"]["path"], str)
    assert isinstance(result["day"]["description"], str)
    counts = result["counts"]
    assert set(counts) >= COUNTS
    assert counts["revlog_rows"] == counts["reviews_used"] + sum(counts["left_out"].values())
    assert counts["cards"] == counts["cards_used"] + sum(counts["cards_left_out"].values())
    assert 0 < counts["items"] <= counts["reviews_used"] - counts["cards_used"]
    assert result["rung"] in ("all", "pretrain", "defaults")
    ran = [stage["name"] for stage in result["stages"]]
    assert ran == [name for name in ("pretrain", "train", "finetune") if name in ran]
    for stage in result["stages"]:
        assert isinstance(stage["passes"], int)
        assert is_number(stage["objective"])
    kept = result["verdict"]["decision"] != "change"
    check_usable(result["parameters"], given=kept)
    check_usable(result["new_parameters"])
    assert len(result["parameter_notes"]) == 21
    assert all(isinstance(note, str) and note for note in result["parameter_notes"])
    assert is_number(result["objective"])
    assert set(result["metrics"]) == {"default", "current", "new"}
    for name, figures in result["metrics"].items():
        if figures is None:
            assert name == "current"
            assert name in result["metric_notes"]
            assert result["current_parameters"] == []
            continue
        assert set(figures) == FIGURES
        assert all(is_number(figures[each]) for each in FIGURES - {"auc"})
        assert is_number(figures["auc"]) or (figures["auc"] is None and "auc" in result["metric_notes"])
    verdict = result["verdict"]
    check_verdict(verdict)
    assert verdict["decision"] in ("change", "keep", "not enough data")
    assert isinstance(verdict["sentence"], str)
    if verdict["decision"] == "change":
        before = result["metrics"]["current"] or result["metrics"]["default"]
        assert result["metrics"]["new"]["log_loss_recency"] < before["log_loss_recency"]
        assert result["parameters"] == result["new_parameters"]
        check_usable([float(word) for word in result["paste"].split(",")])
        pasted = np.array(result["paste"].split(","), dtype=float)
        # w17 and w18 can be rounded down under a ceiling that moves with the rounding of others
        tolerance = np.where(np.isin(np.arange(21), (17, 18)), 3e-4, 5.1e-5)
        assert np.all(np.abs(pasted - result["parameters"]) <= tolerance)
    else:
        assert result["paste"] is None
    assert all(is_number(value) for value in result["seconds"].values())
    assert result["seconds"]["total"] >= result["seconds"]["train"]


DIFFERENCE = {"mean", "low", "high", "standard_error", "n_items", "n_cards"}


def check_verdict(verdict: Any) -> None:
    """Its keys; that what it says follows from its figures; null only where there is nothing to say."""
    assert set(verdict) == {
        *("decision", "sentence", "basis", "against", "gain", "gain_over_constant", "workload", "advice"),
        *("fewer_surprises", "fewer_surprises_low", "fewer_surprises_high"),
    }
    assert verdict["basis"] in ("held-out", "in-sample")
    assert verdict["against"] in ("current", "default")
    assert all(isinstance(sentence, str) and sentence for sentence in verdict["advice"])
    if verdict["gain"] is None:
        assert verdict["basis"] == "in-sample" or verdict["decision"] == "not enough data"
        return
    for difference in (verdict["gain"], verdict["gain_over_constant"]):
        assert set(difference) == DIFFERENCE
        assert is_number(difference["mean"])
    assert verdict["fewer_surprises"] == pytest.approx(verdict["gain"]["mean"] * 1000 / math.log(2))
    if verdict["decision"] == "change":
        assert 0 < verdict["gain"]["low"] < verdict["gain"]["mean"] < verdict["gain"]["high"]
        assert verdict["gain_over_constant"]["low"] > 0

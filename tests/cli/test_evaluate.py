"""`evaluate` as a person and a program see it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsrs_opt.model.parameters import DEFAULTS
from tests.cli.objects import COUNTS, FIGURES, check_usable, check_verdict, is_number, strict
from tests.cli.program import Here, process, rows_of
from tests.cli.test_errors import COLUMNS, DAY, NOW
from tests.cli.test_terminal import on_a_terminal

KEYS = {
    *(
        "format",
        "version",
        "source",
        "day",
        "counts",
        "selection",
        "recipe",
        "rung",
        "relearning_steps",
        "verdict",
    ),
    *("new_parameters", "current_parameters", "in_sample", "held_out", "health_check", "uncertainty"),
    *("forgetting_curves", "learning", "reasons", "messages", "seconds"),
}
MODELS = {"default", "current", "new", "constant", "sm2"}
JUDGED = FIGURES | {"ici", "ece", "mean_predicted", "mean_actual", "reliability"}
CURVE = {"count", "predicted", "actual", "low", "high", "lowest", "highest"}
REAL = [f"real{k:02d}" for k in (2, 3, 6, 8, 11, 14, 16, 21, 22, 28, 29, 36)]


def check_evaluation(result: Any) -> None:
    """The object's keys, and null only with a reason."""
    assert set(result) == KEYS
    assert result["format"] == "fsrs-opt.evaluate/1"
    assert set(result["counts"]) >= COUNTS
    check_usable(result["new_parameters"], given=True)
    check_verdict(result["verdict"])
    for judged in (result["in_sample"], result["held_out"]["metrics"]):
        assert set(judged) == MODELS
        for name, one in judged.items():
            if one is None:
                assert name in result["reasons"] or "held_out" in result["reasons"]
                continue
            assert set(one) == JUDGED
            assert all(is_number(one[figure]) for figure in JUDGED - {"auc", "reliability"})
            assert is_number(one["auc"]) or "auc" in result["reasons"]
            assert set(one["reliability"]) == CURVE
            assert len({len(values) for values in one["reliability"].values()}) == 1
    assert sum(one["test"] for one in result["held_out"]["splits"]) in (0, result["held_out"]["items"])
    assert (result["health_check"]["healthy"] is None) == ("health" in result["reasons"])
    assert (result["uncertainty"] is None) == ("posterior" in result["reasons"])
    if result["uncertainty"] is not None:
        new = np.array(result["new_parameters"])
        assert np.all(np.array(result["uncertainty"]["low"]) <= new)
        assert np.all(new <= np.array(result["uncertainty"]["high"]))
        assert len(result["forgetting_curves"]) == 4
    assert (result["learning"]["b"] is None) == ("learning" in result["reasons"])
    assert all(isinstance(reason, str) and reason for reason in result["reasons"].values())


@pytest.fixture(scope="module")
def sample(data: Path) -> tuple[str, Any]:
    """Report and object of the sample, by the real program."""
    report = process("evaluate", data / "sample.colpkg", COLUMNS="80")
    assert (report.code, report.err) == (0, "")
    seen = process("evaluate", data / "sample.colpkg", "--json")
    assert (seen.code, seen.err) == (0, "")
    return report.out, strict(seen.out)


def test_json_of_the_sample(sample: tuple[str, Any]) -> None:
    result = sample[1]
    check_evaluation(result)
    assert result["reasons"] == {}
    assert len(result["held_out"]["splits"]) == 5
    assert {(one["a"], one["b"]) for one in result["held_out"]["universal_metric"]} == {
        ("new", other) for other in MODELS - {"new"}
    }


def test_the_report_holds_the_figures_and_keeps_to_80_columns(sample: tuple[str, Any]) -> None:
    report, result = sample
    assert "\x1b" not in report
    for line in report.splitlines():
        assert line == line.rstrip()
        assert len(line) <= 80 or line.endswith("."), line
    for judged in (result["in_sample"], result["held_out"]["metrics"]):
        figures = [
            f"{judged[name]['log_loss']:.4f}" for name in ("default", "current", "new", "constant", "sm2")
        ]
        assert re.search(r"log loss +" + " +".join(map(re.escape, figures)) + " +lower", report)
    assert report.index("\nVerdict\nChange: ") > report.index("To know")
    assert result["learning"]["advice"] in report
    assert result["verdict"]["sentence"] in report


def test_reports_of_given_parameters(fsrs_opt: Here, data: Path) -> None:
    w = ", ".join(map(str, DEFAULTS))
    seen = fsrs_opt("evaluate", data / "sample.csv", "--parameters", w, "--against", w)
    assert (seen.code, seen.err) == (0, "")
    assert "New: as given" in seen.out
    assert "Keep your current parameters" in seen.out
    result = strict(
        fsrs_opt("evaluate", data / "sample.csv", "--parameters", w, "--against", w, "--json").out
    )
    check_evaluation(result)
    assert result["recipe"] is None
    assert result["verdict"]["gain"]["mean"] == 0


def test_no_splits_and_quiet(fsrs_opt: Here, shared_real: Path) -> None:
    log = shared_real / "real28.parquet"
    seen = fsrs_opt("evaluate", log, "--no-splits", "--quiet")
    assert (seen.code, seen.err) == (0, "")
    assert seen.out.startswith("Change: ")
    assert "in-sample" in seen.out
    result = strict(fsrs_opt("evaluate", log, "--no-splits", "--json").out)
    check_evaluation(result)
    assert result["held_out"]["items"] == 0
    assert "Held out" not in fsrs_opt("evaluate", log, "--no-splits").out


def test_options_reach_the_evaluation(fsrs_opt: Here, shared_real: Path) -> None:
    log = shared_real / "real28.parquet"
    result = strict(fsrs_opt("evaluate", log, "--splits", "2", "--no-short-term", "--json").out)
    check_evaluation(result)
    assert len(result["held_out"]["splits"]) == 2
    for one in result["held_out"]["splits"]:
        assert one["parameters"][17:20] == [0, 0, 0]
    classic = strict(fsrs_opt("evaluate", log, "--recipe", "classic", "--json").out)
    check_evaluation(classic)
    assert "minimum" in classic["reasons"]["posterior"]


@pytest.mark.parametrize(
    "arguments", [["--splits", "0"], ["--workers", "0"], ["--parameters", "1,2"], ["--against", "a"]]
)
def test_wrong_usage(fsrs_opt: Here, shared_real: Path, arguments: list[str]) -> None:
    seen = fsrs_opt("evaluate", shared_real / "real28.parquet", *arguments)
    assert (seen.code, seen.out) == (2, "")


@pytest.mark.parametrize("name", REAL)
def test_every_real_log_can_be_evaluated(fsrs_opt: Here, shared_real: Path, name: str) -> None:
    seen = fsrs_opt("evaluate", shared_real / f"{name}.parquet", "--json")
    assert (seen.code, seen.err) == (0, "")
    result = strict(seen.out)
    check_evaluation(result)
    if name == "real29":  # 6 items
        assert result["verdict"]["decision"] == "not enough data"
    else:
        assert result["verdict"]["gain"] is not None


@pytest.mark.parametrize("ratings", [(3,), (1,), (1, 3)])
@pytest.mark.parametrize("cards", [1, 2, 60])
def test_one_sided_logs(fsrs_opt: Here, tmp_path: Path, ratings: tuple[int, ...], cards: int) -> None:
    rows = []
    for card in range(cards):
        for review in range(6):
            time = NOW + ((1 + card % 7) * review + card % 5) * DAY + card
            rating = ratings[(card + review) % len(ratings)]
            rows.append((time, card, 0, rating, 1, 1, 2500, 900, int(review > 0)))
    log = tmp_path / "log.csv"
    log.write_text(rows_of(COLUMNS, *sorted(rows)))
    result = strict(fsrs_opt("evaluate", log, "--json").out)
    check_evaluation(result)
    assert result["verdict"]["decision"] in ("keep", "not enough data", "change")
    if len(ratings) == 1:
        assert result["in_sample"]["new"]["auc"] is None
        assert result["verdict"]["decision"] == "not enough data"
    seen = fsrs_opt("evaluate", log)
    assert seen.code == 0
    assert "nan" not in seen.out.lower()


def test_a_terminal_shows_how_far_it_is(shared_real: Path) -> None:
    shown = on_a_terminal("evaluate", shared_real / "real28.parquet")
    assert "fitting again, to judge on reviews that were not seen" in shown
    assert shown.rstrip().split("\n")[-1]

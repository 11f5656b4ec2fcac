"""`optimize` as a person and a program see it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fsrs_opt.model.parameters import DEFAULTS
from tests.cli.objects import check_object, check_usable, strict
from tests.cli.program import Here, process, rows_of
from tests.cli.test_errors import COLUMNS, DAY, NOW

PASTE = re.compile(r"^\d+\.\d{4}(, \d+\.\d{4}){20}$", re.MULTILINE)


@pytest.fixture(scope="module")
def sample(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """Report and JSON object of the sample collection; fitted once, by the real program."""
    target = tmp_path_factory.mktemp("sample") / "result.json"
    seen = process("optimize", data / "sample.colpkg", "--output", target, COLUMNS="80")
    assert (seen.code, seen.err) == (0, "")
    return seen.out, strict(target.read_text("utf-8"))


def test_json_of_the_sample(sample: tuple[str, Any]) -> None:
    result = sample[1]
    check_object(result)
    assert result["rung"] == "all"
    assert [stage["name"] for stage in result["stages"]] == ["pretrain", "train", "finetune"]
    assert result["counts"]["items"] >= 2000
    assert [one["name"] for one in result["current_parameters"]] == ["Default", "Languages", "Medicine"]
    assert [one["stored"] for one in result["current_parameters"]] == [False, True, True]
    assert any("presets are in use" in message for message in result["messages"])


def test_the_report_has_no_styles_when_piped_and_keeps_to_80_columns(sample: tuple[str, Any]) -> None:
    report = sample[0]
    assert "\x1b" not in report
    for line in report.splitlines():
        assert line == line.rstrip()
        sentence = line.endswith(".") or line.startswith(("Paste", "Change"))
        assert len(line) <= 80 or sentence or PASTE.match(line), line
    assert max(map(len, report.splitlines())) > 80  # sentences are left to whoever shows them


def test_the_line_to_paste_stands_alone_and_is_the_json_s(sample: tuple[str, Any]) -> None:
    report, result = sample
    lines = PASTE.findall(report)
    assert len(lines) == 1
    line = PASTE.search(report)[0]
    assert line == result["paste"]
    assert report.endswith(f"\n{line}\n")
    check_usable([float(word) for word in line.split(",")])


def number_in(report: str, label: str) -> int:
    found = re.search(rf"^ *{re.escape(label)}.*?([\d,]+)$", report, re.MULTILINE)
    assert found is not None, label
    return int(found[1].replace(",", ""))


def test_rows_left_out_add_up_in_the_report(sample: tuple[str, Any]) -> None:
    report, result = sample
    left_out = [
        int(n.replace(",", "")) for n in re.findall(r"left out: .* - ([\d,]+)$", report, re.MULTILINE)
    ]
    rows, used = number_in(report, "rows in the review log"), number_in(report, "reviews used")
    assert rows == result["counts"]["revlog_rows"]
    assert left_out
    assert rows - sum(left_out) == used
    parts = ("a card's first review", "again on the same day", "on a later day")
    assert sum(number_in(report, part) for part in parts) == used
    assert number_in(report, "on a later day") == result["counts"]["items"]


def test_the_report_names_every_parameter_with_its_numbers(sample: tuple[str, Any]) -> None:
    report, result = sample
    for k in range(21):
        row = re.search(rf"^  w{k} +(\S+) +(\S+) +(\S+)  ", report, re.MULTILINE)
        assert row is not None, k
        new, current, default = row.groups()
        assert float(new) == pytest.approx(result["new_parameters"][k], abs=5.1e-5)
        assert float(default) == DEFAULTS[k]
        assert current == "differs"  # between the presets
    assert "frozen in train" in report
    assert "(per preset)" in report


def test_the_report_holds_the_figures_of_the_json(sample: tuple[str, Any]) -> None:
    report, result = sample
    assert "In-sample" in report
    metrics = result["metrics"]
    for label, figure in (("log loss", "log_loss"), ("RMSE(bins)", "rmse_bins"), ("AUC", "auc")):
        row = re.search(rf"^  {re.escape(label)} +(\S+) +(\S+) +(\S+)", report, re.MULTILINE)
        assert row is not None
        shown = [f"{metrics[name][figure]:.4f}" for name in ("default", "current", "new")]
        assert list(row.groups()) == shown
    recent = re.findall(r"^    recent items weigh more +\S+ +\S+ +(\S+)", report, re.MULTILINE)
    assert recent == [f"{metrics['new'][name]:.4f}" for name in ("log_loss_recency", "rmse_bins_recency")]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "schema18.anki2",
            "schema11.anki2",
            "open_wal.anki2",
            "new.colpkg",
            "legacy.colpkg",
            "backup.colpkg",
        ),
        *("sched_new.apkg", "sched_legacy.apkg", "deck_only_new.apkg"),
        *("schema11_sched1.anki2", "schema14_sched1.anki2", "schema16_sched1.anki2"),
        *("empty18.anki2", "nosched_new.apkg", "nosched_legacy.apkg"),
    ],
)
def test_every_fixture_ends_in_usable_parameters_or_the_right_message(
    fsrs_opt: Here, shared_fixtures: Path, name: str
) -> None:
    seen = fsrs_opt("optimize", shared_fixtures / name, "--json", "--timezone", "Europe/Berlin")
    if name.startswith(("empty", "nosched")):
        assert (seen.code, seen.out) == (1, "")
        assert ("study some cards" in seen.err) or ("without scheduling information" in seen.err)
        return
    assert seen.code == 0
    check_object(strict(seen.out))


@pytest.mark.parametrize("name", [f"real{k:02d}" for k in (2, 3, 6, 8, 11, 14, 16, 21, 22, 28, 29, 36)])
def test_every_real_log_ends_in_usable_parameters(fsrs_opt: Here, shared_real: Path, name: str) -> None:
    seen = fsrs_opt("optimize", shared_real / f"{name}.parquet", "--json")
    assert (seen.code, seen.err) == (0, "")
    result = strict(seen.out)
    check_object(result)
    assert result["rung"] == ("defaults" if name == "real29" else "all")  # real29: 6 items


def test_too_little_for_more_than_the_defaults_is_success(fsrs_opt: Here, shared_real: Path) -> None:
    seen = fsrs_opt("optimize", shared_real / "real29.parquet")
    assert (seen.code, seen.err) == (0, "")
    assert "Not enough data" in seen.out
    assert "defaults" in seen.out
    assert PASTE.search(seen.out) is None


def test_keeping_what_is_in_use_is_success(fsrs_opt: Here, sample: tuple[str, Any], data: Path) -> None:
    best = ",".join(map(str, sample[1]["new_parameters"]))
    kept = ("--stages", "pretrain")  # the first stage alone cannot beat the whole fit
    seen = fsrs_opt("optimize", data / "sample.colpkg", "--current", best, *kept)
    assert (seen.code, seen.err) == (0, "")
    assert "Keep your current parameters" in seen.out
    assert "Paste this line" not in seen.out
    lines = [line for line in seen.out.splitlines() if PASTE.match(line)]
    assert lines == [", ".join(f"{value:.4f}" for value in sample[1]["new_parameters"])]

    result = strict(fsrs_opt("optimize", data / "sample.colpkg", "--current", best, *kept, "--json").out)
    assert result["verdict"]["decision"] == "keep"
    assert result["paste"] is None
    assert result["parameters"] == pytest.approx(sample[1]["new_parameters"])
    assert result["current_parameters"][0]["given"] is True


@pytest.mark.parametrize("length", [17, 19, 21])
def test_current_parameters_of_every_version(fsrs_opt: Here, shared_real: Path, length: int) -> None:
    w = [
        0.4,
        1.2,
        3.1,
        15.7,
        7.2,
        0.5,
        1.5,
        0.01,
        1.5,
        0.12,
        1.0,
        1.9,
        0.1,
        0.3,
        2.3,
        0.2,
        3.0,
        0.5,
        0.6,
        0.1,
        0.2,
    ]
    for text in (",".join(map(str, w[:length])), " ".join(map(str, w[:length])), str(w[:length])):
        seen = fsrs_opt("optimize", shared_real / "real28.parquet", "--current", text, "--json")
        assert seen.code == 0
        result = strict(seen.out)
        check_object(result)
        assert result["current_parameters"][0]["parameters"][:4] == w[:4]


def test_quiet_prints_the_verdict_and_the_line(fsrs_opt: Here, shared_real: Path) -> None:
    seen = fsrs_opt("optimize", shared_real / "real28.parquet", "--quiet", "--no-held-out")
    assert (seen.code, seen.err) == (0, "")
    lines = [line for line in seen.out.splitlines() if line]
    assert lines[0].startswith("Change: ")
    assert PASTE.match(lines[-1])
    assert len(lines) == 3


def test_output_is_the_same_object_and_is_replaced(fsrs_opt: Here, shared_real: Path, tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    target.write_text("something old")
    seen = fsrs_opt("optimize", shared_real / "real28.parquet", "--json", "--output", target)
    assert seen.code == 0
    assert target.read_text("utf-8") == seen.out
    check_object(strict(seen.out))
    seen = fsrs_opt("optimize", shared_real / "real28.parquet", "--output", target)
    assert seen.out.startswith("  file")
    written = strict(target.read_text("utf-8"))
    check_object(written)
    assert list(tmp_path.iterdir()) == [target]


def test_output_never_replaces_the_file_that_is_read(fsrs_opt: Here, tmp_path: Path, data: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_bytes((data / "sample.csv").read_bytes())
    seen = fsrs_opt("optimize", log, "--output", log)
    assert seen.code == 2
    assert log.read_bytes() == (data / "sample.csv").read_bytes()


def test_options_reach_the_fit(fsrs_opt: Here, shared_real: Path) -> None:
    log = shared_real / "real28.parquet"
    held = strict(fsrs_opt("optimize", log, "--json", "--no-short-term").out)
    assert held["new_parameters"][17:20] == [0, 0, 0]
    steps = strict(fsrs_opt("optimize", log, "--json", "--relearning-steps", "3").out)
    assert steps["relearning_steps"] == 3
    one = strict(fsrs_opt("optimize", log, "--json", "--stages", "pretrain").out)
    assert [stage["name"] for stage in one["stages"]] == ["pretrain"]
    assert one["new_parameters"][4:] == DEFAULTS[4:].tolist()
    classic = strict(fsrs_opt("optimize", log, "--json", "--recipe", "classic").out)
    assert classic["recipe"] == "classic"
    check_object(classic)
    zone = strict(fsrs_opt("optimize", log, "--json", "--timezone", "Asia/Tokyo", "--day-start", "5").out)
    assert (zone["day"]["timezone"], zone["day"]["day_start"]) == ("Asia/Tokyo", 5)


@pytest.mark.parametrize("ratings", [(3,), (1, 3), (2, 3, 4), (1,)])
def test_one_sided_logs(fsrs_opt: Here, tmp_path: Path, ratings: tuple[int, ...]) -> None:
    """Only some buttons; with one outcome AUC is undefined and the JSON is still strict."""
    rows = []
    for card in range(60):
        for review in range(6):
            time = NOW + ((1 + card % 7) * review + card % 5) * DAY + card
            rating = ratings[(card + review) % len(ratings)]
            rows.append((time, card, 0, rating, 1, 1, 2500, 900, int(review > 0)))
    log = tmp_path / "log.csv"
    log.write_text(rows_of(COLUMNS, *sorted(rows)))
    result = strict(fsrs_opt("optimize", log, "--json").out)
    check_object(result)
    one_outcome = 1 not in ratings or ratings == (1,)
    assert (result["metrics"]["new"]["auc"] is None) == one_outcome
    seen = fsrs_opt("optimize", log)
    assert seen.code == 0
    assert ("all recalled or all forgotten" in seen.out) == one_outcome


def test_names_from_the_file_are_shown_as_they_are(
    fsrs_opt: Here, shared_real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "[red]x[bold] :smile: \x1b[2J.parquet"
    log.write_bytes((shared_real / "real28.parquet").read_bytes())
    monkeypatch.chdir(tmp_path)
    seen = fsrs_opt("inspect", log.name)
    assert "[red]x[bold] :smile: \N{REPLACEMENT CHARACTER}[2J.parquet\n" in seen.out
    assert "\x1b" not in seen.out

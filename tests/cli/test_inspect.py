"""`inspect` as a person and a program see it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.objects import is_number, strict
from tests.cli.program import Here

KEYS = {
    *("format", "version", "source", "day", "counts", "kinds", "first_day", "last_day", "months", "decks"),
    *("presets", "deleted_cards", "rung", "messages"),
}


def check_object(seen: Any) -> None:
    assert set(seen) == KEYS
    assert seen["format"] == "fsrs-opt.inspect/1"
    counts = seen["counts"]
    assert counts["revlog_rows"] == sum(seen["kinds"].values())
    assert counts["revlog_rows"] == counts["reviews_used"] + sum(counts["left_out"].values())
    assert sum(seen["months"].values()) == counts["reviews"]
    months = list(seen["months"])
    assert months == sorted(months)
    if months:
        assert (seen["first_day"][:7], seen["last_day"][:7]) == (months[0], months[-1])
    if seen["deleted_cards"] is None:
        assert (seen["decks"], seen["presets"]) == ([], [])
        return
    for name, whole in (("reviews", counts["reviews"]), ("items", counts["items"])):
        for parts in (seen["decks"], seen["presets"]):
            assert sum(part[name] for part in parts) + seen["deleted_cards"][name] == whole
    for preset in seen["presets"]:
        assert len(preset["parameters"]) in (0, 17, 19, 21)
        assert is_number(preset["desired_retention"])


def test_json_of_every_fixture(fsrs_opt: Here, shared_fixtures: Path) -> None:
    n_seen = 0
    for file in sorted(shared_fixtures.iterdir()):
        if file.suffix not in (".anki2", ".apkg", ".colpkg"):
            continue
        seen = fsrs_opt("inspect", file, "--json")
        if file.name.startswith("nosched"):
            assert seen.code == 1
            continue
        assert (seen.code, seen.err) == (0, "")
        check_object(strict(seen.out))
        n_seen += 1
    assert n_seen == 13


def test_json_of_every_real_log(fsrs_opt: Here, shared_real: Path) -> None:
    for file in sorted(shared_real.glob("*.parquet")):
        seen = fsrs_opt("inspect", file, "--json")
        assert (seen.code, seen.err) == (0, "")
        check_object(strict(seen.out))


def test_the_report_of_a_collection(fsrs_opt: Here, shared_fixtures: Path) -> None:
    seen = fsrs_opt("inspect", shared_fixtures / "schema18.anki2")
    assert (seen.code, seen.err) == (0, "")
    out = seen.out
    assert "schema 18" in out
    # decks and presets as the fixture's truth.json has them
    for words in ("Sprachen::Français", "Medizin::Anatomie::Knochen", "Preset Übung zwei", "2024-01-19"):
        assert words in out
    assert re.search(r"^Preset Default\n  cards +58 with [\d,]+ reviews and 534 items$", out, re.MULTILINE)
    assert re.search(r"on a later day: these are predicted \(items\) +927$", out, re.MULTILINE)
    assert "all 21 parameters" in out
    assert "\x1b" not in out
    wide = [line for line in out.splitlines() if len(line) > 80]
    assert all(line.endswith(".") or line.startswith("  parameters  FSRS-6: ") for line in wide)


def test_bars_are_as_long_as_the_months_are_busy(fsrs_opt: Here, shared_fixtures: Path) -> None:
    path = shared_fixtures / "schema18.anki2"
    months = strict(fsrs_opt("inspect", path, "--json").out)["months"]
    bars = re.findall(r"^  (\d{4}-\d\d) +([\d,]+)  (█*)$", fsrs_opt("inspect", path).out, re.MULTILINE)
    assert {month: int(count.replace(",", "")) for month, count, _ in bars} == months
    most = max(months.values())
    for month, _, bar in bars:
        assert len(bar) == pytest.approx(40 * months[month] / most, abs=1)
        assert bool(bar) == bool(months[month])


def test_a_long_log_is_shown_by_year_and_its_last_months(fsrs_opt: Here, shared_real: Path) -> None:
    path = shared_real / "real03.parquet"  # 1,026 days
    out = fsrs_opt("inspect", path).out
    months = strict(fsrs_opt("inspect", path, "--json").out)["months"]
    years = re.findall(r"^  (\d{4})  +([\d,]+)  █*$", out, re.MULTILINE)
    assert sum(int(count.replace(",", "")) for _, count in years) == sum(months.values())
    assert len(re.findall(r"^  \d{4}-\d\d ", out, re.MULTILINE)) == 12


def test_the_sample_csv(fsrs_opt: Here, data: Path) -> None:
    seen = fsrs_opt("inspect", data / "sample.csv")
    assert seen.code == 0
    assert "fsrs-optimizer form" in seen.out
    assert "Decks" not in seen.out

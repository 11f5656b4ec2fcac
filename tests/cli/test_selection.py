"""Selections on the command line: Anki's items, what was chosen with counts, and wrong choices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fsrs_opt.commands.from_file import read_parameters
from fsrs_opt.model.parameters import DEFAULTS
from tests.anki_collections import SECOND, anki_collection
from tests.cli.objects import check_object, check_usable, strict
from tests.cli.program import Here
from tests.cli.test_errors import told

FILES = ("schema18.anki2", "schema11.anki2", "new.colpkg")


@pytest.fixture(scope="module")
def truth(shared_fixtures: Path) -> dict[str, Any]:
    return json.loads((shared_fixtures / "truth.json").read_text("utf-8"))["fixtures"]


@pytest.fixture(scope="module")
def counts(shared_fixtures: Path) -> dict[str, Any]:
    return json.loads((shared_fixtures / "anki_counts.json").read_text("utf-8"))["items"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "collection.anki2"
    anki_collection(path, searches={SECOND: f'preset:"{SECOND}" -tag:leech'})
    return path


def optimized(fsrs_opt: Here, *arguments: str | Path) -> Any:
    seen = fsrs_opt("optimize", *arguments, "--no-held-out", "--json")
    assert (seen.code, seen.err) == (0, "")
    return strict(seen.out)


@pytest.mark.parametrize("name", FILES)
def test_items_of_each_preset_are_anki_s(
    fsrs_opt: Here, shared_fixtures: Path, truth: dict[str, Any], name: str
) -> None:
    for preset in truth[name]["backend"]["by_preset"]:
        if not preset["fsrs_items"]:
            continue
        found = optimized(fsrs_opt, shared_fixtures / name, "--preset", preset["name"])
        check_object(found)
        chosen = found["selection"]
        assert found["counts"]["items"] == chosen["items"] == preset["fsrs_items"]
        assert chosen["cards"] == preset["cards"]
        assert chosen["suspended"]["rule"] == "preset"
        assert chosen["suspended"]["kept"] == 0
        assert chosen["asked"]["presets"] == [preset["name"]]
        assert [one["name"] for one in chosen["presets"]] == [preset["name"]]
        assert chosen["ignore_before"] == {preset["name"]: preset["ignore_before"]}
        same_day = [step for step in preset["relearn_steps"] if step < 1440]
        assert found["relearning_steps"] == len(same_day)


@pytest.mark.parametrize(
    ("arguments", "search", "kept"),
    [
        ((), "(whole collection: all revlog rows, deleted cards too)", "whole"),
        (("--suspended", "exclude"), "-is:suspended", "exclude"),
        (("--deck", "sprachen"), "deck:Sprachen", "deck"),
        (("--deck", "Medi*"), "deck:Medizin", "deck"),
        (("--preset", "Default", "--suspended", "include"), 'preset:"Default"', "include"),
        (
            ("--preset", "übung zwei", "--suspended", "include", "--ignore-before", "1970-01-01"),
            'preset:"Übung zwei"',
            "include",
        ),
    ],
)
def test_items_of_other_selections_are_anki_s(
    fsrs_opt: Here,
    shared_fixtures: Path,
    counts: dict[str, Any],
    arguments: tuple[str, ...],
    search: str,
    kept: str,
) -> None:
    for name in ("schema18.anki2", "schema11.anki2"):
        found = optimized(fsrs_opt, shared_fixtures / name, *arguments)
        assert found["counts"]["items"] == counts[search]
        assert found["selection"]["suspended"]["rule"] == kept
        assert found["selection"]["whole"] == (not arguments)


def test_the_report_lists_what_was_chosen(fsrs_opt: Here, shared_fixtures: Path) -> None:
    seen = fsrs_opt("optimize", shared_fixtures / "schema18.anki2", "--no-held-out", "--preset", "Default")
    assert seen.code == 0
    text = " ".join(seen.out.split())
    assert "Selection preset “Default”" in text
    assert "preset Default 55" in text
    assert "in all 55" in text
    assert "left out, as Anki does for a preset without a search of its own (3 left out)" in text
    seen = fsrs_opt("evaluate", shared_fixtures / "schema18.anki2", "--no-splits")
    assert "Suspended cards: kept, as Anki does in a whole collection (3 kept)." in seen.out


def test_flags_and_tags(fsrs_opt: Here, made: Path) -> None:
    found = optimized(fsrs_opt, made, "--tag", "a", "--exclude-flag", "1", "--exclude-flag", "2")["selection"]
    assert found["asked"] == {
        "decks": [],
        "presets": [],
        "tags": ["a"],
        "exclude_flags": [1, 2],
        "suspended": None,
    }
    assert found["left_out"]["flag"] > 0
    assert sum(one["cards"] for one in found["decks"]) == found["cards"]


def test_a_stored_search_is_applied_and_said(fsrs_opt: Here, made: Path) -> None:
    found = optimized(fsrs_opt, made, "--preset", SECOND)["selection"]
    assert found["suspended"]["rule"] == "search"
    search = {"preset": SECOND, "search": f'preset:"{SECOND}" -tag:leech', "evaluated_by": "fsrs-opt"}
    assert found["searches"] == [search]
    assert found["left_out"]["search"] > 0
    seen = fsrs_opt("optimize", made, "--preset", SECOND, "--no-held-out")
    assert f"The preset “{SECOND}” has a search of its own, applied: {search['search']}" in seen.out


def test_several_presets_keep_their_own_cut_off_dates(
    fsrs_opt: Here, shared_fixtures: Path, truth: dict[str, Any]
) -> None:
    known = truth["schema18.anki2"]["backend"]["by_preset"]
    found = optimized(fsrs_opt, shared_fixtures / "schema18.anki2", "--preset", "*")
    assert found["counts"]["items"] == sum(one["fsrs_items"] for one in known)
    assert "Cards learned before the cut-off date of their own preset are left out." in found["messages"]


def test_export_of_a_selection_holds_the_same_items(
    fsrs_opt: Here, shared_fixtures: Path, truth: dict[str, Any], tmp_path: Path
) -> None:
    target = tmp_path / "second.parquet"
    known = truth["schema18.anki2"]["backend"]["by_preset"][1]
    assert known["ignore_before"]
    seen = fsrs_opt(
        "export", shared_fixtures / "schema18.anki2", "-o", target, "--preset", known["name"], "--json"
    )
    assert strict(seen.out)["selection"]["items"] == known["fsrs_items"]
    seen = fsrs_opt("inspect", target, "--timezone", "Etc/GMT-1", "--day-start", "4", "--json")
    assert strict(seen.out)["counts"]["items"] == known["fsrs_items"]
    seen = fsrs_opt(
        "export", shared_fixtures / "schema18.anki2", "-o", tmp_path / "deck.csv", "--deck", "medizin"
    )
    assert seen.code == 0
    assert "Selection  deck “medizin”" in seen.out


def test_a_report_says_what_it_is_about(fsrs_opt: Here, shared_fixtures: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    seen = fsrs_opt(
        "report", shared_fixtures / "schema18.anki2", "-o", page, "--preset", "default", "--quiet"
    )
    assert seen.code == 0
    assert "Selected: preset “Default”." in page.read_text("utf-8")
    assert "Suspended cards: left out, as Anki does for a preset" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (("--deck", "Sprahen"), "There is no deck named 'Sprahen'; did you mean Sprachen", 2),
        (("--deck", "x*"), "No deck matches 'x*'; fsrs-opt inspect lists them.", 2),
        (("--preset", "defalt"), "There is no preset named 'defalt'; did you mean Default?", 2),
        (("--deck", "Sprachen", "--preset", "Übung zwei"), "no card is selected; select more", 1),
        (("--tag", "nowhere"), ", tag “nowhere”: no card is selected", 1),
        (("--preset", "Leeres Preset"), "preset “Leeres Preset”: no card is selected", 1),
        (("--preset", "Default", "--ignore-before", "2999-01-01"), "the cut-off leaves 0 reviews", 1),
    ],
)
@pytest.mark.parametrize("verb", ["optimize", "evaluate", "report", "export"])
def test_choices_that_cannot_be(
    fsrs_opt: Here,
    shared_fixtures: Path,
    tmp_path: Path,
    verb: str,
    arguments: tuple[str, ...],
    message: str,
    code: int,
) -> None:
    target = {"report": ("-o", tmp_path / "x.html"), "export": ("-o", tmp_path / "x.csv")}.get(verb, ())
    seen = fsrs_opt(verb, shared_fixtures / "schema18.anki2", *arguments, *target)
    assert seen.code == code
    assert message in told(seen)
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_reviews_has_nothing_to_select_by(fsrs_opt: Here, data: Path) -> None:
    for arguments in (("--deck", "x"), ("--all-presets",), ("--suspended", "exclude"), ("--tag", "x")):
        seen = fsrs_opt("optimize", data / "sample.csv", *arguments)
        assert seen.code == 2
        assert "is a table of reviews: it has no decks" in told(seen)
    assert fsrs_opt("optimize", data / "sample.csv", "--exclude-flag", "8").code == 2


# all presets


@pytest.fixture(scope="module")
def all_presets(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from fsrs_opt.cli.main import run

    target = tmp_path_factory.mktemp("all") / "all.json"
    assert (
        run(["optimize", str(data / "sample.colpkg"), "--all-presets", "--quiet", "--output", str(target)])
        == 0
    )
    return target


def test_all_presets_is_a_fit_of_each(fsrs_opt: Here, data: Path, all_presets: Path) -> None:
    found = strict(all_presets.read_text("utf-8"))
    assert found["format"] == "fsrs-opt.optimize-presets/1"
    assert [one["preset"] for one in found["presets"]] == ["Default", "Languages", "Medicine"]
    for one in found["presets"]:
        check_object(one["result"])
        check_usable(one["result"]["new_parameters"])
        assert one["items"] == one["result"]["counts"]["items"]
        assert one["decision"] == one["result"]["verdict"]["decision"]
        gain = one["result"]["verdict"]["gain"]["mean"]
        assert one["log_loss"]["current"] - one["log_loss"]["new"] == pytest.approx(gain)
        assert (one["paste"] is None) == (one["decision"] != "change")
    alone = fsrs_opt("optimize", data / "sample.colpkg", "--preset", "Languages", "--json")
    languages = found["presets"][1]
    assert languages["result"]["new_parameters"] == strict(alone.out)["new_parameters"]
    assert languages["result"]["verdict"] == strict(alone.out)["verdict"]


def test_all_presets_as_a_table(fsrs_opt: Here, data: Path, all_presets: Path) -> None:
    found = strict(all_presets.read_text("utf-8"))["presets"]
    seen = fsrs_opt("optimize", data / "sample.colpkg", "--all-presets")
    assert (seen.code, seen.err) == (0, "")
    lines = seen.out.splitlines()
    for one in found:
        row = next(line for line in lines if line.startswith(f"  {one['preset']} "))
        shown = [f"{one['log_loss'][name]:.4f}" for name in ("current", "new")]
        counted = [f"{one[name]:,}" for name in ("cards", "reviews", "items")]
        assert row.split()[1:7] == [str(len(one["decks"])), *counted, *shown]
    pasted = [one["paste"] for one in found if one["decision"] == "change"]
    assert [line for line in lines if line in pasted] == pasted


def test_several_processes_give_the_same(fsrs_opt: Here, data: Path, all_presets: Path) -> None:
    seen = fsrs_opt("optimize", data / "sample.colpkg", "--all-presets", "--workers", "2", "--json")
    found, known = (strict(text)["presets"] for text in (seen.out, all_presets.read_text("utf-8")))
    assert [one["result"]["new_parameters"] for one in found] == [
        one["result"]["new_parameters"] for one in known
    ]


def test_a_preset_without_items_fails_alone(fsrs_opt: Here, shared_fixtures: Path) -> None:
    seen = fsrs_opt("optimize", shared_fixtures / "schema18.anki2", "--all-presets", "--no-held-out")
    assert (seen.code, seen.err) == (0, "")
    assert "keep: no items" in seen.out
    assert "preset “Leeres Preset”: no card is selected" in seen.out
    seen = fsrs_opt("optimize", shared_fixtures / "schema18.anki2", "--all-presets", "--json")
    found = {one["preset"]: one for one in strict(seen.out)["presets"]}
    assert found["Leeres Preset"]["result"] is None
    assert "no card is selected" in found["Leeres Preset"]["error"]
    assert found["Default"]["items"] == 522  # truth.json
    assert found["Übung zwei"]["items"] == 189
    assert {one["decision"] for one in found.values()} == {"keep", "not enough data"}


def test_a_preset_whose_search_means_nothing_fails_alone(fsrs_opt: Here, tmp_path: Path) -> None:
    path = tmp_path / "collection.anki2"
    anki_collection(path, searches={SECOND: "is:foo"})
    seen = fsrs_opt("optimize", path, "--all-presets", "--json", "--no-held-out")
    found = {one["preset"]: one for one in strict(seen.out)["presets"]}
    assert found["Default"]["result"] is not None
    assert "Anki makes no sense of its search “is:foo”" in found[SECOND]["error"]


@pytest.mark.parametrize(
    "arguments",
    [("--preset", "Default"), ("--deck", "x"), ("--current", "0.1 " * 21), ("--report", "x.html")],
)
def test_all_presets_and_what_contradicts_it(fsrs_opt: Here, data: Path, arguments: tuple[str, ...]) -> None:
    seen = fsrs_opt("optimize", data / "sample.colpkg", "--all-presets", *arguments)
    assert seen.code == 2
    assert f"leave {arguments[0]} away" in told(seen)


# parameters from a file


def test_evaluate_judges_what_optimize_wrote(fsrs_opt: Here, data: Path, all_presets: Path) -> None:
    known = read_parameters(all_presets).by_preset
    seen = fsrs_opt("evaluate", data / "sample.colpkg", "--from", all_presets, "--no-splits", "--json")
    found = strict(seen.out)
    assert any("if they were fitted to these reviews" in said for said in found["messages"])
    in_use = {one["name"]: one["parameters"] for one in found["current_parameters"]}
    assert in_use == {name: pytest.approx(w.tolist()) for name, w in known.items()}


def test_evaluate_judges_a_line_of_numbers(fsrs_opt: Here, data: Path, tmp_path: Path) -> None:
    line = tmp_path / "mine.txt"
    line.write_text(" ".join(map(str, DEFAULTS)))
    seen = fsrs_opt("evaluate", data / "sample.colpkg", "--from", line, "--no-splits", "--json")
    found = strict(seen.out)
    assert [one["given"] for one in found["current_parameters"]] == [True]
    assert any("if they were fitted to these reviews" in said for said in found["messages"])
    assert found["in_sample"]["current"]["log_loss"] == pytest.approx(
        found["in_sample"]["default"]["log_loss"]
    )


def test_a_file_of_parameters_that_cannot_be(
    fsrs_opt: Here, data: Path, tmp_path: Path, all_presets: Path, shared_fixtures: Path
) -> None:
    seen = fsrs_opt("evaluate", data / "sample.colpkg", "--from", tmp_path / "none.json")
    assert (seen.code, "does not exist" in told(seen)) == (1, True)
    seen = fsrs_opt("evaluate", data / "sample.colpkg", "--from", all_presets, "--parameters", "0.5 " * 21)
    assert (seen.code, "leave one away" in told(seen)) == (2, True)
    seen = fsrs_opt("evaluate", shared_fixtures / "schema18.anki2", "--from", all_presets)
    assert seen.code == 2
    assert "parameters of the preset “Languages”" in told(seen)

"""The whole advice, from files that Anki wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fsrs_opt
from fsrs_opt.commands import advice_words
from fsrs_opt.commands.advise import Advised, advise
from fsrs_opt.commands.as_json import dumps
from fsrs_opt.commands.as_json_advise import advised
from fsrs_opt.errors import NothingToTrainError, UsageError
from fsrs_opt.evaluation.paired import SURPRISES_PER_NAT
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews.items import select
from fsrs_opt.training.data import training_set
from fsrs_opt.training.fit import fit
from tests.cli.objects import check_usable, strict
from tests.deck_files import DeckFile, write
from tests.evaluation.made_up import FAR_FROM_DEFAULTS, schedule, simulate


def cards(n: int, seed: int, w: np.ndarray):
    return simulate(schedule(n, seed), w, seed)


@pytest.fixture(scope="module")
def two_learners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two decks of one preset that follow different laws; a subdeck too small to judge; others without
    items."""
    return write(
        tmp_path_factory.mktemp("two") / "collection.anki2",
        [
            DeckFile("Ñandú::語彙", cards(500, 1, FAR_FROM_DEFAULTS)),
            DeckFile("B", cards(500, 2, DEFAULTS), filtered=True),
            DeckFile("B::few", cards(10, 3, DEFAULTS)),
            DeckFile("C", cards(15, 4, DEFAULTS), preset="Other"),
            DeckFile("empty", None, preset="Other"),
        ],
        {"nobody": [0.4, *DEFAULTS[1:]]},
    )


@pytest.fixture(scope="module")
def found(two_learners: Path) -> Advised:
    return advise(two_learners)


def test_two_learners_in_two_decks_get_parameters_of_their_own(found: Advised):
    assert [one.unit.name for one in found.units] == ["B", "C", "Ñandú::語彙"]
    assert [one.group for one in found.units] == [0, 0, 1]
    assert "Give “Ñandú::語彙” parameters of its own" in found.sentences[0]
    assert f"about {found.gain.mean * SURPRISES_PER_NAT:.0f} fewer surprises" in found.sentences[0]
    assert found.gain.low > 0
    assert not found.as_now
    large, small = found.groups
    assert large.gain is not None
    assert large.n_items + small.n_items == len(found.data)


def test_a_deck_that_cannot_be_judged_says_so(found: Advised):
    assert found.units[1].gain is None
    assert found.units[0].gain is not None


def test_the_parameters_are_those_of_the_groups_own_cards(found: Advised):
    for group in found.groups:
        mine = np.isin(found.data.items.card, found_cards(found, group.units))
        expected = fit(
            training_set(
                found.data.histories,
                select(found.data.items, mine),
            )
        )
        np.testing.assert_allclose(group.fit.parameters, expected.parameters, atol=2e-3)
        check_usable(group.fit.parameters.tolist())


def found_cards(found: Advised, chosen: tuple[int, ...]) -> np.ndarray:
    """Indices of the cards of some units: by the decks' sizes, cards come in the order they were made."""
    sizes = {"Ñandú::語彙": 500, "B": 500, "B::few": 10, "C": 15}
    deck = np.repeat(list(sizes), list(sizes.values()))
    names = {name for unit in chosen for name in found.units[unit].unit.decks}
    return np.flatnonzero(np.isin(deck, list(names)))


def test_groups_are_named_by_what_to_do_in_anki(found: Advised):
    large, small = (advice_words.steps(found, group) for group in found.groups)
    assert any("Paste the line into the presets “Default” and “Other”" in step for step in large)
    assert "Make a new preset for “Ñandú::語彙”, whose preset “Default” stays with another group" in small[-1]


def test_what_cannot_be_judged_is_told(found: Advised):
    said = " ".join(found.messages)
    # empty, Ñandú, Anki's own Default
    assert "3 decks hold no items" in said


def test_divisions_are_compared_on_the_same_held_out_cards(found: Advised):
    loss = found.log_loss
    assert set(loss) == {"in use", "one", "presets", "advised", "units"}
    assert loss["one"] - loss["advised"] == pytest.approx(found.gain.mean)
    assert loss["in use"] - loss["advised"] == pytest.approx(found.over_current.mean)
    assert found.against == "default"


def test_the_json_object(found: Advised):
    seen = strict(dumps(advised(found)).decode())
    assert seen["format"] == "fsrs-opt.advise/1"
    assert seen["split"] is True
    assert [unit["name"] for unit in seen["units"]] == ["B", "C", "Ñandú::語彙"]
    assert seen["units"][0]["decks"] == ["B", "B::few"]
    assert sorted(unit for group in seen["groups"] for unit in group["units"]) == [0, 1, 2]
    for k, group in enumerate(seen["groups"]):
        check_usable(group["parameters"])
        check_usable([float(word) for word in group["paste"].split(",")])
        assert all(seen["units"][unit]["group"] == k for unit in group["units"])
    assert seen["groups"][1]["new_presets"] == [{"decks": ["Ñandú::語彙"], "preset_now": "Default"}]
    assert any(one["supported"] for one in seen["candidates"])
    assert seen["gain"]["low"] > 0
    assert seen["rejected"] == []


def test_one_law_in_two_presets_is_one_group(tmp_path: Path):
    path = write(
        tmp_path / "collection.anki2",
        [
            DeckFile("A", cards(300, 1, DEFAULTS)),
            DeckFile("B", cards(300, 2, DEFAULTS), preset="Other"),
        ],
        {"Default": DEFAULTS, "Other": FAR_FROM_DEFAULTS},
    )
    for by in ("deck", "preset"):
        found = advise(path, by=by)
        assert len(found.groups) == 1
        assert f"Use one set of parameters for all {by}s" in found.sentences[0]
        assert found.against == "current"
        # one preset holds what is far from the truth
        assert "Against the parameters that you use now: about" in found.sentences[1]
        assert advice_words.steps(found, found.groups[0]) == [
            "Paste the line into the presets “Default” and “Other”."
        ]


def test_a_division_that_the_presets_have_already(tmp_path: Path):
    path = write(
        tmp_path / "collection.anki2",
        [
            DeckFile("A", cards(400, 1, FAR_FROM_DEFAULTS)),
            DeckFile("B", cards(400, 2, DEFAULTS), preset="Other"),
        ],
    )
    found = advise(path)
    assert found.as_now
    assert "Leave the decks divided as they are" in found.sentences[0]
    assert not any(group.new_preset_for for group in found.groups)


def test_little_data(tmp_path: Path):
    one = write(tmp_path / "one.anki2", [DeckFile("A", cards(60, 1, DEFAULTS))])
    found = advise(one)
    assert "There is only one deck with items to predict, “A”: nothing to divide." in found.sentences
    assert found.groups[0].gain is None
    tiny = write(
        tmp_path / "tiny.anki2", [DeckFile("A", cards(3, 1, DEFAULTS)), DeckFile("B", cards(3, 2, DEFAULTS))]
    )
    found = advise(tiny)
    assert "no two of them have 400 items each" in found.sentences[0]
    assert "too few reviews to say whether anything beats the defaults: keep them" in found.sentences[1]
    assert advice_words.paste(found, found.groups[0]) is None
    split = advise(tiny, min_items=1)
    assert len(split.units) == 2
    assert "too few reviews to tell them apart" in split.sentences[0]
    assert strict(dumps(advised(split)).decode())["groups"][0]["paste"] is None


def test_the_sample_has_three_presets_of_different_memory(data: Path):
    """As scripts/sample_plan.py made them: the true parameters differ by preset, not by deck."""
    for by in ("deck", "preset"):
        found = advise(data / "sample.colpkg", by=by)
        assert found.as_now
        assert len(found.groups) == 3


def test_what_cannot_be_advised_on(data: Path, tmp_path: Path, shared_fixtures: Path):
    with pytest.raises(UsageError, match="table of reviews without decks"):
        advise(data / "sample.csv")
    with pytest.raises(UsageError, match="by deck or preset"):
        advise(data / "sample.colpkg", by="tag")
    with pytest.raises(UsageError, match="at least 1"):
        advise(data / "sample.colpkg", level=0)
    with pytest.raises(NothingToTrainError):
        advise(shared_fixtures / "empty18.anki2")


def test_cards_that_no_deck_holds_are_left_out(tmp_path: Path):
    collection = pytest.importorskip("anki.collection")
    path = write(tmp_path / "collection.anki2", [DeckFile("A", cards(60, 1, DEFAULTS))])
    col = collection.Collection(str(path))
    notes = col.find_notes("deck:A")
    col.remove_notes(notes[:20])
    col.close()
    found = advise(path)
    assert found.units[0].unit.n_cards == 40
    assert "of cards that no deck holds any more were left out" in " ".join(found.messages)
    col = collection.Collection(str(path))
    col.remove_notes(notes[20:])
    col.close()
    with pytest.raises(NothingToTrainError, match="no deck holds any more"):
        advise(path)


def test_it_is_a_library_call():
    assert fsrs_opt.advise is advise

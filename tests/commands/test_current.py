"""The parameters in use: whose they are, and older versions of FSRS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.commands.current import of_presets, parse, preset_of_cards
from fsrs_opt.errors import UsageError
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews import log as review_log
from fsrs_opt.reviews.columns import Columns
from fsrs_opt.sources import Collection, Deck, FixedGrid, Preset, Source

OLD = [0.4, 1.2, 3.1, 15.7, 7.2, 0.5, 1.5, 0.01, 1.5, 0.12, 1.0, 1.9, 0.1, 0.3, 2.3, 0.2, 3.0, 0.5, 0.6]


def collection(**presets: tuple[float, ...]) -> Collection:
    """Presets 1, 2, ... with these parameters; deck 10 k has preset k; card 100 k lies in deck 10 k."""
    numbered = list(enumerate(presets.items(), start=1))
    ids = np.array([k for k, _ in numbered], dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    return Collection(
        log=review_log.make({"review_time": none, "card_id": none, "rating": none, "kind": none}),
        cards=Columns({"card_id": 100 * ids, "deck_id": 10 * ids}),
        decks={10 * k: Deck(10 * k, f"deck {k}", k) for k, _ in numbered},
        presets={k: Preset(k, name, parameters) for k, (name, parameters) in numbered},
        day=FixedGrid(1_700_000_000),
        schema=18,
        source=Source(Path("x.colpkg"), "colpkg"),
    )


def test_every_card_has_the_parameters_of_its_own_preset() -> None:
    mine = collection(Default=tuple(DEFAULTS + 0.01), Other=tuple(OLD))
    sets, messages = of_presets(mine, preset_of_cards(mine, np.array([100, 200, 999])))
    assert messages == []
    assert [one.name for one in sets] == ["Default", "Other"]
    assert sets[0].cards.tolist() == [True, False, True]  # card 999 was deleted
    assert sets[1].cards.tolist() == [False, True, False]
    np.testing.assert_array_equal(sets[0].parameters, DEFAULTS + 0.01)
    # FSRS-5's 19 numbers, and for the two that FSRS-6 added the values that change nothing
    np.testing.assert_allclose(sets[1].parameters, [*OLD, 0.0, 0.5])


def test_a_preset_without_parameters_uses_the_defaults() -> None:
    sets, _ = of_presets(collection(Default=(), Other=tuple(OLD)), np.array([1, 2]))
    np.testing.assert_array_equal(sets[0].parameters, DEFAULTS)
    assert [one.stored for one in sets] == [False, True]


def test_nothing_is_in_use_where_no_preset_holds_anything() -> None:
    assert of_presets(collection(Default=(), Other=()), np.array([1, 2])) == ((), [])


@pytest.mark.parametrize("bad", [(1.0, 2.0), (float("nan"),) * 21])
def test_nonsense_in_a_preset_is_ignored_and_told(bad: tuple[float, ...]) -> None:
    sets, messages = of_presets(collection(Default=bad, Other=tuple(OLD)), np.array([1, 2]))
    assert len(messages) == 1
    assert "“Default” are ignored" in messages[0]
    np.testing.assert_array_equal(sets[0].parameters, DEFAULTS)


def test_a_preset_that_is_gone_is_the_default_one() -> None:
    mine = collection(Default=(), Other=())
    mine.decks[20] = Deck(20, "deck 2", 77)
    assert preset_of_cards(mine, np.array([100, 200, 300])).tolist() == [1, 1, 1]


@pytest.mark.parametrize("values", [[1.0] * 20, [], [float("inf")] * 21])
def test_given_parameters_that_are_none(values: list[float]) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        parse(values)

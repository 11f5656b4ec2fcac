"""Decks and presets as the units of advice, each of one preset and large enough where possible."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.commands.current import preset_of_cards
from fsrs_opt.errors import UsageError

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection

Array = npt.NDArray[Any]

MOST_UNITS = 50
"""More of them would take minutes and leave each comparison little certainty."""

_Key = tuple[tuple[str, ...], int]
"""The first parts of a deck's name, and a preset: where cards are counted."""


@dataclass(frozen=True)
class Unit:
    """Cards that are never split. name: of a deck, a preset, or "smaller decks of preset …".

    preset_id, preset: the one preset of all its cards. decks: names of those that hold its cards. n_cards,
    n_items: used in training.
    """

    name: str
    preset_id: int
    preset: str
    decks: tuple[str, ...]
    n_cards: int
    n_items: int


@dataclass(frozen=True)
class Units:
    """units: by name. unit: int64 [n_cards] of the histories, -1 for cards that have no item in a deck.
    min_items: the number in force. n_idle: decks whose cards have no item. n_gone: items of cards in no
    deck."""

    units: tuple[Unit, ...]
    unit: Array
    min_items: int
    n_idle: int
    n_gone: int


def units(
    collection: Collection,
    card_id: Array,
    items_of_card: Array,
    *,
    by: str = "deck",
    level: int | None = None,
    min_items: int,
) -> Units:
    """The units of a collection's cards [n_cards], which have so many items each.

    A card in a filtered deck belongs to its home deck. by: "deck" or "preset". level: decks are told apart by
    so many parts of their names, None by all. min_items: a deck with fewer is counted to its parent, if need
    be up to the smaller decks of the same preset; the number rises where more than `MOST_UNITS` would be
    left.
    Raises UsageError for a table of reviews, which has no decks.
    """
    if collection.cards is None:
        raise UsageError(
            f"{collection.source.path} is a table of reviews without decks and presets: give an Anki"
            " collection (.anki2, .colpkg, .apkg)"
        )
    deck_of = _deck_of_cards(collection, card_id)
    there = deck_of >= 0
    preset_of = preset_of_cards(collection, card_id)
    cells = np.unique(np.stack([deck_of[there], preset_of[there]]), axis=1).T.tolist()
    key_of: dict[tuple[int, int], _Key] = {}
    counts: dict[_Key, int] = defaultdict(int)
    for deck, preset in cells:
        parts = tuple(collection.decks[deck].name.split("::"))
        key_of[deck, preset] = ((), preset) if by == "preset" else (parts[:level], preset)
        mine = (deck_of == deck) & (preset_of == preset)
        counts[key_of[deck, preset]] += int(items_of_card[mine].sum())
    home, min_items = (
        _folded(dict(counts), min_items) if by == "deck" else ({k: k for k in counts}, min_items)
    )

    members: dict[_Key, list[int]] = defaultdict(list)
    for cell, key in key_of.items():
        if counts[key]:
            members[home[key]].append(cell[0])
    named = _distinct(
        collection, {key: _name(collection, key, decks, by, level) for key, decks in members.items()}
    )
    order = sorted(members, key=lambda key: (named[key].casefold(), key))
    place = {key: k for k, key in enumerate(order)}
    unit = np.full(len(card_id), -1, dtype=np.int64)
    for (deck, preset), key in key_of.items():
        if counts[key]:
            unit[(deck_of == deck) & (preset_of == preset)] = place[home[key]]
    found = []
    for k, key in enumerate(order):
        found.append(
            Unit(
                name=named[key],
                preset_id=key[1],
                preset=_preset_name(collection, key[1]),
                decks=tuple(sorted((collection.decks[deck].name for deck in members[key]), key=str.casefold)),
                n_cards=int(np.count_nonzero(unit == k)),
                n_items=int(items_of_card[unit == k].sum()),
            )
        )
    busy = set(deck_of[there & (items_of_card > 0)].tolist())
    idle = [deck for deck in collection.decks.values() if not deck.filtered and deck.id not in busy]
    return Units(tuple(found), unit, min_items, len(idle), int(items_of_card[~there].sum()))


def _folded(counts: dict[_Key, int], min_items: int) -> tuple[dict[_Key, _Key], int]:
    """Where each key's cards are counted in the end, and the smallest number of items in force."""
    deepest = max((len(parts) for parts, _ in counts), default=0)
    while True:
        total, moved = dict(counts), {}
        for depth in range(deepest, 0, -1):
            for parts, preset in [key for key in total if len(key[0]) == depth]:
                if total[parts, preset] < min_items:
                    parent = moved[parts, preset] = (parts[:-1], preset)
                    total[parent] = total.get(parent, 0) + total.pop((parts, preset))
        large = sorted((n for n in total.values() if n >= min_items), reverse=True)
        if len(large) <= MOST_UNITS:
            return {key: _end(key, moved) for key in counts}, min_items
        min_items = large[MOST_UNITS - 1] + 1


def _end(key: _Key, moved: dict[_Key, _Key]) -> _Key:
    while key in moved:
        key = moved[key]
    return key


def _deck_of_cards(collection: Collection, card_id: Array) -> Array:
    """The home deck of each card, int64 [n_cards], -1 where the card or its deck no longer exists."""
    deck_of = np.full(len(card_id), -1, dtype=np.int64)
    cards = collection.cards
    if cards is None or not len(cards):
        return deck_of
    by_id = np.argsort(cards["card_id"], kind="stable")
    known = cards["card_id"][by_id]
    place = np.minimum(np.searchsorted(known, card_id), len(known) - 1)
    home = cards["deck_id"][by_id[place]]
    there = (known[place] == card_id) & np.isin(home, list(collection.decks))
    deck_of[there] = home[there]
    return deck_of


def _preset_name(collection: Collection, preset_id: int) -> str:
    preset = collection.presets.get(preset_id)
    return "Default" if preset is None else preset.name


def _name(collection: Collection, key: _Key, decks: list[int], by: str, level: int | None) -> str:
    parts, preset_id = key
    preset = _preset_name(collection, preset_id)
    if by == "preset":
        return preset
    if len(decks) == 1:
        return "::".join(collection.decks[decks[0]].name.split("::")[:level])
    return "::".join(parts) if parts else f"smaller decks of preset {preset}"


def _distinct(collection: Collection, named: dict[_Key, str]) -> dict[_Key, str]:
    """The names, with the preset where a deck has several, and its id where presets share their name."""
    by_preset = {key: _preset_name(collection, key[1]) for key in named}
    by_id = {key: f"preset {key[1]}" for key in named}
    for more in (by_preset, by_id):
        times = Counter(named.values())
        named = {
            key: f"{name} [{more[key]}]" if times[name] > 1 and name != more[key] else name
            for key, name in named.items()
        }
    return named

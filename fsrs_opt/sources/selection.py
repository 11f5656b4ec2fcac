"""The reviews of one deck or preset, by Anki's rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from fsrs_opt.errors import UsageError
from fsrs_opt.sources.collection import Collection
from fsrs_opt.sources.nearby import did_you_mean


def select(
    collection: Collection,
    *,
    deck: str | int | None = None,
    preset: str | int | None = None,
    suspended: bool | None = None,
) -> Collection:
    """The collection with the reviews and cards of one deck or preset only (both: of the cards in both).

    deck: a name (case does not matter, subdecks are included) or an id (that deck alone). A card in a
    filtered deck belongs to its home deck; a filtered deck's name selects the cards in it. preset: a name or
    an id. suspended: True keeps suspended cards, False leaves them out; None does as Anki: out for a preset,
    in for a deck. Without deck and preset nothing is left out, deleted cards' reviews included, unless
    `suspended` is False, which keeps the existing cards that are not suspended.

    The preset's own cut-off date comes into force (`Collection.ignore_before`). Decks, presets and all else
    stay as they are. Raises UsageError for a name that does not exist.
    """
    if deck is None and preset is None and suspended is not False:
        return collection
    cards = collection.cards
    if cards is None:
        raise UsageError(f"{collection.source.path} is a table of reviews: it has no decks or presets.")
    chosen = np.ones(len(cards), dtype=bool)
    home = cards["deck_id"].to_numpy()
    if deck is not None:
        ids = _deck_ids(collection, deck)
        chosen &= np.isin(home, ids) | np.isin(cards["filtered_deck_id"].to_numpy(), ids)
    notes, ignore_before = collection.source.notes, collection.ignore_before
    if preset is not None:
        ids = _preset_ids(collection, preset)
        chosen &= np.isin(home, [each.id for each in collection.decks.values() if each.preset_id in ids])
        own = [collection.presets[each].search for each in ids if collection.presets[each].search]
        ignore_before = max((collection.presets[each].ignore_before for each in ids), default="")
        if own and suspended is None:
            notes = (*notes, f"The preset's own search ({own[0]}) was not applied; Anki's default was.")
    if suspended is False or (suspended is None and preset is not None):
        chosen &= ~cards["suspended"].to_numpy()
    kept = cards[chosen].reset_index(drop=True)
    rows = np.isin(collection.log["card_id"].to_numpy(), kept["card_id"].to_numpy())
    return replace(
        collection,
        log=collection.log[rows].reset_index(drop=True),
        cards=kept,
        source=replace(collection.source, notes=notes),
        ignore_before=ignore_before,
    )


def _deck_ids(collection: Collection, deck: str | int) -> list[int]:
    if not isinstance(deck, str):
        if deck not in collection.decks:
            raise UsageError(f"There is no deck with the id {deck}.")
        return [deck]
    key = _key(deck)
    ids = [
        each.id
        for each in collection.decks.values()
        if _key(each.name) == key or _key(each.name).startswith(f"{key}::")
    ]
    if not ids:
        raise _unknown("deck", deck, (each.name for each in collection.decks.values()))
    return ids


def _preset_ids(collection: Collection, preset: str | int) -> list[int]:
    if not isinstance(preset, str):
        if preset not in collection.presets:
            raise UsageError(f"There is no preset with the id {preset}.")
        return [preset]
    ids = [each.id for each in collection.presets.values() if _key(each.name) == _key(preset)]
    if not ids:
        raise _unknown("preset", preset, (each.name for each in collection.presets.values()))
    return ids


def _key(name: str) -> str:
    """Names that Anki takes for the same have the same key."""
    return unicodedata.normalize("NFC", name).casefold()


def _unknown(what: str, name: str, names: Iterable[str]) -> UsageError:
    return UsageError(f"There is no {what} named {name!r}{did_you_mean(name, names) or '.'}")

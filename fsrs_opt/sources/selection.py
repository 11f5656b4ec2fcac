"""The reviews of some decks, presets, flags and tags, by Anki's rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fsrs_opt.errors import UsageError
from fsrs_opt.sources import names
from fsrs_opt.sources.collection import Collection, Selection

Name = str | int
One = TypeVar("One", str, int, str | int)
Bools = NDArray[np.bool_]


def select(
    collection: Collection,
    *,
    deck: Name | Sequence[Name] | None = None,
    preset: Name | Sequence[Name] | None = None,
    tag: str | Sequence[str] | None = None,
    exclude_flag: int | Sequence[int] | None = None,
    suspended: bool | None = None,
) -> Collection:
    """The collection with the chosen reviews and cards only.

    deck: names (case does not matter, * and ? stand for any letters, subdecks are included) or ids (that deck
    alone). A card in a filtered deck belongs to its home deck; a filtered deck's name selects the cards in
    it. preset: names or ids. Several decks, or presets, or tags, select the cards of any of them; decks and
    presets and tags together the cards in all three. exclude_flag: cards with such a flag (1 to 7) go.
    suspended: True keeps suspended cards, False leaves them out; None does as Anki: out for a preset without
    a search of its own, else in. Without any of these nothing is left out, deleted cards' reviews included;
    with any of them but `suspended=True` only cards that exist are left.

    The chosen preset's cut-off date comes into force (`Collection.ignore_before`). Decks, presets and all
    else stay as they are; `Collection.selection` says what was done. Raises UsageError for a name that does
    not exist.
    """
    decks, presets, tags, flags = _several(deck), _several(preset), _several(tag), _several(exclude_flag)
    if not (decks or presets or tags or flags or suspended is False):
        return collection
    cards = collection.cards
    if cards is None:
        raise UsageError(
            f"{collection.source.path} is a table of reviews: it has no decks, presets, flags or tags to"
            " select by; give the Anki collection or an export of it."
        )
    deck_ids = names.find(
        "deck", decks, {id_: one.name for id_, one in collection.decks.items()}, nested=True
    )
    preset_ids = names.find("preset", presets, {id_: one.name for id_, one in collection.presets.items()})
    out, home = cards["suspended"].to_numpy(), cards["deck_id"].to_numpy()
    chosen: Bools = np.ones(len(cards), dtype=bool)
    if decks:
        chosen = np.isin(home, deck_ids) | np.isin(cards["filtered_deck_id"].to_numpy(), deck_ids)
    notes = collection.source.notes
    if presets:
        its_decks = [id_ for id_, one in collection.decks.items() if one.preset_id in preset_ids]
        chosen &= np.isin(home, its_decks)
        own = [collection.presets[each].search for each in preset_ids if collection.presets[each].search]
        if own and suspended is None:
            notes = (*notes, f"The preset's own search ({own[0]}) was not applied; Anki's default was.")
    left_out = {}
    leave_suspended_out = suspended is False or (suspended is None and bool(presets))
    for reason, applies, which in (
        ("suspended", leave_suspended_out, out),
        ("flag", bool(flags), np.isin(cards["flag"].to_numpy(), flags)),
    ):
        if applies:
            left_out[reason] = int(np.count_nonzero(chosen & which))
            chosen &= ~which
    kept = cards[chosen].reset_index(drop=True)
    rows = np.isin(collection.log["card_id"].to_numpy(), kept["card_id"].to_numpy())
    cut_offs = {each: collection.presets[each].ignore_before for each in preset_ids}
    return replace(
        collection,
        log=collection.log[rows].reset_index(drop=True),
        cards=kept,
        source=replace(collection.source, notes=notes),
        ignore_before=next(iter(cut_offs.values())) if len(set(cut_offs.values())) == 1 else "",
        selection=Selection(
            decks=tuple(deck_ids),
            presets=tuple(preset_ids),
            tags=tuple(tags),
            flags=tuple(flags),
            suspended=_rule(suspended, presets=len(preset_ids)),
            left_out=left_out,
            suspended_kept=int(np.count_nonzero(out & chosen)),
            cut_offs=cut_offs,
        ),
    )


def _rule(suspended: bool | None, *, presets: int) -> str:
    if suspended is not None:
        return "include" if suspended else "exclude"
    return "preset" if presets else "deck"


def _several(given: One | Sequence[One] | None) -> list[One]:
    """One value or several, as a list."""
    if given is None:
        return []
    if isinstance(given, Iterable) and not isinstance(given, str):
        return list(given)
    return [cast(One, given)]

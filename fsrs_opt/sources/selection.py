"""The reviews of some decks, presets, flags and tags, by Anki's rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fsrs_opt.errors import FsrsOptError, UsageError
from fsrs_opt.sources import names
from fsrs_opt.sources.collection import Collection, Selection
from fsrs_opt.sources.search.find import Found, find_cards

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
    it. preset: names or ids. tag: of notes, patterns too; tags below one (a::b) are included. Several decks,
    or presets, or tags, select the cards of any of them; decks and presets and tags together the cards in all
    three. exclude_flag: cards with such a flag (1 to 7) go. suspended: True keeps suspended cards, False
    leaves them out; None does as Anki: out for a preset without a search of its own, else in. Without any of
    these nothing is left out, deleted cards' reviews included; with any of them but `suspended=True` only
    cards that exist are left.

    A preset with a stored search has the cards that the search finds, in its decks or not, as in Anki. The
    chosen presets' cut-off dates come into force. Decks, presets and all else stay as they are;
    `Collection.selection` says what was done. A selection can be selected from: the preset chosen first stays
    in force.

    Raises UsageError for a name that does not exist, a table of reviews, and a stored search that cannot be
    applied. For searches and tags the file is opened again: SourceError where that fails.
    """
    decks, presets, tags, flags = _several(deck), _several(preset), _several(tag), _several(exclude_flag)
    if decks or presets or tags or flags or suspended is not None:
        _check_cards(collection)
    if not (decks or presets or tags or flags or suspended is False):
        return collection
    asked = names.find("preset", presets, {id_: one.name for id_, one in collection.presets.items()})
    found = _found(collection, asked, tags, suspended)
    return _selected(collection, found, decks, asked, tags, flags, suspended)


def each_preset(
    collection: Collection,
    *,
    tag: str | Sequence[str] | None = None,
    exclude_flag: int | Sequence[int] | None = None,
    suspended: bool | None = None,
) -> dict[int, Collection | FsrsOptError]:
    """What `select` gives for each preset alone, by its id, in the order of the presets' names; an error in
    place of a preset whose search cannot be applied. The file is opened once for all searches."""
    _check_cards(collection)
    tags, flags = _several(tag), _several(exclude_flag)
    presets = sorted(collection.presets, key=lambda id_: names.key(collection.presets[id_].name))
    found = _found(collection, presets, tags, suspended)
    selected: dict[int, Collection | FsrsOptError] = {}
    for id_ in presets:
        try:
            selected[id_] = _selected(collection, found, [], [id_], tags, flags, suspended)
        except FsrsOptError as error:
            selected[id_] = error
    return selected


def _check_cards(collection: Collection) -> None:
    if collection.cards is None:
        raise UsageError(
            f"{collection.source.path} is a table of reviews: it has no decks, presets, flags or tags to"
            " select by; give the Anki collection, or an export of it"
        )


def _found(
    collection: Collection, presets: Sequence[int], tags: Sequence[str], suspended: bool | None
) -> Found:
    """What the searches of these presets find, and which cards have one of the tags."""
    searches = {id_: text for id_ in presets if (text := collection.presets[id_].search.strip())}
    return find_cards(collection, searches, tags, ignore_suspended=suspended is True)


def _selected(
    collection: Collection,
    found: Found,
    decks: Sequence[Name],
    presets: Sequence[int],
    tags: Sequence[str],
    flags: Sequence[int],
    suspended: bool | None,
) -> Collection:
    cards = collection.cards
    assert cards is not None
    id_, home, out = (cards[name] for name in ("card_id", "deck_id", "suspended"))
    chosen: Bools = np.ones(len(cards), dtype=bool)
    left_out: dict[str, int] = {}

    def leave_out(reason: str, which: Bools) -> None:
        left_out[reason] = int(np.count_nonzero(chosen & which))
        chosen[which] = False

    deck_ids = names.find("deck", decks, {one.id: one.name for one in collection.decks.values()}, nested=True)
    if decks:
        chosen &= np.isin(home, deck_ids) | np.isin(cards["filtered_deck_id"], deck_ids)
    if tags:
        chosen &= np.isin(id_, found.tagged)
    searches = {each: collection.presets[each].search for each in presets if each in found.cards}
    if presets:
        searched = np.zeros(len(cards), dtype=bool)
        for each in searches:
            searched |= np.isin(id_, found.of(each, collection.presets[each].name))
        its_cards = np.isin(home, [one.id for one in collection.decks.values() if one.preset_id in presets])
        by_default = np.isin(
            home,
            [
                one.id
                for one in collection.decks.values()
                if one.preset_id in presets and one.preset_id not in searches
            ],
        )
        if searches:
            leave_out("search", its_cards & ~by_default & ~searched)
        chosen &= by_default | searched
        if suspended is None:
            leave_out("suspended", out & ~searched)
    if suspended is False:
        leave_out("suspended", out)
    if flags:
        leave_out("flag", np.isin(cards["flag"], flags))

    kept = cards.rows(chosen)
    reviews = np.isin(collection.log["card_id"], kept["card_id"])
    before = collection.selection
    selection = replace(
        before or Selection(),
        decks=tuple(deck_ids),
        deck_names=tuple(
            one if isinstance(one, str) else collection.decks[one].name for one in dict.fromkeys(decks)
        ),
        tags=tuple(tags),
        flags=tuple(flags),
        left_out=left_out,
        suspended_kept=int(np.count_nonzero(out & chosen)),
    )
    if presets:
        selection = replace(
            selection,
            presets=tuple(presets),
            preset_names={each: collection.presets[each].name for each in presets},
            searches=searches,
            by_anki=tuple(each for each in presets if each in found.by_anki),
            cut_offs={each: collection.presets[each].ignore_before for each in presets},
        )
    if presets or suspended is not None or before is None:
        rule = _rule(suspended, presets=len(presets), searches=len(searches))
        selection = replace(selection, suspended=rule)
    dates = set(selection.cut_offs.values())
    return replace(
        collection,
        log=collection.log.rows(reviews),
        cards=kept,
        ignore_before=dates.pop() if len(dates) == 1 else "",
        selection=selection,
    )


def _rule(suspended: bool | None, *, presets: int, searches: int) -> str:
    if suspended is not None:
        return "include" if suspended else "exclude"
    if not presets:
        return "deck"
    return "preset" if not searches else "search" if searches == presets else "mixed"


def _several(given: One | Sequence[One] | None) -> list[One]:
    """One value or several, as a list."""
    if given is None:
        return []
    if isinstance(given, Iterable) and not isinstance(given, str):
        return list(given)
    return [given]

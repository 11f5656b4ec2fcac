"""The parameters in use: given by hand, or those of each card's own preset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fsrs_opt.errors import UsageError
from fsrs_opt.model import parameters
from fsrs_opt.model.parameters import DEFAULTS, FloatArray
from fsrs_opt.sources.collection import DEFAULT_PRESET
from fsrs_opt.sources.names import key
from fsrs_opt.sources.nearby import did_you_mean

if TYPE_CHECKING:
    from fsrs_opt.commands.from_file import ParametersFile
    from fsrs_opt.sources.collection import Collection


FLATTERED = (
    "The parameters to judge were given: if they were fitted to these reviews, the held-out comparison"
    " flatters them, since the new ones had not seen those."
)


@dataclass(frozen=True)
class CurrentSet:
    """One set of parameters in use: where it comes from, the 21 numbers, and which cards it is for.

    cards: bool [n_cards] of the histories. stored: False where a preset holds none (Anki uses the defaults).
    given: by hand, not by a preset.
    """

    name: str
    parameters: FloatArray
    cards: npt.NDArray[np.bool_]
    stored: bool
    given: bool = False


def parse(values: Sequence[float], relearning_steps: int = 1) -> FloatArray:
    """Parameters that a person gave, of FSRS-6, FSRS-5 or FSRS-4.5, as 21 inside their ranges.

    Raises UsageError for another number of values or one that is not finite.
    """
    try:
        return parameters.clip(parameters.convert(values), relearning_steps=relearning_steps, given=True)
    except ValueError as error:
        raise UsageError(f"these parameters cannot be used: {error}") from None


def of_presets(
    collection: Collection, preset_of: npt.NDArray[np.int64]
) -> tuple[tuple[CurrentSet, ...], list[str]]:
    """What is in use by preset, and sentences about sets that were ignored.

    preset_of [n_cards]: the preset of each card (`preset_in_force`). Empty when no preset that is in use here
    holds parameters.
    """
    messages: list[str] = []
    sets = []
    for preset_id in np.unique(preset_of).tolist():
        preset = collection.presets.get(preset_id)
        name = preset.name if preset is not None else "Default"
        found = None
        if preset is not None and preset.parameters:
            try:
                found = parameters.clip(
                    parameters.convert(preset.parameters),
                    relearning_steps=preset.same_day_relearning_steps,
                    given=True,
                )
            except ValueError as error:
                messages.append(f"The parameters stored in preset “{name}” are ignored: {error}.")
        in_use = DEFAULTS.copy() if found is None else found
        sets.append(CurrentSet(name, in_use, preset_of == preset_id, found is not None))
    if not any(one.stored for one in sets):
        return (), messages
    return tuple(sets), messages


def preset_in_force(collection: Collection, card_id: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The preset whose settings and parameters a fit is about, int64 [n_cards]: where one preset was selected
    that one, whatever cards its search found, else that of each card."""
    chosen = collection.selection
    if chosen is not None and len(chosen.presets) == 1:
        return np.full(len(card_id), chosen.presets[0], dtype=np.int64)
    return preset_of_cards(collection, card_id)


def preset_of_cards(collection: Collection, card_id: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The preset id of each card, int64 [n_cards]: that of its home deck, Default for deleted cards."""
    preset = np.full(len(card_id), DEFAULT_PRESET, dtype=np.int64)
    cards = collection.cards
    if cards is None or not len(cards) or not len(card_id):
        return preset
    known = cards["card_id"]
    by_id = np.argsort(known, kind="stable")
    row = by_id[np.minimum(np.searchsorted(known, card_id, sorter=by_id), len(known) - 1)]
    there = known[row] == card_id
    decks, index = np.unique(cards["deck_id"][row[there]], return_inverse=True)
    of_deck = np.array([_preset_of_deck(collection, deck) for deck in decks.tolist()], dtype=np.int64)
    preset[there] = of_deck[index]
    return preset


def _preset_of_deck(collection: Collection, deck_id: int) -> int:
    deck = collection.decks.get(deck_id)
    if deck is None or deck.preset_id is None or deck.preset_id not in collection.presets:
        return DEFAULT_PRESET
    return deck.preset_id


def put_in_use(collection: Collection, file: ParametersFile) -> tuple[Collection, FloatArray | None]:
    """The collection as if its presets stored the parameters of the file, and the one set that is for all
    cards, where the file does not name presets.

    Raises UsageError where the file names a preset that the collection does not have.
    """
    notes = (*collection.source.notes, *file.notes)
    collection = replace(collection, source=replace(collection.source, notes=notes))
    by_name = {key(one.name): one for one in collection.presets.values()}
    unknown = [name for name in file.by_preset if key(name) not in by_name]
    if not file.by_preset or (file.single is not None and unknown):
        return collection, file.single
    if unknown:
        near = did_you_mean(unknown[0], (one.name for one in by_name.values()))
        raise UsageError(
            f"{file.path} holds parameters of the preset “{unknown[0]}”, which {collection.source.path} does"
            f" not have{near}"
        )
    collection = replace(collection, source=replace(collection.source, notes=(*notes, FLATTERED)))
    presets = dict(collection.presets)
    for name, w in file.by_preset.items():
        one = by_name[key(name)]
        presets[one.id] = replace(one, parameters=tuple(w.tolist()))
    return replace(collection, presets=presets), None

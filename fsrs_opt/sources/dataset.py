"""The field's research data set: Parquet files in a folder for each user.

    revlogs/user_id=1/*.parquet    card_id, day_offset, rating, state, duration, elapsed_days, elapsed_seconds
    cards/user_id=1/*.parquet      card_id, note_id, deck_id
    decks/user_id=1/*.parquet      deck_id, parent_id, preset_id

A user's folder in revlogs/ is read like a file. Decks and presets have numbers there, and no names.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fsrs_opt.errors import SourceError
from fsrs_opt.sources.collection import DEFAULT_PRESET, Collection, Deck, Preset
from fsrs_opt.sources.detect import reason

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

OTHER_TABLES: Final = ("cards", "decks")
"""The folders beside revlogs/; they hold no reviews."""

_USER: Final = re.compile(r"user_id=(.+)")
_RELEARNING_STEPS: Final = (10.0,)  # minutes, Anki's default; the data set does not tell them


def user_of(name: str) -> str | None:
    """The user whose folder this is, by the folder's name; None for any other folder."""
    found = _USER.fullmatch(name)
    return found[1] if found else None


def user_files(path: Path) -> list[Path]:
    """The Parquet files in a user's folder, in the order of their names; empty for any other path."""
    if user_of(path.name) is None or not path.is_dir():
        return []
    return sorted(file for file in path.iterdir() if file.suffix.lower() == ".parquet" and file.is_file())


def with_decks(collection: Collection) -> Collection:
    """A user's reviews together with the user's cards, decks and presets from the folders beside revlogs/.

    Anything but a user's folder with cards beside it is given back as it is. Raises SourceError for files
    that cannot be read.
    """
    folder = collection.source.path
    of_cards, of_decks = (
        user_files(folder.parent.parent / table / folder.name) if user_of(folder.name) else []
        for table in OTHER_TABLES
    )
    if not of_cards:
        return collection
    import numpy as np

    from fsrs_opt.reviews.columns import Columns

    cards = _numbers(of_cards, ("card_id", "deck_id"))
    card_id, first = np.unique(cards["card_id"], return_index=True)
    deck_id = cards["deck_id"][first]
    known = _numbers(of_decks, ("deck_id", "preset_id")) if of_decks else {}
    preset_of = (
        dict(zip(*(known[name].tolist() for name in ("deck_id", "preset_id")), strict=True)) if known else {}
    )
    decks = {
        deck: Deck(deck, f"deck {deck}", preset_of.get(deck, DEFAULT_PRESET))
        for deck in np.union1d(deck_id, np.array(list(preset_of), dtype=np.int64)).tolist()
    }
    presets = {
        preset: Preset(preset, f"preset {preset}", relearning_steps=_RELEARNING_STEPS)
        for preset in sorted({deck.preset_id for deck in decks.values() if deck.preset_id is not None})
    }
    table = Columns(
        {
            "card_id": card_id,
            "deck_id": deck_id,
            "filtered_deck_id": np.zeros(len(card_id), dtype=np.int64),
            "suspended": np.zeros(len(card_id), dtype=bool),
            "flag": np.zeros(len(card_id), dtype=np.int8),
        }
    )
    return replace(collection, cards=table, decks=decks, presets=presets)


def _numbers(files: list[Path], columns: tuple[str, ...]) -> dict[str, npt.NDArray[np.int64]]:
    """Columns of whole numbers from several files, one after another."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet

    from fsrs_opt.sources.values import from_arrow

    found: dict[str, list[Any]] = {name: [] for name in columns}
    for file in files:
        try:
            table = pyarrow.parquet.ParquetFile(file).read(columns=list(columns))
            for name in columns:
                found[name].append(from_arrow(table[name]))
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise SourceError(f"{file} is no readable Parquet file: {reason(error)}.") from None
    return {name: np.concatenate(parts) for name, parts in found.items()}

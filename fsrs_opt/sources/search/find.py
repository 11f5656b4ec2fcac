"""The cards that a search finds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fsrs_opt.errors import FsrsOptError
from fsrs_opt.sources.collection import Collection
from fsrs_opt.sources.database import Database
from fsrs_opt.sources.reading import opened
from fsrs_opt.sources.search import backend
from fsrs_opt.sources.search.conditions import Conditions, nfc
from fsrs_opt.sources.search.parser import NotUnderstoodError, parse

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """cards: ids found, int64, by the key of each search, or why it could not be evaluated. tagged: ids of
    the cards with one of the tags. by_anki: keys of the searches that Anki's own code evaluated."""

    cards: dict[int, Int64 | FsrsOptError]
    tagged: Int64
    by_anki: tuple[int, ...] = ()

    def of(self, search: int, name: str) -> Int64:
        """The ids that a search found. Raises the error of one that could not be evaluated; name: of the
        preset, for its message."""
        found = self.cards[search]
        if isinstance(found, FsrsOptError):
            raise type(found)(f"The preset “{name}” cannot be selected: {found}")
        return found


def find_cards(
    collection: Collection,
    searches: Mapping[int, str],
    tags: Sequence[str] = (),
    *,
    ignore_suspended: bool = False,
) -> Found:
    """Evaluate searches, and find cards by their notes' tags, in the file that the collection was read from.

    searches: by any key. tags: patterns with * and ?, which mean tags below them too; several: any of them.
    ignore_suspended: as if no card was suspended. The file is opened anew, for reading only. Raises
    SourceError where it cannot be.
    """
    nothing = np.zeros(0, dtype=np.int64)
    if not searches and not tags:
        return Found({}, nothing)
    cards: dict[int, Int64 | FsrsOptError] = {}
    by_anki = []
    with opened(collection.source.path) as database:
        conditions = Conditions(collection, database.connection, ignore_suspended=ignore_suspended)
        patterns = ["".join(_TAG_WILDCARDS.get(one) or re.escape(one) for one in nfc(tag)) for tag in tags]
        tagged = _cards(database, " or ".join(map(conditions.of_tag, patterns))) if tags else nothing
        for name, search in searches.items():
            try:
                cards[name] = _cards(database, conditions.of(parse(search)))
            except NotUnderstoodError as error:
                try:
                    cards[name] = backend.find_cards(
                        database, search, str(error), ignore_suspended=ignore_suspended
                    )
                    by_anki.append(name)
                except FsrsOptError as failure:
                    cards[name] = failure
    return Found(cards, tagged, tuple(by_anki))


_TAG_WILDCARDS: Final = {"*": r"\S*", "?": r"\S"}


def _cards(database: Database, condition: str) -> Int64:
    """Ids of the cards that a condition holds for; the notes are looked at only where it speaks of them."""
    notes = " left join notes n on n.id = c.nid" if re.search(r"\bn\.", condition) else ""
    rows = database.connection.execute(f"select c.id from cards c{notes} where {condition}")
    return np.fromiter((int(row[0]) for row in rows), np.int64)

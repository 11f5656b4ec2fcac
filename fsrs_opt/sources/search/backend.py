"""Searches that are not understood here: Anki's own code evaluates them, on a copy of the collection."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fsrs_opt.errors import SourceError, UsageError
from fsrs_opt.sources.database import Database, temporary_folder
from fsrs_opt.sources.detect import reason

INSTALL: Final = 'pip install "fsrs-opt[anki]"'


_AS_NOT_SUSPENDED: Final = "update cards set queue = case type when 3 then 1 else type end where queue = -1"


def find_cards(
    database: Database, search: str, not_understood: str, *, ignore_suspended: bool = False
) -> NDArray[np.int64]:
    """Ids of the cards that Anki finds, int64. The user's file is not opened: Anki would change it.

    not_understood: what of the search is not understood here. ignore_suspended: as if no card was suspended.
    Raises UsageError where the `anki` package is not installed or finds no sense in the search either,
    SourceError where it cannot open the copy.
    """
    try:
        from anki.collection import Collection as AnkiCollection
        from anki.errors import SearchError
    except ImportError:
        raise UsageError(
            f"its search “{search}” holds what fsrs-opt does not understand ({not_understood}); install"
            f" Anki's own code, which does ({INSTALL}), or give --deck in place of --preset"
        ) from None
    with temporary_folder() as folder:
        copy = folder / "collection.anki2"
        try:
            database.content.seek(0)
            with copy.open("xb") as target:
                shutil.copyfileobj(database.content, target)
        except OSError as error:
            raise SourceError(
                f"{database.named} cannot be copied to a temporary folder: {reason(error)}."
            ) from None
        try:
            if ignore_suspended:
                with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                    connection.execute(_AS_NOT_SUSPENDED)
            collection = AnkiCollection(str(copy))
        except Exception as error:
            raise SourceError(
                f"{database.named} cannot be searched by the installed anki package: {reason(error)}."
            ) from None
        try:
            return np.array(collection.find_cards(search), dtype=np.int64)
        except SearchError as error:
            raise UsageError(f"Anki makes no sense of its search “{search}” ({reason(error)})") from None
        finally:
            collection.close()

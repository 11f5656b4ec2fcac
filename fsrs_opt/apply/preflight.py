"""Whether a collection can be written to at all, asked before any long work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsrs_opt.apply import anki_package, live
from fsrs_opt.errors import RefusedError
from fsrs_opt.sources.database import open_live
from fsrs_opt.sources.detect import detect
from fsrs_opt.sources.locks import held_by_another

if TYPE_CHECKING:
    from fsrs_opt.sources.collection import Collection

_FSRS_SETTING: Final = "fsrs"


def check_collection(path: Path) -> str:
    """Whether `path` can be written to as things are; the version of the `anki` package.

    RefusedError for anything but a collection that Anki works with (SourceError for what is no file of
    Anki's at all), one of another schema than the package's, one that is open, and where writing is not
    allowed.
    """
    form = detect(path)
    if form in ("zip", "zstd"):
        raise RefusedError(
            f"{path} is a package, from which Anki imports: give the collection.anki2 in the profile's"
            " folder of"
            " Anki instead."
        )
    if form != "sqlite":
        raise RefusedError(
            f"{path} is a table of reviews: give the collection.anki2 in the profile's folder of Anki."
        )
    live.check_writable(path.resolve())
    version = anki_package.version()
    if held_by_another(path) is not None:
        raise RefusedError(f"{path} {live.IN_USE}.")
    return version


def check_layout(path: Path, collection: Collection, anki: str) -> bool:
    """Whether FSRS is switched on. RefusedError where the installed package would bring the collection to
    another schema, or would drop something from its presets."""
    known = anki_package.schema()
    if collection.schema is not None and collection.schema > known:
        raise RefusedError(
            f"{path} has schema {collection.schema}, newer than the {known} that the installed anki package"
            f" {anki}"
            ' knows: pip install --upgrade "fsrs-opt[anki]"'
        )
    if collection.schema != known:
        raise RefusedError(
            f"{path} has the old schema {collection.schema}, and Anki's own code would convert it to {known}"
            " merely"
            " by opening it: open it in Anki once, close Anki and try again."
        )
    with open_live(path) as database:
        for name, config in database.connection.execute("select name, config from deck_config"):
            if not anki_package.knows_all_of(config):
                raise RefusedError(
                    f"The preset “{name}” has settings of a newer Anki, which the installed anki package"
                    f" {anki} would"
                    ' drop: pip install --upgrade "fsrs-opt[anki]"'
                )
        setting = database.connection.execute(
            "select val from config where key = ?", (_FSRS_SETTING,)
        ).fetchone()
    return setting is not None and setting[0] == b"true"

"""Names of decks, presets and tags: which are the same, and which a pattern with * and ? stands for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from fsrs_opt.errors import UsageError
from fsrs_opt.sources.nearby import did_you_mean

WILDCARDS = {"*": ".*", "?": "."}


def key(name: str) -> str:
    """Names that Anki takes for the same have the same key."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def find(what: str, asked: Sequence[str | int], names: dict[int, str], *, nested: bool = False) -> list[int]:
    """The ids of the names that were asked for, by name, pattern or id, in the order of `names`.

    what: "deck" or "preset", for messages. names: by id. nested: a name includes what lies below it (its
    name, "::" and more); an id does not. Raises UsageError, with near matches, for one that matches nothing.
    """
    found: set[int] = set()
    for each in asked:
        if isinstance(each, str):
            ids = _named(each, names, nested=nested)
            if not ids:
                kind = "matches" if any(letter in each for letter in WILDCARDS) else "is named"
                raise UsageError(_unknown(what, each, names.values(), kind))
            found |= ids
        elif each in names:
            found.add(each)
        else:
            raise UsageError(f"There is no {what} with the id {each}.")
    return [each for each in names if each in found]


def _named(name: str, names: dict[int, str], *, nested: bool) -> set[int]:
    """A name that exists is taken as it is, whatever letters it has; only else * and ? are wildcards."""
    below = "(?:::.*)?" if nested else ""
    wanted = key(name)
    for parts in ([re.escape(wanted)], [WILDCARDS.get(letter) or re.escape(letter) for letter in wanted]):
        pattern = re.compile("".join(parts) + below, re.DOTALL)
        ids = {id_ for id_, known in names.items() if pattern.fullmatch(key(known))}
        if ids:
            return ids
    return set()


def _unknown(what: str, name: str, names: Iterable[str], kind: str) -> str:
    if kind == "matches":
        return f"No {what} matches {name!r}; fsrs-opt inspect lists them."
    return f"There is no {what} named {name!r}{did_you_mean(name, names) or '.'}"

"""Near matches of a name that does not exist, for error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def near_matches(name: str, names: Iterable[str], *, most: int = 3) -> list[str]:
    """Up to `most` of `names` that look like `name`, whatever its case, the nearest first."""
    by_key: dict[str, str] = {}
    for known in names:
        by_key.setdefault(known.strip().casefold(), known)
    same = by_key.get(name.strip().casefold())
    if same is not None:
        return [same]
    keys = get_close_matches(name.strip().casefold(), list(by_key), n=most, cutoff=0.6)
    return [by_key[key] for key in keys]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`; did you mean A or B?`, or "" where nothing is near."""
    near = near_matches(name, names)
    return f"; did you mean {' or '.join(near)}?" if near else ""

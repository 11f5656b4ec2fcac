"""Terms of a search -> a condition of SQL on the tables cards (c) and notes (n), as Anki understands them.

Names become ids here, so that the condition holds numbers only; tags are matched by a function that is
registered on the connection. What is not certain to mean the same as in Anki is not understood.
"""

from __future__ import annotations

import datetime
import re
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from fsrs_opt.sources.collection import Collection
from fsrs_opt.sources.days import DAY_SECONDS, DayBoundary, FixedGrid, next_day_start
from fsrs_opt.sources.search import parser
from fsrs_opt.sources.search.lookups import NoteType, learn_ahead_seconds, note_types
from fsrs_opt.sources.search.parser import Node, NotUnderstoodError

ANKI_WILDCARDS: Final = {"*": ".*", "_": "."}

_STATES: Final = {
    "new": "c.type = 0",
    "learn": "c.type in (1, 3)",
    "review": "c.type in (2, 3)",
    "suspended": "c.queue = -1",
    "buried": "c.queue in (-2, -3)",
    "buried-sibling": "c.queue = -2",
    "buried-manually": "c.queue = -3",
}
_DUE: Final = "(case when c.odue != 0 then c.odue else c.due end)"
_BY_DAY, _BY_SECOND = "c.queue in (2, 3)", "c.queue in (1, 4)"
_PROPERTY: Final = re.compile(
    r"(ivl|due|reps|lapses|ease|pos)(<=|>=|!=|=|<|>)(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)"
)
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_ID: Final = re.compile(r"[0-9]{1,18}")
_IDS: Final = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*")
_NOWHERE, _EVERYWHERE = "0", "1"


class Conditions:
    """Makes conditions for one collection, whose database is open at `connection`.

    ignore_suspended: as if no card was suspended.
    """

    def __init__(
        self, collection: Collection, connection: sqlite3.Connection, *, ignore_suspended: bool = False
    ) -> None:
        self._collection, self._connection = collection, connection
        self._ignore_suspended = ignore_suspended
        self._patterns: list[re.Pattern[str]] = []
        self._note_types: list[NoteType] | None = None
        connection.create_function("tag_matches", 2, self._tag_matches, deterministic=True)
        self._makers: Final[Mapping[str, Callable[[str], str | None]]] = {
            "deck": self._deck,
            "did": lambda value: _ids("(c.did in ({0}) or c.odid in ({0}))", value),
            "preset": self._preset,
            "tag": self._tag,
            "note": self._note,
            "mid": lambda value: f"n.mid = {value}" if _ID.fullmatch(value) else None,
            "card": self._template,
            "flag": lambda value: f"(c.flags & 7) = {value}" if re.fullmatch("[0-7]", value) else None,
            "is": self._state,
            "added": lambda value: self._since("c.id > {} * 1000", value),
            "edited": lambda value: self._since("n.mod > {}", value),
            "introduced": self._introduced,
            "rated": self._rated,
            "prop": self._property,
            "nid": lambda value: _ids("c.nid in ({})", value),
            "cid": lambda value: _ids("c.id in ({})", value),
        }

    def of(self, node: Node) -> str:
        """The condition of a tree. Raises NotUnderstoodError for a term that is not understood."""
        if isinstance(node, parser.Not):
            return f"not {self.of(node.node)}"
        if isinstance(node, parser.All):
            return f"({' and '.join(map(self.of, node.nodes))})" if node.nodes else _EVERYWHERE
        if isinstance(node, parser.Any):
            return f"({' or '.join(map(self.of, node.nodes))})"
        make = self._makers.get(node.key)
        condition = None if make is None else make(node.value)
        if condition is None:
            raise NotUnderstoodError(f"“{node.written}”")
        return f"({condition})"

    def of_tag(self, pattern: str) -> str:
        """Notes with a tag that fits the regular expression, or with one below such a tag."""
        self._patterns.append(re.compile(f" {pattern}(?:::| )", re.IGNORECASE))
        return f"tag_matches({len(self._patterns) - 1}, n.tags)"

    def _tag_matches(self, number: int, tags: object) -> bool:
        return self._patterns[number].search(f" {nfc(str(tags or '')).strip()} ") is not None

    def _deck(self, value: str) -> str | None:
        if value == "*":
            return _EVERYWHERE
        if value == "filtered":
            return "c.odid != 0"
        if not value or value == "current":  # the deck that was open last is nothing to fit by
            return None
        decks = self._collection.decks
        return _in_decks(_matching({one.id: one.name for one in decks.values()}, value, "(?:::.*)?"))

    def _preset(self, value: str) -> str | None:
        """Anki knows no wildcards here."""
        wanted = nfc(value).casefold()
        ids = {one.id for one in self._collection.presets.values() if nfc(one.name).casefold() == wanted}
        return _in_decks(one.id for one in self._collection.decks.values() if one.preset_id in ids)

    def _tag(self, value: str) -> str | None:
        if value.lower().startswith(("re:", "nc:")) or not value:
            return None
        if value == "none":
            return "trim(n.tags) = ''"
        if value == "*":
            return _EVERYWHERE
        return self.of_tag(_pattern(value, {"*": r"\S*", "_": r"\S"}))

    def _note(self, value: str) -> str | None:
        ids = _matching({one.id: one.name for one in self._all_note_types()}, value)
        return f"n.mid in ({','.join(map(str, ids))})"

    def _template(self, value: str) -> str | None:
        if _NUMBER.fullmatch(value):
            return f"c.ord = {max(1, int(value)) - 1}"
        found = [
            f"n.mid = {one.id} and c.ord = {order}"
            for one in self._all_note_types()
            for order in _matching(dict(one.templates), value)
        ]
        return " or ".join(found) or _NOWHERE

    def _all_note_types(self) -> list[NoteType]:
        if self._note_types is None:
            self._note_types = note_types(self._connection)
        return self._note_types

    def _state(self, value: str) -> str | None:
        if value == "suspended" and self._ignore_suspended:
            return _NOWHERE
        if value != "due":
            return _STATES.get(value)
        # Anki shows learning cards some minutes early, and those of a filtered deck at any time
        soon = int(time.time()) + learn_ahead_seconds(self._connection)
        return f"({_BY_DAY} and c.due <= {self._today}) or ({_BY_SECOND} and c.due <= {soon})"

    def _since(self, condition: str, value: str) -> str | None:
        """Within so many days, today included."""
        if not _NUMBER.fullmatch(value):
            return None
        return condition.format(self._next_day_at - DAY_SECONDS * max(1, int(value)))

    def _introduced(self, value: str) -> str | None:
        first = "(select min(id) from revlog where cid = c.id and ease > 0)"
        return self._since(f"coalesce({first} > {{}} * 1000, 0)", value)

    def _rated(self, value: str) -> str | None:
        days, colon, button = value.partition(":")
        if colon and button not in ("1", "2", "3", "4"):
            return None
        ease = f"= {button}" if colon else "> 0"
        return self._since(f"c.id in (select cid from revlog where id >= {{}} * 1000 and ease {ease})", days)

    def _property(self, value: str) -> str | None:
        found = _PROPERTY.fullmatch(value)
        if found is None:
            return None
        name, operator, number = found.groups()
        if name == "ease":
            return f"c.factor {operator} {int(np.float32(number) * np.float32(1000))}"
        if "." in number or (name != "due" and number.startswith("-")):
            return None
        if name == "pos":
            return f"c.type = 0 and {_DUE} {operator} {number}"
        if name == "due":
            in_days = f"({_DUE} - {self._next_day_at}) / {DAY_SECONDS}"
            return (
                f"({_BY_DAY} and {_DUE} {operator} {int(number) + self._today})"
                f" or ({_BY_SECOND} and {in_days} {operator} {number})"
            )
        return f"c.{name} {operator} {number}"

    @property
    def _next_day_at(self) -> int:
        """When the day of today ends, s since 1970 UTC."""
        return _end_of_day(self._collection.day)

    @property
    def _today(self) -> int:
        """The number of today as cards that are due by the day count, from the collection's first day."""
        created = int(self._connection.execute("select crt from col").fetchone()[0])
        # both are day starts; a changed clock or day start moves one of them by less than half a day
        return round((self._next_day_at - created) / DAY_SECONDS) - 1


def _end_of_day(day: DayBoundary) -> int:
    if isinstance(day, FixedGrid):
        return day.next_day_at
    now = datetime.datetime.fromtimestamp(time.time(), ZoneInfo(day.zone))
    offset = now.utcoffset() or datetime.timedelta()
    return next_day_start(int(now.timestamp()), int(offset.total_seconds()), day.rollover)


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _pattern(value: str, wildcards: Mapping[str, str] = ANKI_WILDCARDS) -> str:
    """A regular expression for a value as written, escapes included."""
    parts = re.findall(r"\\(.)|(.)", nfc(value), re.DOTALL)
    return "".join(
        re.escape(literal) if literal else wildcards.get(letter) or re.escape(letter)
        for literal, letter in parts
    )


def _matching(names: Mapping[int, str], value: str, below: str = "") -> list[int]:
    pattern = re.compile(_pattern(value) + below, re.IGNORECASE | re.DOTALL)
    return [id_ for id_, name in names.items() if pattern.fullmatch(nfc(name))]


def _in_decks(deck_ids: Iterable[int]) -> str:
    """Cards whose home is one of the decks, and cards that are now in one of them."""
    ids = ",".join(map(str, deck_ids))
    return f"c.did in ({ids}) or c.odid in ({ids})"


def _ids(condition: str, value: str) -> str | None:
    return condition.format(value) if _IDS.fullmatch(value) else None

"""The grammar of Anki's searches: text -> a tree of terms.

Terms follow each other (and), stand with `or` between them, are negated by `-` and grouped by brackets. A
term is `key:value`; quotes go around all of it or around the value. A backslash takes the meaning away from
one of `\\ " * _ : ( ) -`. `and` binds more tightly than `or`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_LENGTH: Final = 10_000
"""Letters; a longer search is no search, and its brackets could be nested too deeply."""

_MAX_DEPTH: Final = 50
_SPACE: Final = " \t\u3000"
_ESCAPED: Final = r'\\[\\"*_:()-]'
_PLAIN: Final = rf'(?:[^\\"(){_SPACE}]|{_ESCAPED})+'
_TOKEN: Final = re.compile(
    rf"""[{_SPACE}]*(?:
        (?P<open>\() | (?P<close>\)) | (?P<minus>-(?=[^{_SPACE})-]))
        | (?P<key>(?:[^\\"(): {_SPACE}]|{_ESCAPED})+):"(?P<value>(?:[^\\"]|{_ESCAPED})*)"
        | "(?P<quoted>(?:[^\\"]|{_ESCAPED})+)"
        | (?P<plain>{_PLAIN})
        | (?P<end>$) )""",
    re.VERBOSE | re.DOTALL,
)
_KEY: Final = re.compile(r"((?:[^\\:]|\\.)+):(.*)", re.DOTALL)


class NotUnderstoodError(Exception):
    """A search, or the part of it named by the message, that is not understood here."""


@dataclass(frozen=True)
class Term:
    """key: in lower case, "" where there is none (text of a note). value: as written, escapes included."""

    key: str
    value: str
    written: str


@dataclass(frozen=True)
class Not:
    node: Node


@dataclass(frozen=True)
class All:
    """All of the nodes; of none: everything."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Any:
    """At least one of the nodes."""

    nodes: tuple[Node, ...]


Node = Term | Not | All | Any


def parse(text: str) -> Node:
    """The tree of a search. Raises NotUnderstoodError for what is no search."""
    if len(text) > MAX_LENGTH:
        raise NotUnderstoodError(f"it has more than {MAX_LENGTH:,} letters")
    node, kind, _ = _alternatives(text, 0, 0)
    if kind != "end":
        raise NotUnderstoodError("a bracket is closed that was not opened")
    return node


def _alternatives(text: str, at: int, depth: int) -> tuple[Node, str, int]:
    """Terms up to the end or a closing bracket: their tree, which of the two it was, and where it ended."""
    if depth > _MAX_DEPTH:
        raise NotUnderstoodError("its brackets are nested too deeply")
    groups: list[list[Node]] = [[]]
    joined = ""  # an `and` or `or` that waits for its right side
    while True:
        found = _TOKEN.match(text, at)
        if found is None:
            raise NotUnderstoodError(f"“{text[at : at + 40].strip()}”")
        kind, at = str(found.lastgroup), found.end()
        word = found["plain"].lower() if kind == "plain" else ""
        if kind in ("end", "close"):
            if joined:
                raise NotUnderstoodError(f"nothing comes after “{joined}”")
            if kind == "close" and not groups[0]:
                raise NotUnderstoodError("there is nothing between two brackets")
            return _of_groups(groups), kind, at
        if word in ("and", "or"):
            if joined or not groups[-1]:
                raise NotUnderstoodError(f"“{word}” does not stand between two terms")
            joined = word
            continue
        negated = kind == "minus"
        if negated:
            found = _TOKEN.match(text, at)
            if found is None:
                raise NotUnderstoodError(f"“{text[at : at + 40].strip()}”")
            kind, at = str(found.lastgroup), found.end()
        if kind == "open":
            node, ended, at = _alternatives(text, at, depth + 1)
            if ended != "close":
                raise NotUnderstoodError("a bracket is not closed")
        else:
            node = _term(found)
        if joined == "or":
            groups.append([])
        joined = ""
        groups[-1].append(Not(node) if negated else node)


def _of_groups(groups: list[list[Node]]) -> Node:
    parts = tuple(each[0] if len(each) == 1 else All(tuple(each)) for each in groups)
    return parts[0] if len(parts) == 1 else Any(parts)


def _term(found: re.Match[str]) -> Term:
    written = found.group().strip(_SPACE)
    if found["key"] is not None:
        return Term(found["key"].lower(), found["value"], written)
    text = found["quoted"] if found["quoted"] is not None else found["plain"]
    if text is None:
        raise NotUnderstoodError(f"“{written}”")
    parts = _KEY.fullmatch(text)
    return Term("", text, written) if parts is None else Term(parts[1].lower(), parts[2], written)

"""Whole numbers out of the pages of an SQLite table, for many rows at a time.

SQLite hands out one value a call, which for millions of rows costs many times what reading the file does. Its
file format is published and does not change (https://www.sqlite.org/fileformat2.html), and the tables with
reviews and cards need little of it: a table's pages are a tree, whose leaves hold the rows in the order of
their key; a row is its size, its key, the types of its values, and its values.

Nothing is decided here about what is damaged. Whatever is not exactly as expected, a value that is no whole
number as well as a page that makes no sense, is an `UnusualError`, and SQLite has to be asked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

_CHUNK_BYTES: Final = 1 << 19  # of pages at a time: what is made of them stays in the processor's cache
_INTERIOR, _LEAF = 5, 13
_HEAD_BYTES: Final = {_INTERIOR: 12, _LEAF: 8}  # of a page, before the places of its cells
_DEEPEST: Final = 20  # levels, SQLite's own limit
_ONE_BYTE: Final = 0x80  # sizes and types below this take one byte

# By the type of a value: how many bytes it has (text and blobs as well), and how far to shift eight bytes so
# that only they are left. Types 8 and 9 are the numbers 0 and 1, which need no bytes.
_TYPES = np.arange(_ONE_BYTE)
_BYTES = np.where(_TYPES >= 12, (_TYPES - 12) // 2, 0)
_BYTES[:8] = (0, 1, 2, 3, 4, 6, 8, 8)
_SHIFT: Final = np.where((_TYPES >= 1) & (_TYPES <= 6), 64 - 8 * _BYTES, 0)
_IS_WHOLE: Final = np.isin(_TYPES, (1, 2, 3, 4, 5, 6, 8, 9))
_ZERO: Final = 8

Bytes = NDArray[np.uint8]
Int64 = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]


class UnusualError(Exception):
    """The table is not one that can be read here."""


def read_columns(
    connection: sqlite3.Connection, content: BinaryIO, table: str, dtypes: Mapping[str, Any]
) -> Columns:
    """Columns of whole numbers, rows ascending by the column `id`, which must be the table's key.

    content: the file that is open in `connection`, which nobody writes to. dtypes: name -> integer type of
    the result; values beyond it are clipped to its ends. Raises UnusualError, also for what is damaged,
    sqlite3.Error where not even the table's description can be read, OSError.
    """
    layout = _layout(connection, content, table, list(dtypes))
    parts: dict[str, list[NDArray[Any]]] = {name: [np.empty(0, dtype)] for name, dtype in dtypes.items()}
    newest = -1
    try:
        for pages in _loaded(content, layout, _leaves(content, layout)):
            columns = _rows(pages, layout)
            keys = columns["id"]
            if keys[0] <= newest or (keys[1:] <= keys[:-1]).any():
                raise UnusualError("keys do not ascend")
            newest = keys[-1]
            for name, values in columns.items():
                parts[name].append(clipped(values, dtypes[name]))
    except IndexError:
        raise UnusualError("something beyond the end of a page, or a type of more than one byte") from None
    return {name: np.concatenate(parts.pop(name)) for name in dtypes}


def clipped(values: Int64, dtype: Any) -> NDArray[Any]:
    """In the dtype, values beyond it at its ends."""
    if dtype is np.int64:
        return values
    ends = np.iinfo(dtype)
    small: NDArray[Any] = values.astype(dtype)
    if not np.array_equal(small, values):
        small = np.clip(values, ends.min, ends.max).astype(dtype)
    return small


@dataclass(frozen=True)
class _Layout:
    """page_size, n_pages: of the file; usable: bytes of a page that SQLite uses. root: the table's first
    page. position: column -> its place in a row, -1 for the key."""

    page_size: int
    usable: int
    n_pages: int
    root: int
    position: dict[str, int]


def _layout(connection: sqlite3.Connection, content: BinaryIO, table: str, names: list[str]) -> _Layout:
    def number(query: str) -> int:
        found = connection.execute(query).fetchone()
        return int(found[0]) if found else 0

    described = connection.execute(f"pragma table_xinfo({table})").fetchall()
    # An index for the primary key means that the key of the rows is another one.
    indexes = connection.execute(f"pragma index_list({table})").fetchall()
    place: dict[str, int] = {}
    for place_in_row, name, kind, _, _, primary, hidden in described:
        if hidden:
            raise UnusualError("generated columns")
        is_key = primary and kind.upper() == "INTEGER"
        place[name.lower()] = -1 if is_key else place_in_row
    if not {name.lower() for name in names} <= place.keys() or any(index[3] == "pk" for index in indexes):
        raise UnusualError("other columns or another key")
    if [name for name, where in place.items() if where < 0] != ["id"]:
        raise UnusualError("the key is not the id")
    content.seek(0)
    reserved = content.read(21)[20:]
    page_size = number("pragma page_size")
    layout = _Layout(
        page_size=page_size,
        usable=page_size - (reserved[0] if reserved else 0),
        n_pages=number("pragma page_count"),
        root=number(f"select rootpage from sqlite_master where type = 'table' and name = '{table}'"),
        position={name: place[name.lower()] for name in names},
    )
    if not 2 <= layout.root <= layout.n_pages:
        raise UnusualError("no pages")
    return layout


def _loaded(content: BinaryIO, layout: _Layout, numbers: Int64) -> Iterator[Bytes]:
    """The pages of these numbers in their order, some [n, page_size] at a time, one after the other. After
    them come eight bytes of no meaning, so that eight can be taken from any place."""
    size = layout.page_size
    at_once = max(1, _CHUNK_BYTES // size)
    for begin in range(0, len(numbers), at_once):
        some = numbers[begin : begin + at_once]
        pages = np.empty(len(some) * size + 8, dtype=np.uint8)
        room = pages.data
        breaks = np.flatnonzero(np.diff(some) != 1) + 1
        for first, end in pairwise([0, *breaks.tolist(), len(some)]):
            content.seek((int(some[first]) - 1) * size)
            if content.readinto(room[first * size : end * size]) != (end - first) * size:  # type: ignore[attr-defined]
                raise UnusualError("the file ends too early")
        yield pages


def _leaves(content: BinaryIO, layout: _Layout) -> Int64:
    """Numbers of the pages with rows, in the order of the rows: the tree's last level."""
    level = np.array([layout.root])
    for _ in range(_DEEPEST):
        if next(_loaded(content, layout, level[:1]))[0] == _LEAF:
            return level
        level = np.concatenate([_children(pages, layout) for pages in _loaded(content, layout, level)])
        if level.min() < 2 or level.max() > layout.n_pages or np.bincount(level).max() > 1:
            raise UnusualError("a page that is not there, or is there twice")
    raise UnusualError("the tree is too deep")


def _children(pages: Bytes, layout: _Layout) -> Int64:
    """Of interior pages the numbers of the pages below them, in order."""
    cells, counts = _cells(pages, layout, _INTERIOR)
    rightmost = np.arange(len(counts)) * layout.page_size + 8
    places = np.insert(cells, np.cumsum(counts), rightmost)
    return _signed(_words(pages)[places]) >> 32 & 0xFFFFFFFF


def _cells(pages: Bytes, layout: _Layout, kind: int) -> tuple[Int64, Int64]:
    """Where the cells of pages of a kind begin, counted from the first page [n]; how many each page has."""
    by_page = pages[:-8].reshape(-1, layout.page_size)
    if (by_page[:, 0] != kind).any():
        raise UnusualError("a page of another kind")
    counts = by_page[:, 3].astype(np.int64) << 8 | by_page[:, 4]
    if not counts.all():  # only in a table without rows
        raise UnusualError("a page without cells")
    most, head = int(counts.max()), _HEAD_BYTES[kind]
    within_page = by_page[:, head : head + 2 * most].view(">u2").astype(np.int64)
    first_byte = np.arange(len(counts))[:, None] * layout.page_size
    return (within_page + first_byte)[np.arange(most) < counts[:, None]], counts


def _rows(pages: Bytes, layout: _Layout) -> Columns:
    """The columns of the rows in leaf pages, int64 [n] each."""
    cells, counts = _cells(pages, layout, _LEAF)
    words = _words(pages)
    size, its_bytes = _varints(words[cells])
    key_at = cells + its_bytes
    key, its_bytes = _varints(words[key_at])
    row = key_at + its_bytes
    # A row that is too long for its page goes on elsewhere, but so much of it is here in any case:
    here = np.where(size > layout.usable - 35, (layout.usable - 12) * 32 // 255 - 23, size)
    page_end = np.repeat(np.arange(len(counts)) * layout.page_size + layout.usable, counts)

    stored = [place for place in layout.position.values() if place >= 0]
    places = max(stored) + 1
    head = pages[row]
    types = np.lib.stride_tricks.sliding_window_view(pages, places)[row + 1].T.copy()  # [place in the row, n]
    fine = (head > places) & (head < _ONE_BYTE) & _IS_WHOLE.take(types[stored]).all(axis=0)
    columns = {-1: key}
    at = row + head
    for place, kind in enumerate(types):
        if place in stored:
            number = _signed(words[at])
            number >>= _SHIFT.take(kind)
            columns[place] = np.where(kind >= _ZERO, kind - _ZERO, number)
        at += _BYTES.take(kind)
    if not (fine & (at <= row + here) & (row + here <= page_end)).all():
        raise UnusualError("a row that is not as expected")
    return {name: columns[place] for name, place in layout.position.items()}


def _words(pages: Bytes) -> NDArray[np.uint64]:
    """The eight bytes from each place on, as one big-endian number."""
    return np.ndarray(len(pages) - 7, dtype=">u8", buffer=pages, strides=(1,))


def _signed(words: NDArray[np.uint64]) -> Int64:
    return words.astype(np.uint64).view(np.int64)


def _varints(words: NDArray[np.uint64]) -> tuple[Int64, Int64]:
    """Numbers in SQLite's variable length, of which `words` are the first eight bytes; the bytes of each.

    Seven bits a byte, the highest first; the highest bit of a byte says that more follow. Nine bytes (numbers
    from 2^56 on, and negative ones) are unusual.
    """
    x = words.astype(np.uint64)
    if x.max() < 1 << 63:
        return (x >> np.uint64(56)).view(np.int64), np.ones(len(x), dtype=np.int64)
    ends = ~x & np.uint64(0x8080808080808080)
    if not ends.all():
        raise UnusualError("a number of nine bytes")
    # The exponent of a floating-point number is the place of its highest bit: that of the byte that ends it.
    its_bytes = 8 - ((ends.astype(np.float64).view(np.int64) >> 52) - 1023 >> 3)
    x >>= (64 - 8 * its_bytes).astype(np.uint64)
    for low, high, by in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    ):
        x = x & np.uint64(low) | (x & np.uint64(high)) >> np.uint64(by)
    return x.view(np.int64), its_bytes

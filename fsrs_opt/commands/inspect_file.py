"""What a file holds: rows, decks, presets, days, and what would be trained."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.commands.current import of_presets, preset_in_force, preset_of_cards
from fsrs_opt.commands.dates import review_dates
from fsrs_opt.reviews import log as review_log
from fsrs_opt.reviews.history import Histories, histories
from fsrs_opt.reviews.items import items
from fsrs_opt.sources import read
from fsrs_opt.training.ladder import rung

if TYPE_CHECKING:
    from fsrs_opt.reviews.log import ReviewLog
    from fsrs_opt.sources.collection import Collection, Deck, Preset

KINDS = ("learning", "review", "relearning", "filtered", "manual", "rescheduled")
OTHER_KIND = "unknown"

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """Counts of a part of a collection.

    cards: in the collection (for deleted cards: in the review log). reviews: answers. items: to train on.
    """

    cards: int
    reviews: int
    items: int


@dataclass(frozen=True)
class Inspection:
    """What a file holds.

    kinds: rows of the review log by kind. reviews: rows with an answer. first, last: days of the first and
    last answer, None without any. months: answers by month "YYYY-MM", from the first month to the last, none
    left out. All three are empty where the file tells days but no dates. decks, presets: with their own
    counts (a deck's without its subdecks), in the order of their names. deleted: what belongs to cards that
    are no longer in the collection. rung: "all", "pretrain" or "defaults", how far the whole collection's
    items allow to go. messages: sentences that a user should read.
    """

    collection: Collection
    histories: Histories
    kinds: dict[str, int]
    reviews: int
    items: int
    first: datetime.date | None
    last: datetime.date | None
    months: dict[str, int]
    decks: tuple[tuple[Deck, Part], ...]
    presets: tuple[tuple[Preset, Part], ...]
    deleted: Part | None
    rung: str
    messages: tuple[str, ...]


def inspect_file(
    source: str | Path | Collection, *, timezone: str | None = None, day_start: int | str | None = None
) -> Inspection:
    """Look at a file (see `fsrs_opt.sources.read`) or at what `read` gave. Nothing is trained.

    Raises SourceError for a file that cannot be read, UsageError for a zone or hour that is none.
    """
    if isinstance(source, str | Path):
        collection = read(source, timezone=timezone, day_start=day_start)
    else:
        collection = source
    log = collection.log
    past = histories(log, collection.day.day_of)
    chosen = items(past)
    kind, answered = log["kind"], answers(log)
    kinds = {name: int(np.count_nonzero(kind == k)) for k, name in enumerate(KINDS)}
    kinds[OTHER_KIND] = len(log) - sum(kinds.values())

    time = log["review_time"][answered]
    months: dict[str, int] = {}
    first = last = None
    if len(time) and "day" not in log:
        dates = review_dates(time, collection.day)
        first, last = dates.min().item(), dates.max().item()
        months = _by_month(dates)
    counted = Counted(
        collection,
        log["card_id"][answered],
        past.card_id[chosen.card],
    )
    how_far, said = rung(chosen)
    _, ignored = of_presets(collection, preset_in_force(collection, past.card_id))
    return Inspection(
        collection=collection,
        histories=past,
        kinds=kinds,
        reviews=int(np.count_nonzero(answered)),
        items=len(chosen),
        first=first,
        last=last,
        months=months,
        decks=counted.decks(),
        presets=counted.presets(),
        deleted=counted.deleted(),
        rung=how_far,
        messages=(*collection.source.notes, *ignored, *said),
    )


def answers(log: ReviewLog) -> npt.NDArray[np.bool_]:
    """Which rows of a review log are answers, bool [n]."""
    kind, rating = log["kind"], log["rating"]
    rated: npt.NDArray[np.bool_] = (rating >= 1) & (rating <= 4)
    return rated & (kind >= review_log.LEARNING) & (kind <= review_log.FILTERED)


def _by_month(dates: npt.NDArray[np.datetime64[Any]]) -> dict[str, int]:
    month = dates.astype("datetime64[M]").astype(np.int64)
    counts = np.bincount(month - month.min())
    names = (np.arange(len(counts)) + month.min()).astype("datetime64[M]")
    return dict(zip(names.astype(str).tolist(), counts.tolist(), strict=True))


class Counted:
    """Cards, answers and items of each card of a collection, added up by deck and by preset."""

    def __init__(self, collection: Collection, reviewed: Int64, item_card: Int64) -> None:
        """reviewed [n_answers], item_card [n_items]: the card id of each."""
        self._collection = collection
        self._cards = collection.cards
        if self._cards is None:
            return
        self._ids = self._cards["card_id"]  # which ascend
        self._deck = self._cards["deck_id"]
        self._preset = preset_of_cards(collection, self._ids)
        self._reviews, gone, reviews_left = self._per_card(reviewed)
        self._items, _, items_left = self._per_card(item_card)
        self._deleted = Part(gone, reviews_left, items_left)

    def _per_card(self, card_id: Int64) -> tuple[Int64, int, int]:
        """How often each card of the collection occurs; how many other cards do, and how often together."""
        ids, counts = np.unique(card_id, return_counts=True)
        per_card = np.zeros(len(self._ids), dtype=np.int64)
        if not len(self._ids):
            return per_card, len(ids), len(card_id)
        place = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        there = self._ids[place] == ids
        per_card[place[there]] = counts[there]
        return per_card, int(np.count_nonzero(~there)), int(counts[~there].sum())

    def _part(self, mine: npt.NDArray[np.bool_]) -> Part:
        return Part(
            int(np.count_nonzero(mine)),
            int(self._reviews[mine].sum()),
            int(self._items[mine].sum()),
        )

    def decks(self) -> tuple[tuple[Deck, Part], ...]:
        if self._cards is None:
            return ()
        decks = sorted(self._collection.decks.values(), key=lambda deck: deck.name.casefold())
        return tuple((deck, self._part(self._deck == deck.id)) for deck in decks)

    def presets(self) -> tuple[tuple[Preset, Part], ...]:
        if self._cards is None:
            return ()
        presets = sorted(self._collection.presets.values(), key=lambda preset: preset.name.casefold())
        return tuple((preset, self._part(self._preset == preset.id)) for preset in presets)

    def deleted(self) -> Part | None:
        return None if self._cards is None else self._deleted

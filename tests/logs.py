"""Real review logs, made-up histories, and items in the form of the peer fsrs-rs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fsrs_opt.reviews import log as review_log
from fsrs_opt.reviews.history import Histories, histories
from fsrs_opt.reviews.items import Items, items

DAY_MS = 86_400_000


def history_of(*cards: Sequence[tuple[int, int]]) -> Histories:
    """cards: per card its reviews (rating, delta_t); all start on day 0, card ids 1, 2, ..."""
    rows = []
    for card, reviews in enumerate(cards, start=1):
        days = np.cumsum([delta_t for _, delta_t in reviews])
        rows += [
            (card, int(day) * DAY_MS + place, int(place > 0), rating)
            for place, (day, (rating, _)) in enumerate(zip(days, reviews, strict=True))
        ]
    card_id, review_time, kind, rating = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    log = review_log.make({"card_id": card_id, "review_time": review_time, "kind": kind, "rating": rating})
    return histories(log, lambda ms: ms // DAY_MS)


def real_index(folder: Path) -> list[dict[str, str]]:
    """The rows of the real logs' index: name, day_start_utc_secs, fsrs_items and more."""
    with (folder / "index.csv").open(newline="") as index:
        return list(csv.DictReader(index))


def real_log(folder: Path, name: str) -> Histories:
    """The histories of a real log. Days are 24 hours from the log's own day start (04:00 UTC where it is not
    known); a review in the first second after a boundary belongs to the day before."""
    day_start = next(row["day_start_utc_secs"] for row in real_index(folder) if row["name"] == name)
    frame = pd.read_parquet(folder / f"{name}.parquet")
    log = review_log.make(
        {
            "review_time": frame["id"].to_numpy(),
            "card_id": frame["cid"].to_numpy(),
            "rating": frame["ease"].to_numpy(),
            "kind": frame["type"].to_numpy(),
            "factor": frame["factor"].to_numpy(),
        }
    )
    boundary = int(float(day_start)) if day_start else 4 * 3600
    next_day_at = boundary + (int(frame["id"].max()) // 1000 // 86_400 + 2) * 86_400
    return histories(log, lambda ms: -(np.maximum(0, next_day_at - ms // 1000) // 86_400))


def fsrs_rs_items(fsrs_rs: Any, h: Histories, of: Items | None = None) -> tuple[list[Any], list[int]]:
    """The items as fsrs-rs takes them, and their card ids."""
    of = items(h) if of is None else of
    rating, delta_t = h.rating.tolist(), h.delta_t.tolist()
    found = []
    for start, review in zip(h.offsets[of.card].tolist(), of.review.tolist(), strict=True):
        found.append(
            fsrs_rs.FSRSItem([fsrs_rs.FSRSReview(rating[i], delta_t[i]) for i in range(start, review + 1)])
        )
    return found, h.card_id[of.card].tolist()

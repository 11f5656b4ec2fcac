"""Small review logs, a data set of users, and an engine that works in this process."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pandas as pd

from fsrs_opt.batch import job, work
from fsrs_opt.batch.tasks import Options, Order, Outcome

DAY_MS = 86_400_000


def write_log(path: Path, *, seed: int = 0, cards: int = 30) -> Path:
    """A CSV log: each card answered six times, on later and later days."""
    random = np.random.default_rng(seed)
    days = np.cumsum(np.pad(random.integers(1, 12, size=(cards, 5)), ((0, 0), (1, 0))), axis=1)
    place = np.broadcast_to(np.arange(6), days.shape)
    card = np.broadcast_to(np.arange(cards)[:, None], days.shape)
    table = pd.DataFrame(
        {
            "card_id": card.ravel(),
            "review_time": (1_600_000_000_000 + days * DAY_MS + card * 10 + place).ravel(),
            "review_rating": np.where(random.random(days.size) < 0.85, 3, 1),
            "review_state": np.where(place.ravel() == 0, 1, 2),
        }
    )
    table.to_csv(path, index=False)
    return path


def write_user(
    root: Path, user: int, *, seed: int = 0, decks: tuple[int, ...] = (7, 8), files: int = 2
) -> Path:
    """One user of the research data set, the log in several files, the cards in turn in the decks. Deck d has
    preset d + 100. Returns the user's folder of reviews."""
    random = np.random.default_rng(seed)
    rows = []
    for card in range(40):
        day = 0
        for place in range(6):
            day += 0 if place == 0 else int(random.integers(1, 10))
            rating = 3 if random.random() < 0.8 else 1
            rows.append((day, card, rating, 1 if place == 0 else 2))
    rows.sort()
    table = pd.DataFrame(rows, columns=["day_offset", "card_id", "rating", "state"])
    table["duration"], table["elapsed_days"], table["elapsed_seconds"] = 5000, 0, 0
    folder = root / "revlogs" / f"user_id={user}"
    folder.mkdir(parents=True)
    for k, part in enumerate(np.array_split(np.arange(len(table)), files)):
        table.iloc[part].to_parquet(folder / f"part-{k}.parquet")
    cards = pd.DataFrame(
        {"card_id": range(40), "note_id": range(40), "deck_id": [decks[c % len(decks)] for c in range(40)]}
    )
    known = pd.DataFrame({"deck_id": decks, "parent_id": 0, "preset_id": [deck + 100 for deck in decks]})
    for name, other in (("cards", cards), ("decks", known)):
        (root / name / folder.name).mkdir(parents=True)
        other.to_parquet(root / name / folder.name / "part-0.parquet")
    return folder


class Inline:
    """Does orders one after another in this process, and remembers their paths."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def run(self, orders: list[Order]) -> Generator[Outcome | None, None, None]:
        for order in orders:
            self.did.append(Path(order.task.path).name)
            yield work.run(order)


def run(
    paths: list[Path] | list[str], out: Path, options: Options | None = None, **more: object
) -> tuple[job.Standing, list[str]]:
    """A job in this process: where it stands, and the names of the files that were worked on, sorted."""
    engine = Inline()
    standing = job.run(paths, out, Options() if options is None else options, lambda: engine, **more)  # type: ignore[arg-type]
    return standing, sorted(engine.did)

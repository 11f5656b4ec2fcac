"""Review logs at the edges of what there is: little, one-sided, or with names that are markup."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from fsrs_opt.model.parameters import DEFAULTS

DAY_MS = 86_400_000
START = 1_500_000_000_000  # 14 July 2017

Answer = Callable[[np.random.Generator, float], int]
"""The button for a review whose true retrievability is given."""


def honest(rng: np.random.Generator, recall: float) -> int:
    return int(rng.choice([2, 3, 3, 3, 4])) if rng.random() < recall else 1


def always_good(_rng: np.random.Generator, _recall: float) -> int:
    return 3


def always_again(_rng: np.random.Generator, _recall: float) -> int:
    return 1


def log(
    path: Path, *, cards: int, reviews: int, answer: Answer = honest, first: tuple[int, ...] = (1, 2, 3, 4)
) -> Path:
    """A CSV file of reviews. first: the buttons of the first reviews, dealt out in turn. Delays double after
    each recall, and recall falls with the power curve of the defaults at that stability."""
    rng = np.random.default_rng(7)
    rows = ["card_id,review_time,review_rating,review_state"]
    for card in range(1, cards + 1):
        day = int(rng.integers(0, 3 * cards + 1))
        rating, stability = first[card % len(first)], DEFAULTS[first[card % len(first)] - 1]
        rows.append(f"{card},{START + day * DAY_MS + card * 1000},{rating},1")
        for _ in range(reviews - 1):
            delay = max(1, round(stability * rng.uniform(0.6, 2.0)))
            recall = (1 + (0.9 ** (-1 / DEFAULTS[20]) - 1) * delay / stability) ** -DEFAULTS[20]
            rating = answer(rng, float(recall))
            stability = min(40.0, stability * 2) if rating > 1 else 1.0
            day += delay
            rows.append(f"{card},{START + day * DAY_MS + card * 1000},{rating},2")
    path.write_text("\n".join(rows) + "\n")
    return path


def edges(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and file of every edge case."""
    yield "all recalled", log(folder / "recalled.csv", cards=60, reviews=6, answer=always_good)
    yield "all forgotten", log(folder / "forgotten.csv", cards=60, reviews=6, answer=always_again)
    yield "one card", log(folder / "card.csv", cards=1, reviews=40)
    yield "ten items", log(folder / "ten.csv", cards=5, reviews=3)
    yield "one item", log(folder / "item.csv", cards=1, reviews=2)
    yield "one first rating", log(folder / "rating.csv", cards=120, reviews=5, first=(3,))

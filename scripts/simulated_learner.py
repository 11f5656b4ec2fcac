"""A learner who remembers by FSRS-6 with known parameters, in plain Python."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

AGAIN, HARD, GOOD, EASY = 1, 2, 3, 4
RATINGS = (AGAIN, HARD, GOOD, EASY)
FIRST_RATING_SHARES = (28, 12, 46, 14)
"""How often a card that was never seen gets Again, Hard, Good, Easy (percent)."""

S_MIN, S_MAX = 0.001, 36500.0
D_MIN, D_MAX = 1.0, 10.0

SAME_DAY_RECALL = 0.88
"""Chance to recall a card that was answered earlier on the same day. FSRS says nothing about it."""


@dataclass(frozen=True)
class Memory:
    """What the learner knows of a card after a review on `day`: stability in days, difficulty 1 to 10."""

    stability: float
    difficulty: float
    day: int


def retrievability(w: Sequence[float], delta_t: float, stability: float) -> float:
    """Chance to recall after `delta_t` days; 0.9 when `delta_t` equals the stability."""
    decay = -w[20]
    factor = 0.9 ** (1 / decay) - 1
    return float((1 + factor * delta_t / stability) ** decay)


def initial_difficulty(w: Sequence[float], rating: int) -> float:
    """Difficulty after a first review, not yet brought into its range."""
    return w[4] - math.exp(w[5] * (rating - 1)) + 1


def next_stability(w: Sequence[float], memory: Memory, delta_t: int, rating: int) -> float:
    """Stability after a later review, `delta_t` days after the last one, not yet brought into its range."""
    s, d = memory.stability, memory.difficulty
    if delta_t == 0:
        increase = math.exp(w[17] * (rating - 3 + w[18])) * s ** -w[19]
        return s * (increase if rating == AGAIN else max(increase, 1.0))
    forgotten = 1 - retrievability(w, delta_t, s)
    if rating == AGAIN:
        after_lapse = w[11] * d ** -w[12] * ((s + 1) ** w[13] - 1) * math.exp(w[14] * forgotten)
        return min(after_lapse, s / math.exp(w[17] * w[18]))
    bonus = {HARD: w[15], GOOD: 1.0, EASY: w[16]}[rating]
    return s * (1 + math.exp(w[8]) * (11 - d) * s ** -w[9] * (math.exp(w[10] * forgotten) - 1) * bonus)


def next_difficulty(w: Sequence[float], difficulty: float, rating: int) -> float:
    """Difficulty after a later review, not yet brought into its range."""
    moved = difficulty - w[6] * (rating - 3) * (10 - difficulty) / 9
    return w[7] * (initial_difficulty(w, EASY) - moved) + moved


def after_review(w: Sequence[float], memory: Memory | None, day: int, rating: int) -> Memory:
    """The memory after a review on `day`; `memory` is None for a card's first review."""
    if memory is None:
        stability, difficulty = w[rating - 1], initial_difficulty(w, rating)
    else:
        stability = next_stability(w, memory, day - memory.day, rating)
        difficulty = next_difficulty(w, memory.difficulty, rating)
    return Memory(min(max(stability, S_MIN), S_MAX), min(max(difficulty, D_MIN), D_MAX), day)


class Learner:
    """Answers cards: recalls with the chance that the memory has, and rates by how hard the card is."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._memories: dict[int, Memory] = {}

    def answer(self, card: int, w: Sequence[float], day: int) -> int:
        """The rating for `card` on `day`, whose memory follows the parameters `w`."""
        memory = self._memories.get(card)
        if memory is None:
            rating = self.random.choices(RATINGS, FIRST_RATING_SHARES)[0]
        elif self.random.random() < self._recall(w, memory, day):
            hard = 4 + 2.2 * (memory.difficulty - 1)
            easy = 2 + 2.0 * (10 - memory.difficulty)
            rating = self.random.choices((HARD, GOOD, EASY), (hard, 100 - hard - easy, easy))[0]
        else:
            rating = AGAIN
        self._memories[card] = after_review(w, memory, day, rating)
        return rating

    def start_over(self, card: int) -> None:
        """The card was made new again: the learner takes it for one that was never seen."""
        self._memories.pop(card, None)

    @staticmethod
    def _recall(w: Sequence[float], memory: Memory, day: int) -> float:
        delta_t = day - memory.day
        return retrievability(w, delta_t, memory.stability) if delta_t > 0 else SAME_DAY_RECALL

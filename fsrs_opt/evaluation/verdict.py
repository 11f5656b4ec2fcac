"""Keep or change: decided on held-out reviews, with an interval that knows that a card's reviews hang together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PairedDifference:
    """Mean of (log loss of A - log loss of B) over the same held-out items, in nats: positive when B is better.

    low, high: 95 % interval, clustered by card. standard_error: of the mean. n_items, n_cards: behind it.
    """

    mean: float
    low: float
    high: float
    standard_error: float
    n_items: int
    n_cards: int


@dataclass(frozen=True)
class Workload:
    """Reviews a day that today's memory states ask for at the desired retention, under each set: an estimate.

    current, new: sum over the cards of 1 / interval. cards: how many cards. desired_retention: the mean of
    what their presets ask for.
    """

    current: float
    new: float
    cards: int
    desired_retention: float


@dataclass(frozen=True)
class Verdict:
    """decision: "change", "keep" or "not enough data"; sentence: the same for a reader.

    basis: "held-out", or "in-sample" where no splits were made. against: what the new parameters are compared
    with, "current" or "default". gain: log loss of `against` less that of new, held-out. gain_over_constant: log
    loss of the constant baseline less that of new. Both None without held-out items.
    fewer_surprises, fewer_surprises_low, fewer_surprises_high: `gain` in bits per 1,000 reviews (1 bit: the
    surprise of a coin toss), with its 95 % interval. workload: None without cards to schedule.
    advice: sentences on which data would help, may be empty.
    """

    decision: str
    sentence: str
    basis: str
    against: str
    gain: PairedDifference | None
    gain_over_constant: PairedDifference | None
    fewer_surprises: float | None
    fewer_surprises_low: float | None
    fewer_surprises_high: float | None
    workload: Workload | None
    advice: tuple[str, ...]

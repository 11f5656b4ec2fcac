"""Keep or change: decided on held-out reviews, with an interval that knows that a card's reviews hang
together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation.advice import MIN_CARDS, MIN_HELD_OUT, MIN_OF_EACH_OUTCOME, advice
from fsrs_opt.evaluation.paired import SURPRISES_PER_NAT, PairedDifference, paired_difference
from fsrs_opt.evaluation.time_series import TimeSeries
from fsrs_opt.evaluation.workload import Workload

FloatArray = npt.NDArray[np.float64]


OVER_CONSTANT_LEVEL = 0.99
"""How sure it must be that memory has a say at all, before anything is changed for its sake."""


UNSEEN = "on reviews that they had not seen"


@dataclass(frozen=True)
class Verdict:
    """decision: "change", "keep" or "not enough data"; sentence: the same for a reader.

    basis: "held-out", or "in-sample" where no splits were made. against: what the new parameters are compared
    with, "current" or "default". gain: log loss of `against` less that of new, held-out. gain_over_constant:
    log loss of the constant baseline less that of new (99 % interval). Both None without held-out items.
    fewer_surprises, fewer_surprises_low, fewer_surprises_high: `gain` in bits per 1,000 reviews (1 bit: the
    surprise of a coin toss), with its 95 % interval. workload: None without cards to schedule.
    advice: sentences on which data would help, may be empty.
    """

    decision: str
    sentence: str
    basis: str
    against: str
    gain: PairedDifference | None = None
    gain_over_constant: PairedDifference | None = None
    fewer_surprises: float | None = None
    fewer_surprises_low: float | None = None
    fewer_surprises_high: float | None = None
    workload: Workload | None = None
    advice: tuple[str, ...] = ()


def held_out_verdict(
    series: TimeSeries,
    *,
    rung: str,
    in_sample_gain: float | None,
    workload: Workload | None = None,
    n_items: int,
    data_share: FloatArray | None = None,
) -> Verdict:
    """What to do, decided on the held-out items.

    rung: of the fit to all items. in_sample_gain: recency-weighted log loss of the parameters in use less
    that of the new ones on all items; the new ones must lower that too. n_items: all items. data_share: of
    each parameter [21], percent, for the advice. The rules: docs/evaluation.md.
    """
    against = "current" if "current" in series.predictions else "default"
    yours = "your current parameters" if against == "current" else "the defaults"
    # parameters that were given, not fitted here, may have been fitted to anything
    where = UNSEEN if series.fits else "on these reviews, which they may have been fitted to"
    gain = over_constant = None
    if series.n_held_out:
        new = series.predictions["new"]
        gain = paired_difference(series.label, series.predictions[against], new, series.card)
        over_constant = paired_difference(
            series.label, series.predictions["constant"], new, series.card, level=OVER_CONSTANT_LEVEL
        )

    if rung == "defaults" or gain is None or over_constant is None or not _enough(series, gain):
        decision = "not enough data"
        sentence = f"Not enough data: {_how_little(series, n_items)}; keep {yours} and study on."
    elif gain.low > 0 and over_constant.low > 0 and in_sample_gain is not None and in_sample_gain > 0:
        decision = "change"
        sentence = (
            f"Change: {where}, the new parameters predict better than {yours}:"
            f" of 1,000 reviews, expect about {fewer(gain)}."
        )
    else:
        decision = "keep"
        sentence = f"Keep {yours}: {_why_keep(gain, over_constant, where)}."
    if decision == "change" and workload is not None:
        sentence += " " + workload.sentence()
    bits = SURPRISES_PER_NAT
    return Verdict(
        decision=decision,
        sentence=sentence,
        basis="held-out",
        against=against,
        gain=gain,
        gain_over_constant=over_constant,
        fewer_surprises=None if gain is None else gain.mean * bits,
        fewer_surprises_low=None if gain is None or math.isinf(gain.low) else gain.low * bits,
        fewer_surprises_high=None if gain is None or math.isinf(gain.high) else gain.high * bits,
        workload=workload,
        advice=tuple(
            advice(decision, gain, n_items=n_items, n_held_out=series.n_held_out, data_share=data_share)
        ),
    )


def in_sample_verdict(*, rung: str, in_sample_gain: float | None, in_use: bool, n_items: int) -> Verdict:
    """What to do where no splits were made: the new parameters must lower the log loss on the items that they
    were fitted to, which is a weaker test. Arguments as of `held_out_verdict`; in_use: there are current
    ones."""
    against, yours = ("current", "your current parameters") if in_use else ("default", "the defaults")
    if rung == "defaults":
        decision = "not enough data"
        items = "1 item" if n_items == 1 else f"{n_items:,} items"
        sentence = f"Not enough data: {items}; keep {yours} and study on."
    elif in_sample_gain is None or in_sample_gain <= 0:
        decision = "keep"
        sentence = f"Keep {yours}: the new ones do not predict your reviews better."
    else:
        decision = "change"
        sentence = (
            f"Change: the new parameters predict your reviews better than {yours} (log loss lower by"
            f" {in_sample_gain:.4f}, in-sample; held-out reviews were not looked at)."
        )
    return Verdict(decision, sentence, "in-sample", against)


def _enough(series: TimeSeries, gain: PairedDifference) -> bool:
    recalled = int(np.count_nonzero(series.label))
    rarer = min(recalled, series.n_held_out - recalled)
    return gain.n_items >= MIN_HELD_OUT and gain.n_cards >= MIN_CARDS and rarer >= MIN_OF_EACH_OUTCOME


def _how_little(series: TimeSeries, n_items: int) -> str:
    if series.n_held_out < MIN_HELD_OUT:
        items = "1 item leaves" if n_items == 1 else f"{n_items:,} items leave"
        return f"{items} {series.n_held_out} held-out reviews ({MIN_HELD_OUT} are needed)"
    n_cards = len(np.unique(series.card))
    if n_cards < MIN_CARDS:
        return f"the held-out reviews are of {n_cards} cards ({MIN_CARDS} are needed)"
    recalled = int(np.count_nonzero(series.label))
    forgotten = series.n_held_out - recalled
    rarer, what = min((forgotten, "forgotten"), (recalled, "recalled"))
    return (
        f"{f'only {rarer}' if rarer else 'none'} of the {series.n_held_out:,} held-out reviews were {what}"
        f" ({MIN_OF_EACH_OUTCOME} are needed)"
    )


def _why_keep(gain: PairedDifference, over_constant: PairedDifference, where: str) -> str:
    if gain.low > 0 and over_constant.low <= 0:
        return (
            f"{where}, the new ones predict no better than your average recall does,"
            " so that nothing in your reviews speaks for them"
        )
    if gain.low > 0:
        return "the new ones do not predict the reviews better that they were fitted to"
    if gain.high < 0:
        return f"{where}, the new ones predict worse ({between(gain)} in 1,000 reviews)"
    return f"{where}, the new ones are not clearly better ({between(gain)} in 1,000 reviews)"


def fewer(gain: PairedDifference) -> str:
    """Gain and interval in words, both above 0, e.g. "13 fewer surprises (7 to 19)"."""
    mean, low, high = (
        f"{nats * SURPRISES_PER_NAT:.{_digits(gain)}f}" for nats in (gain.mean, gain.low, gain.high)
    )
    return f"{mean} fewer surprises ({low} to {high})"


def between(gain: PairedDifference) -> str:
    """The interval in words, e.g. "between 2 more and 5 fewer surprises"."""
    digits = _digits(gain)
    low, high = gain.low * SURPRISES_PER_NAT, gain.high * SURPRISES_PER_NAT
    if high <= 0:
        return f"{-high:.{digits}f} to {-low:.{digits}f} more surprises"
    return f"between {-low:.{digits}f} more and {high:.{digits}f} fewer surprises"


def _digits(gain: PairedDifference) -> int:
    return 0 if abs(gain.high - gain.low) * SURPRISES_PER_NAT >= 10 else 1

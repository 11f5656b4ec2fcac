"""The decision: each rule by a made-up series, and the rates over simulated users."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fsrs_opt.evaluation import metrics
from fsrs_opt.evaluation.advice import rough
from fsrs_opt.evaluation.score import predict_items
from fsrs_opt.evaluation.time_series import SplitFit, TimeSeries, no_time_series, time_series
from fsrs_opt.evaluation.verdict import Verdict, held_out_verdict, in_sample_verdict
from fsrs_opt.evaluation.workload import Workload
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews.history import Histories
from fsrs_opt.training.data import training_set
from fsrs_opt.training.fit import fit
from tests.evaluation.made_up import FAR_FROM_DEFAULTS, schedule, shuffled, simulate

N = 600


def made_up(*, new: float, old: float, n: int = N, cards: int = 100, against: str = "current") -> TimeSeries:
    """Two kinds of reviews, of which 95 % and 65 % are recalled; the predictions say so with a strength of 1
    (right), 0 (the mean for both) or anything else."""
    kind = np.arange(n) % 2
    label = np.random.default_rng(1).random(n) < np.where(kind == 0, 0.95, 0.65)

    def says(strength: float) -> np.ndarray:
        return 0.8 + strength * np.where(kind == 0, 0.15, -0.15)

    predictions = {"new": says(new), against: says(old), "constant": says(0)}
    predictions.setdefault("default", says(old))
    return TimeSeries(
        fits=(SplitFit(DEFAULTS, n // 5, n, "all"),),
        first=n // 5,
        split=np.zeros(n, dtype=np.int8),
        label=label,
        card=np.arange(n) // 2 % cards,
        predictions=predictions,
        of_fit=says(new)[None],
    )


def decide(series: TimeSeries, *, rung: str = "all", in_sample_gain: float | None = 0.01, **more) -> Verdict:
    return held_out_verdict(
        series, rung=rung, in_sample_gain=in_sample_gain, n_items=series.n_held_out * 6 // 5, **more
    )


def test_clearly_better_is_a_change():
    found = decide(made_up(new=1, old=-1))
    assert found.decision == "change"
    assert found.against == "current"
    assert found.gain.low > 0
    assert found.fewer_surprises == pytest.approx(found.gain.mean * 1000 / math.log(2))
    assert found.fewer_surprises_low < found.fewer_surprises < found.fewer_surprises_high
    assert "your current parameters" in found.sentence
    assert f"about {found.fewer_surprises:.0f} fewer surprises" in found.sentence


def test_against_the_defaults_where_nothing_is_in_use():
    found = decide(made_up(new=1, old=-1, against="default"))
    assert found.against == "default"
    assert "the defaults" in found.sentence


def test_worse_or_equal_is_kept():
    worse = decide(made_up(new=-1, old=1))
    assert worse.decision == "keep"
    assert "worse" in worse.sentence
    assert "more surprises" in worse.sentence
    equal = decide(made_up(new=1, old=0.98))
    assert equal.decision == "keep"
    assert "not clearly better" in equal.sentence


def test_better_than_bad_parameters_is_not_enough_where_the_mean_is_as_good():
    """A fit to outcomes without memory learns their mean, which beats a set that says something wrong."""
    found = decide(made_up(new=0, old=-1))
    assert found.gain.low > 0
    assert found.decision == "keep"
    assert "average recall" in found.sentence


@pytest.mark.parametrize("gain", [0.0, -0.01, None])
def test_what_does_not_fit_better_in_sample_is_never_recommended(gain):
    assert decide(made_up(new=1, old=-1), in_sample_gain=gain).decision == "keep"


def test_too_little_to_decide_says_what_is_missing():
    few = decide(made_up(new=1, old=-1, n=90))
    assert few.decision == "not enough data"
    assert "90 held-out" in few.sentence
    assert any("more reviews" in advice for advice in few.advice)
    few_cards = decide(made_up(new=1, old=-1, cards=19))
    assert few_cards.decision == "not enough data"
    assert "19 cards" in few_cards.sentence
    nothing = decide(no_time_series(4))
    assert nothing.decision == "not enough data"
    assert nothing.gain is None
    assert decide(made_up(new=1, old=-1), rung="defaults").decision == "not enough data"


def test_one_outcome_is_too_little():
    series = made_up(new=1, old=-1)
    series.label[:] = True
    found = decide(series)
    assert found.decision == "not enough data"
    assert "none of the 600 held-out reviews were forgotten" in found.sentence


def test_the_reviews_a_day_are_told_with_a_change():
    work = Workload(50.0, 60.0, 100, 0.9)
    assert decide(made_up(new=1, old=-1), workload=work).sentence.endswith(
        "20 % more reviews a day (an estimate)."
    )
    assert "reviews a day" not in decide(made_up(new=-1, old=1), workload=work).sentence


def test_advice_names_what_the_reviews_tell_least_about():
    share = np.full(21, 80.0)
    share[0], share[17:20] = 3.0, 10.0
    advice = " ".join(decide(made_up(new=1, old=-1), data_share=share).advice)
    assert "cards whose first answer is Again" in advice
    assert "repeated on the same day" in advice
    assert "Easy" not in advice
    share[0] = np.nan
    assert "Again" not in " ".join(decide(made_up(new=1, old=-1), data_share=share).advice)


def test_a_likely_gain_says_how_many_more_reviews_would_settle_it():
    found = decide(made_up(new=1, old=0.8))
    assert found.decision == "keep"
    assert found.gain.mean > 0
    half = (found.gain.high - found.gain.mean) / found.gain.mean
    expected = rough(N * 6 / 5 * (half**2 - 1))
    assert f"about {expected:,} more reviews" in " ".join(found.advice)


@pytest.mark.parametrize(("number", "said"), [(0.2, 1), (7, 7), (99, 99), (1234, 1200), (12_849, 13_000)])
def test_rough_numbers(number, said):
    assert rough(number) == said


def test_in_sample_verdict():
    better = in_sample_verdict(rung="all", in_sample_gain=0.01, in_use=True, n_items=500)
    assert (better.decision, better.basis) == ("change", "in-sample")
    assert "in-sample" in better.sentence
    worse = in_sample_verdict(rung="all", in_sample_gain=0.0, in_use=False, n_items=500)
    assert (worse.decision, worse.against) == ("keep", "default")
    few = in_sample_verdict(rung="defaults", in_sample_gain=0.01, in_use=False, n_items=5)
    assert few.decision == "not enough data"


# --- over simulated users; scripts/verdict_simulation.py does the same with more of them ---

SEEDS = range(30)


def judge(h: Histories) -> Verdict:
    data = training_set(h)
    fitted = fit(data)
    label, weights = data.items.label, data.weights
    gain = metrics.log_loss(label, predict_items(data, DEFAULTS), weights) - metrics.log_loss(
        label, predict_items(data, fitted.parameters), weights
    )
    return held_out_verdict(time_series(data, fit), rung=fitted.rung, in_sample_gain=gain, n_items=len(data))


def test_shuffled_outcomes_are_never_a_reason_to_change():
    """Although the fit to them is better than the defaults: it learns their mean."""
    verdicts = [
        judge(shuffled(simulate(schedule(160, seed), FAR_FROM_DEFAULTS, seed), seed)) for seed in SEEDS
    ]
    assert [one.decision for one in verdicts].count("change") == 0
    assert sum(one.gain.low > 0 for one in verdicts) > 20  # the trap is real


def test_parameters_far_from_the_defaults_are_found_from_2000_items():
    histories = [simulate(schedule(380, seed), FAR_FROM_DEFAULTS, seed) for seed in SEEDS]
    assert 1900 < np.mean([np.count_nonzero(h.delta_t > 0) for h in histories]) < 2150
    decisions = [judge(h).decision for h in histories]
    assert decisions.count("change") >= 0.9 * len(SEEDS)


def test_where_the_defaults_are_true_they_are_kept():
    decisions = [judge(simulate(schedule(160, seed), DEFAULTS, seed)).decision for seed in SEEDS]
    assert decisions.count("change") <= 2  # of 30, at a nominal 2.5 %

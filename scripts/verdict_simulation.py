"""How often the verdict is to change, for users whose memory is known.

    python scripts/verdict_simulation.py [LOG ...] [--seeds 50] [--sizes 500,1000,2000,4000]

LOG is any file that fsrs-opt reads (default: the sample collection). For each size random cards with about so
many items are drawn, and their outcomes are replaced (`simulated_outcomes.py`; every card keeps its days):

- shuffled: the later-day answers of the log, shuffled: memory has no part in them;
- defaults: drawn from the defaults: there is nothing to gain;
- far: drawn from parameters far from the defaults: there is.

No parameters are in use, so that the new ones are compared with the defaults. Printed is the share of each
verdict, and how often the fit clearly beats the defaults on held-out reviews (on shuffled ones because it
learns their mean). The figures in docs/evaluation.md come from here.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from simulated_outcomes import FAR_FROM_DEFAULTS, shuffled, simulate, some_cards

from fsrs_opt.evaluation.metrics import log_loss
from fsrs_opt.evaluation.score import predict_items
from fsrs_opt.evaluation.time_series import time_series
from fsrs_opt.evaluation.verdict import Verdict, held_out_verdict
from fsrs_opt.model.parameters import DEFAULTS
from fsrs_opt.reviews.history import Histories, histories
from fsrs_opt.sources import read
from fsrs_opt.training.data import training_set
from fsrs_opt.training.fit import fit

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "sample.colpkg"
KINDS = ("shuffled", "defaults", "far")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("logs", nargs="*", type=Path, default=[SAMPLE])
    options.add_argument("--seeds", type=int, default=50)
    options.add_argument("--sizes", default="500,1000,2000,4000")
    chosen = options.parse_args()
    sizes = [int(size) for size in chosen.sizes.split(",")]
    print("| log | outcomes | items | change | keep | not enough data | beats the defaults |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for log in chosen.logs:
        collection = read(log)
        h = histories(collection.log, collection.day.day_of)
        for kind in KINDS:
            for size in sizes:
                print(f"| {log.stem} | {kind} | {size:,} {rates(h, kind, size, chosen.seeds)} |", flush=True)


def rates(h: Histories, kind: str, size: int, seeds: int) -> str:
    """The share of each verdict over the seeds, as cells of a table."""
    verdicts = [judge(outcomes(some_cards(h, size, seed), kind, seed)) for seed in range(seeds)]
    decisions = Counter(one.decision for one in verdicts)
    beats = sum(one.gain is not None and one.gain.low > 0 for one in verdicts)
    cells = [decisions["change"], decisions["keep"], decisions["not enough data"], beats]
    return "".join(f"| {100 * count / seeds:.0f} % " for count in cells).rstrip()


def outcomes(h: Histories, kind: str, seed: int) -> Histories:
    """The histories with other outcomes."""
    if kind == "shuffled":
        return shuffled(h, seed)
    return simulate(h, DEFAULTS if kind == "defaults" else FAR_FROM_DEFAULTS, seed)


def judge(h: Histories) -> Verdict:
    """The verdict against the defaults."""
    data = training_set(h)
    fitted = fit(data)
    label, weights = data.items.label, data.weights
    before = log_loss(label, predict_items(data, DEFAULTS), weights)
    after = log_loss(label, predict_items(data, fitted.parameters), weights)
    gain = None if before is None or after is None else before - after
    return held_out_verdict(time_series(data, fit), rung=fitted.rung, in_sample_gain=gain, n_items=len(data))


if __name__ == "__main__":
    main()

"""How often the 90 % intervals hold the truth, where the truth is known.

    python scripts/coverage_simulation.py [LOG] [--truth fitted|prior|far] [--refits 50] [--items N]

LOG is any file that fsrs-opt reads (default: the sample collection). New outcomes are drawn from the truth on
the schedule of the log (every card keeps its days, `simulated_outcomes.py`), the parameters are fitted again,
and it is counted how often the intervals of the parameters, and those of predicted recall, hold the truth.
Truths:

- fitted: the parameters fitted to the log;
- prior: a new random user for each refit, drawn from the prior;
- far: a learner whom the prior takes for all but impossible.

The figures in docs/evaluation.md come from here.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from simulated_outcomes import FAR_FROM_DEFAULTS, simulate, some_cards

from fsrs_opt.evaluation.score import all_reviews
from fsrs_opt.evaluation.uncertainty import posterior, predicted_recall
from fsrs_opt.model.parameters import DEFAULTS, N_PARAMETERS, FloatArray, clip
from fsrs_opt.reviews.history import Histories, histories, subset
from fsrs_opt.sources import read
from fsrs_opt.training.data import training_set
from fsrs_opt.training.fit import fit
from fsrs_opt.training.trust_region import to_w

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "sample.colpkg"
TRUTHS = ("fitted", "prior", "far")
CARDS_LOOKED_AT = 100  # for predicted recall: 42 passes over them


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("log", nargs="?", type=Path, default=SAMPLE)
    options.add_argument("--refits", type=int, default=50)
    options.add_argument(
        "--items", type=int, help="random cards with about so many items, not all of the log"
    )
    options.add_argument("--truth", choices=TRUTHS, default=TRUTHS[0])
    chosen = options.parse_args()
    collection = read(chosen.log)
    h = histories(collection.log, collection.day.day_of)
    if chosen.items:
        h = some_cards(h, chosen.items, seed=0)
    data = training_set(h)
    rng = np.random.default_rng(0)
    if chosen.truth == "prior":
        truths = [drawn_from_prior(rng) for _ in range(chosen.refits)]
    else:
        truths = [FAR_FROM_DEFAULTS if chosen.truth == "far" else fit(data).parameters] * chosen.refits
    print(f"{chosen.log.name}: {h.n_cards:,} cards, {len(data):,} items, {chosen.refits} refits,")
    print(f"truth: {chosen.truth}")
    simulation(h, truths)


def drawn_from_prior(rng: np.random.Generator) -> FloatArray:
    """Parameters of a random user, brought into their ranges and order."""
    z = rng.normal(0, 1, N_PARAMETERS) * np.sqrt([2.0] * 4 + [0.5] * 17)
    w = to_w(np.concatenate([np.log(DEFAULTS[:4]), np.zeros(17)]) + z)
    w[:4] = np.sort(w[:4])
    return clip(w)


def simulation(h: Histories, truths: Sequence[FloatArray]) -> None:
    """Refit once for each truth and print the coverage."""
    refits = len(truths)
    covered = np.zeros((refits, N_PARAMETERS), dtype=bool)
    share = np.zeros((refits, N_PARAMETERS))
    recall_covered, widths, held, effective = [], [], np.zeros(N_PARAMETERS), []
    looked_at = np.zeros(h.n_cards, dtype=bool)
    looked_at[np.random.default_rng(0).permutation(h.n_cards)[:CARDS_LOOKED_AT]] = True
    for k, truth in enumerate(truths):
        again = simulate(h, truth, seed=k)
        fitted = fit(training_set(again))
        if fitted.fisher is None:
            raise SystemExit("there are too few items to fit")
        found = posterior(fitted.parameters, fitted.fisher)
        covered[k] = (found.low <= truth) & (truth <= found.high)
        share[k] = found.data_share
        held += found.held
        effective.append(found.effective_parameters)
        few = training_set(subset(again, looked_at))
        batch = all_reviews(few)
        band = predicted_recall(batch, few.items.review, found)
        true_recall = batch.retrievability(truth)[few.items.review]
        recall_covered.append(np.mean((band.low <= true_recall) & (true_recall <= band.high)))
        widths.append(np.mean(band.high - band.low))
    print(
        f"predicted recall: {100 * np.mean(recall_covered):.1f} % of the true values are inside their bands"
        f" (standard error {100 * np.std(recall_covered) / np.sqrt(refits):.1f});"
        f" mean width {100 * np.mean(widths):.1f} percentage points"
    )
    print(
        f"parameters: {100 * covered.mean():.1f} % inside;"
        f" the data decide about {np.mean(effective):.1f} of {N_PARAMETERS}"
    )
    print("| parameter | covered | at a limit | from the reviews |\n| --- | --- | --- | --- |")
    for k in range(N_PARAMETERS):
        known = share[~np.isnan(share[:, k]), k]
        from_data = f"{known.mean():.0f} %" if len(known) else "-"
        print(f"| w{k} | {100 * covered[:, k].mean():.0f} % | {100 * held[k] / refits:.0f} % | {from_data} |")


if __name__ == "__main__":
    main()

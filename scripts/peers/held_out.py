"""Log loss on reviews that no fit has seen: five time-series splits, each method retrained for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import wilcoxon

from fsrs_opt.evaluation.calibration import calibration
from fsrs_opt.evaluation.metrics import log_loss
from fsrs_opt.evaluation.score import all_reviews, predict_items
from fsrs_opt.model.parameters import DEFAULTS, FloatArray
from fsrs_opt.reviews.items import select
from fsrs_opt.reviews.splits import time_series_splits
from fsrs_opt.training.data import TrainingSet, training_set
from fsrs_opt.training.fit import fit
from peers.fits import OPTIMIZER, RUST_5, RUST_IDS_5, RUST_IDS_8, Fit, fits
from peers.log_files import LogFile
from peers.report import Table, number

OURS, CLASSIC, FIXED = "ours", "ours, classic", "defaults"


@dataclass(frozen=True)
class Row:
    """Log loss and calibration error (ICI) over the pooled test segments, by method; a method that failed has
    an entry in `errors`."""

    log: str
    items: int
    log_loss: dict[str, float]
    errors: dict[str, str]
    calibration: dict[str, float] = field(default_factory=dict)  # ICI, where the method did not fail
    at_defaults: dict[str, int] = field(default_factory=dict)  # splits in which a fit gave the defaults


def measure(file: LogFile, n_splits: int, python: str, *, slow: bool) -> Row | None:
    """None where the log has too few items to be split."""
    data = file.data
    splits = time_series_splits(len(data), n_splits)
    if not splits:
        return None
    peers = [RUST_IDS_5, RUST_IDS_8, RUST_5, *([OPTIMIZER] if slow else [])]
    theirs = fits(data, [(peer, train.stop) for peer in peers for train, _ in splits], python)
    by_method = {
        OURS: [_ours(data, train, "map") for train, _ in splits],
        CLASSIC: [_ours(data, train, "classic") for train, _ in splits],
        **{str(peer): theirs[k * len(splits) :][: len(splits)] for k, peer in enumerate(peers)},
        FIXED: [Fit(DEFAULTS)] * len(splits),
    }
    tested = slice(splits[0][1].start, splits[-1][1].stop)
    label = data.items.label[tested]
    batch = all_reviews(data, kernel="torch")  # in float64, whatever training used
    losses, errors, calibrated, at_defaults = {}, {}, {}, {}
    for method, fitted in by_method.items():
        wrong = Counter(one.error for one in fitted if one.parameters is None)
        if wrong:
            errors[method] = f"{wrong.total()} of {len(splits)} splits: {'; '.join(wrong)}"
            continue
        predicted = [
            predict_items(data, one.parameters, batch=batch)[test]
            for one, (_, test) in zip(fitted, splits, strict=True)
            if one.parameters is not None
        ]
        pooled = np.concatenate(predicted)
        losses[method] = log_loss(label, pooled) or 0.0
        calibrated[method] = calibration(label, pooled).ici or 0.0
        at_defaults[method] = sum(_is_default(one.parameters) for one in fitted)
    return Row(file.name, len(label), losses, errors, calibrated, at_defaults)


def _ours(data: TrainingSet, train: slice, recipe: str) -> Fit:
    return Fit(fit(training_set(data.histories, select(data.items, train)), recipe=recipe).parameters)


def _points(share: float) -> str:
    return f"{100 * share:.2f}"


def _is_default(w: FloatArray | None) -> bool:
    return w is not None and bool(np.allclose(w, DEFAULTS, atol=1e-6))


@dataclass(frozen=True)
class Difference:
    """Ours less another method's log loss, over the logs where both have one (negative: ours is better)."""

    method: str
    by_item: float
    by_log: float
    better: int
    logs: int
    p: float | None


def differences(rows: Sequence[Row]) -> list[Difference]:
    found = []
    for method in dict.fromkeys(name for row in rows for name in (*row.log_loss, *row.errors)):
        both = [row for row in rows if method in row.log_loss]
        if method == OURS or not both:
            continue
        less = np.array([row.log_loss[OURS] - row.log_loss[method] for row in both])
        items = np.array([row.items for row in both])
        p = float(wilcoxon(less).pvalue) if less.any() else None
        mean = float(np.average(less, weights=items))
        found.append(Difference(method, mean, float(less.mean()), int((less < 0).sum()), len(both), p))
    return found


def tables(rows: Sequence[Row]) -> list[Table]:
    methods = list(dict.fromkeys(name for row in rows for name in (*row.log_loss, *row.errors)))
    lines, notes = [], []
    for row in rows:
        cells = [number(row.log_loss[name], 4) if name in row.log_loss else "fails" for name in methods]
        lines.append([row.log, f"{row.items:,}", *cells])
        notes += [f"{row.log}, {method} fails in {why}" for method, why in row.errors.items()]
    for method in methods:
        where = [f"{row.log} {row.at_defaults[method]}" for row in rows if row.at_defaults.get(method)]
        if method != FIXED and where:
            notes.append(f"{method} gave the defaults in some splits: {', '.join(where)}")
    losses = Table("Held-out log loss (lower is better)", ["log", "items tested", *methods], lines, notes)
    header = ["against", "item-weighted x 1e4", "per log x 1e4", "ours better", "p (Wilcoxon)"]
    summary = [
        [
            d.method,
            f"{d.by_item * 1e4:+.1f}",
            f"{d.by_log * 1e4:+.1f}",
            f"{d.better} of {d.logs}",
            "" if d.p is None else f"{d.p:.3f}",
        ]
        for d in differences(rows)
    ]
    off = [
        [
            row.log,
            f"{row.items:,}",
            *(
                f"{100 * row.calibration[name]:.2f}" if name in row.calibration else "fails"
                for name in methods
            ),
        ]
        for row in rows
    ]
    everywhere = [row for row in rows if set(methods) <= set(row.calibration)]
    if everywhere:
        means = [float(np.mean([row.calibration[name] for row in everywhere])) for name in methods]
        off.append(["mean", "", *map(_points, means)])
    return [
        losses,
        Table(
            "Held-out calibration error (ICI, percentage points, lower is better)",
            ["log", "items tested", *methods],
            off,
        ),
        Table("Held-out log loss of ours less another's (negative: ours is better)", header, summary),
    ]

"""How well parameters predict a training set's own items: the figures that every command prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsrs_opt.evaluation import metrics
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import FloatArray
from fsrs_opt.training.data import TrainingSet


@dataclass(frozen=True)
class Scores:
    """Figures of one set of predictions; None where undefined. Names and weighting as in docs/json.md.

    log_loss and rmse_bins weigh all items alike; the *_recency figures weigh recent items more, as
    fsrs-rs's `evaluate` does. auc is unweighted.
    """

    log_loss: float | None
    rmse_bins: float | None
    log_loss_recency: float | None
    rmse_bins_recency: float | None
    auc: float | None


def predict_items(
    data: TrainingSet, w: FloatArray, *, batch: WindowedBatch | None = None
) -> npt.NDArray[np.float64]:
    """Retrievability of each item [n_items] at parameters `w` [21].

    batch: the windowed form of all reviews of `data`, where it is at hand already.
    """
    batch = all_reviews(data) if batch is None else batch
    return batch.retrievability(w)[data.items.review]


def all_reviews(data: TrainingSet, *, device: str = "cpu", kernel: str | None = None) -> WindowedBatch:
    """Every review of the histories, none left away, so that indices are those of the histories."""
    h = data.histories
    weight = np.zeros(h.n_reviews)
    weight[data.items.review] = data.weights
    return WindowedBatch(
        offsets=h.offsets,
        rating=h.rating,
        delta_t=h.delta_t,
        weight=weight,
        device=device,
        kernel=kernel,
    )


def score(data: TrainingSet, retrievability: npt.NDArray[np.float64]) -> Scores:
    """The figures of predictions [n_items] for the items of a training set."""
    return scores(data, {"": retrievability})[""]


def scores(data: TrainingSet, predictions: Mapping[str, npt.NDArray[np.float64]]) -> dict[str, Scores]:
    """The figures of several models' predictions [n_items] for the items of a training set, by model."""
    chosen = data.items
    bin_of = metrics.bins(chosen.delta_t, chosen.long_term_count, chosen.lapses)
    found = {}
    for model, retrievability in predictions.items():
        losses = metrics.item_losses(chosen.label, retrievability)
        found[model] = Scores(
            log_loss=metrics.mean_loss(losses),
            rmse_bins=metrics.rmse_in_bins(chosen.label, retrievability, bin_of),
            log_loss_recency=metrics.mean_loss(losses, data.weights),
            rmse_bins_recency=metrics.rmse_in_bins(chosen.label, retrievability, bin_of, data.weights),
            auc=metrics.auc(chosen.label, retrievability),
        )
    return found

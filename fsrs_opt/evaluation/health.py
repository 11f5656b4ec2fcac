"""Anki's health check: is the log loss or RMSE(bins) of a fit usual for this recall and this much data?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HealthCheck:
    """healthy: True or False, None where it is undefined, with the reason in `reason` (else "").

    log_loss, rmse_bins: of the unweighted time-series splits, trained with our recipe. log_loss_ratio,
    rmse_bins_ratio: the same over what is usual; healthy if log_loss_ratio <= 1.11 or rmse_bins_ratio <= 1.53.
    recall: average recall of all items. n_items: all items.
    """

    healthy: bool | None
    reason: str
    log_loss: float | None
    rmse_bins: float | None
    log_loss_ratio: float | None
    rmse_bins_ratio: float | None
    recall: float | None
    n_items: int

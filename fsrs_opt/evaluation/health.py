"""Anki's health check: are log loss or RMSE(bins) of a fit usual for this recall and this much data?"""

from __future__ import annotations

from dataclasses import dataclass

MIN_ITEMS = 300  # more than these
MAX_LOG_LOSS_RATIO, MAX_RMSE_BINS_RATIO = 1.11, 1.53


@dataclass(frozen=True)
class HealthCheck:
    """healthy: True or False, None where it is undefined, with the reason in `reason` (else "").

    log_loss, rmse_bins: of the unweighted time-series splits, trained with our recipe. log_loss_ratio,
    rmse_bins_ratio: the same over what is usual; healthy if log_loss_ratio <= 1.11 or rmse_bins_ratio <=
    1.53. recall: average recall of all items. n_items: all items.
    """

    healthy: bool | None
    reason: str
    log_loss: float | None
    rmse_bins: float | None
    log_loss_ratio: float | None
    rmse_bins_ratio: float | None
    recall: float | None
    n_items: int


def health_check(
    log_loss: float | None, rmse_bins: float | None, *, recall: float | None, n_items: int
) -> HealthCheck:
    """Anki's formulas on the pooled figures of the time-series splits.

    recall, n_items: of all items, not only the held-out ones. Anki trains the splits with its own settings;
    the figures here come from our recipe.
    """

    def undefined(reason: str) -> HealthCheck:
        return HealthCheck(None, reason, log_loss, rmse_bins, None, None, recall, n_items)

    if n_items <= MIN_ITEMS:
        return undefined(f"it takes more than {MIN_ITEMS} items, and there are {n_items}")
    if recall is None or recall in (0, 1):
        return undefined("the items are all recalled or all forgotten")
    if log_loss is None or rmse_bins is None:
        return undefined("there are no fits of time-series splits")
    usual_log_loss = 0.623 * (4 * recall * (1 - recall)) ** 0.738
    usual_rmse = 0.0135 / (recall**0.504 - 1.14) + 0.176 / ((n_items / 1000) ** 0.825 + 2.22) + 0.101
    of_log_loss, of_rmse = log_loss / usual_log_loss, rmse_bins / usual_rmse
    healthy = of_log_loss <= MAX_LOG_LOSS_RATIO or of_rmse <= MAX_RMSE_BINS_RATIO
    return HealthCheck(healthy, "", log_loss, rmse_bins, of_log_loss, of_rmse, recall, n_items)

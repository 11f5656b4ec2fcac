"""What a batch says about many collections at once: figures by model, parameters, and what failed.

`table` is the DataFrame of `fsrs_opt.batch_results` everywhere here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

FloatArray = npt.NDArray[np.float64]

MODELS = {
    "default": "default",
    "current": "current",
    "new": "new",
    "constant": "average recall",
    "sm2": "SM-2",
}
FIGURES = {
    "log_loss": ("log loss", "lower"),
    "rmse_bins": ("RMSE(bins)", "lower"),
    "auc": ("AUC", "higher"),
    "ici": ("ICI (calibration)", "lower"),
}
N_PARAMETERS = 21


@dataclass(frozen=True)
class Figure:
    """One figure of one model over the collections that have it. mean: all alike; weighted: by the items that
    it is of; quantiles: 10th, 50th and 90th percentile; of_each: of each collection [n]."""

    mean: float
    weighted: float
    quantiles: tuple[float, float, float]
    of_each: FloatArray


@dataclass(frozen=True)
class Summary:
    """done, failed: tasks; collections: files (or users) with something done. basis: "held_out" or
    "in_sample", what the figures are of. figures: by figure, then by model. change: tasks whose verdict is to
    change. better: of the collections with both, the share where new beats default in log loss."""

    done: int
    failed: int
    collections: int
    reviews: int
    items: int
    basis: str
    figures: dict[str, dict[str, Figure]]
    change: int
    better: float | None


def summary(table: pd.DataFrame) -> Summary:
    """The figures of a batch. Collections without items count nowhere but in `done`."""
    done = table[table["status"] == "done"]
    held_out = bool((done["held_out_items"].fillna(0) > 0).any())
    basis = "held_out" if held_out else "in_sample"
    weight = done["held_out_items" if held_out else "items"].fillna(0).to_numpy(dtype=np.float64)
    figures: dict[str, dict[str, Figure]] = {}
    for figure in FIGURES:
        of_models = {model: _figure(done, f"{basis}_{model}_{figure}", weight) for model in MODELS}
        present = {model: found for model, found in of_models.items() if found is not None}
        if present:
            figures[figure] = present
    return Summary(
        done=len(done),
        failed=int((table["status"] == "failed").sum()),
        collections=int(done["path"].nunique()),
        reviews=int(done["reviews_used"].fillna(0).sum()),
        items=int(done["items"].fillna(0).sum()),
        basis=basis,
        figures=figures,
        change=int((done["decision"] == "change").sum()),
        better=_share_better(done, basis),
    )


def failures(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Path, deck or preset, and reason of every task that failed."""
    rows: Any = table.loc[table["status"] == "failed", ["path", "part", "error"]].to_numpy()
    return [tuple(row) for row in rows.tolist()]


def fitted(table: pd.DataFrame) -> FloatArray:
    """Parameters [n_done, 21] of the tasks that are done."""
    names = [f"w{k}" for k in range(N_PARAMETERS)]
    values: FloatArray = table.loc[table["status"] == "done", names].to_numpy(dtype=np.float64)
    return values


def _figure(done: pd.DataFrame, column: str, weight: FloatArray) -> Figure | None:
    if column not in done:
        return None
    values = done[column].to_numpy(dtype=np.float64)
    there = np.isfinite(values) & (weight > 0)
    if not there.any():
        return None
    values, weight = values[there], weight[there]
    low, middle, high = (float(q) for q in np.percentile(values, [10, 50, 90]))
    weighted = float(np.average(values, weights=weight))
    return Figure(float(values.mean()), weighted, (low, middle, high), values)


def _share_better(done: pd.DataFrame, basis: str) -> float | None:
    columns = [f"{basis}_{model}_log_loss" for model in ("new", "default")]
    if not set(columns) <= set(done.columns):
        return None
    both = done[columns].dropna().to_numpy(dtype=np.float64)
    return float((both[:, 0] < both[:, 1]).mean()) if len(both) else None

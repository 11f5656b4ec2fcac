"""Fits of the peers, run by the Python that has them installed. Knows nothing of fsrs_opt.

Usage: worker.py HISTORIES.npz REQUESTS.json RESULTS.jsonl

HISTORIES.npz: card_id, offsets [n_cards + 1], review_time, rating, delta_t [n_reviews], and the items in time
order: review, card [n_items]. REQUESTS.json: a list of {peer, card_ids, epochs, n_items}; each trains on the
first n_items items. RESULTS.jsonl: a line for each, {parameters} or {error}, written as soon as it is known.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import lru_cache
from os import devnull

import numpy as np
from fsrs_rs_items import fsrs_rs_items  # beside this file, which is run by its path

with np.load(sys.argv[1]) as stored:
    H = {name: stored[name] for name in stored.files}


def fit_fsrs_rs(n_items: int, epochs: int, card_ids: bool) -> list[float]:
    import fsrs_rs_python as fsrs_rs

    fsrs_items, ids = items_and_cards()
    config = fsrs_rs.TrainingConfig(num_epochs=epochs)
    model = fsrs_rs.FSRS(fsrs_rs.DEFAULT_PARAMETERS)
    return model.compute_parameters(
        fsrs_items[:n_items], ids[:n_items] if card_ids else None, training_config=config
    )


@lru_cache(maxsize=1)
def items_and_cards():
    """All items with their histories, and the card id of each."""
    items = fsrs_rs_items(*(H[name] for name in ("offsets", "rating", "delta_t", "review", "card")))
    return items, H["card_id"][H["card"]].tolist()


def fit_fsrs_optimizer(n_items: int, epochs: int, card_ids: bool) -> list[float]:
    """As its command trains: its outlier filter, initial stabilities, and training with recency weights."""
    import fsrs_optimizer

    optimizer = fsrs_optimizer.Optimizer()
    optimizer.define_model()
    optimizer.initialize_parameters(dataset=fsrs_optimizer_rows(n_items), verbose=False)
    optimizer.train(n_epoch=epochs, verbose=False, recency_weight=True)
    return list(optimizer.w)


def fsrs_optimizer_rows(n_items: int):
    """The first items in the columns that its `create_time_series` writes, after its own filter.

    Its rows are a card's first review (i = 1) and the card's items (i = 2, 3, ...). The filter looks at the
    rows with i = 2; what comes after a gap in a card's rows goes too.
    """
    import pandas as pd
    from fsrs_optimizer import remove_non_continuous_rows, remove_outliers

    review = np.sort(H["review"][:n_items])
    card = np.searchsorted(H["offsets"], review, side="right") - 1
    first = H["offsets"][:-1][np.unique(card)]
    row = np.sort(np.concatenate([first, review]))
    card = np.searchsorted(H["offsets"], row, side="right") - 1
    start = H["offsets"][card]
    ratings, delta_ts = H["rating"].astype(str).tolist(), H["delta_t"].astype(str).tolist()
    spans = list(zip(start.tolist(), row.tolist(), strict=True))
    rows = pd.DataFrame(
        {
            "card_id": card,
            "review_time": H["review_time"][row],
            "delta_t": H["delta_t"][row],
            "r_history": [",".join(ratings[a:b]) for a, b in spans],
            "t_history": [",".join(delta_ts[a:b]) for a, b in spans],
            "first_rating": [ratings[a] if a < b else "" for a, b in spans],
            "y": (H["rating"][row] > 1).astype(int),
        }
    )
    rows["i"] = rows.groupby("card_id").cumcount() + 1
    columns = list(rows.columns)
    second = rows[rows["i"] == 2]
    kept = second.groupby(["first_rating"], group_keys=False)[columns].apply(remove_outliers)
    rows = rows[(rows["i"] != 2) | rows.index.isin(kept.index)]
    return rows.groupby("card_id", group_keys=False)[columns].apply(remove_non_continuous_rows)


FITS = {"fsrs-rs": fit_fsrs_rs, "FSRS-Optimizer": fit_fsrs_optimizer}


def main() -> None:
    with open(sys.argv[2], encoding="utf-8") as file:
        requests = json.load(file)
    with open(sys.argv[3], "w", encoding="utf-8") as results, open(devnull, "w") as nowhere:
        for request in requests:
            try:
                with redirect_stdout(nowhere), redirect_stderr(nowhere):
                    fit = FITS[request.pop("peer")]
                    result = {"parameters": [float(value) for value in fit(**request)]}
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a panic in Rust is no Exception
                result = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
            results.write(json.dumps(result) + "\n")
            results.flush()


if __name__ == "__main__":
    main()

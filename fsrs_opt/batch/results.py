"""From the books of batch jobs to tables: results.csv, results.parquet and results.jsonl."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fsrs_opt.atomic_file import replacing
from fsrs_opt.batch.book import Book
from fsrs_opt.batch.tasks import DONE, FAILED, WAITING
from fsrs_opt.errors import FsrsOptError
from fsrs_opt.model.parameters import N_PARAMETERS
from fsrs_opt.sources.dataset import user_of
from fsrs_opt.sources.detect import reason

if TYPE_CHECKING:
    import pandas as pd

CSV, PARQUET, JSONL = "results.csv", "results.parquet", "results.jsonl"

FIGURES: Final = ("log_loss", "rmse_bins", "auc", "rmse", "log_loss_recency", "rmse_bins_recency", "ici")
MODELS: Final = ("new", "current", "default", "constant", "sm2")
STEPS: Final = ("hash", "read", "histories", "train", "evaluate", "held_out", "total")
COUNTS: Final = ("revlog_rows", "cards", "cards_used", "reviews_used", "items", "held_out_items")

_BENCHMARK: Final = {
    "RMSE": "rmse",
    "LogLoss": "log_loss",
    "RMSE(bins)": "rmse_bins",
    "ICI": "ici",
    "AUC": "auc",
}
"""The benchmark's names of figures, and ours."""

_ALWAYS: Final = ("in_sample_new_log_loss", "in_sample_default_log_loss")
_ROWS_AT_A_TIME: Final = 5_000  # as Python objects they take ten times the memory
_DIGITS: Final = 6  # of the benchmark's files


def frame(folders: Sequence[Path]) -> pd.DataFrame:
    """All rows of the books in `folders` that are done or failed, one a task, those of later books in place
    of the same task in earlier ones. Columns: see docs/batch.md; what a task does not have is missing.

    Raises FsrsOptError for a folder without a book.
    """
    import pandas as pd

    parts = [_typed([])]
    for folder in folders:
        with closing(Book(folder)) as book:
            parts += [_typed([_flat(row) for row in some]) for some in _some(book.rows())]
    table = pd.concat(parts, ignore_index=True)
    if len(folders) > 1:
        table = table.drop_duplicates(["path", "split", "selection"], keep="last")
        table = table.sort_values(["path", "split"], kind="stable", ignore_index=True)
    empty = [
        name
        for name in (*_figure_names("in_sample"), *_figure_names("held_out"))
        if name not in _ALWAYS and table[name].isna().all()
    ]
    return table.drop(columns=empty)


def standing(folders: Sequence[Path]) -> dict[str, int]:
    """How many rows of the books are waiting, done and failed."""
    total = {WAITING: 0, DONE: 0, FAILED: 0}
    for folder in folders:
        with closing(Book(folder)) as book:
            for status, count in book.counts().items():
                total[status] += count
    return total


def write(table: pd.DataFrame, target: Path) -> tuple[Path, ...]:
    """Write the three files of `frame` to a folder, each whole or not at all. Returns their paths.

    Raises FsrsOptError where they cannot be written.
    """
    written = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, save in ((CSV, _to_csv), (PARQUET, _to_parquet), (JSONL, _to_jsonl)):
            with replacing(target / name) as part:
                save(table, part)
            written.append(target / name)
    except OSError as error:
        raise FsrsOptError(
            f"the results cannot be written to {target}: {reason(error)}; the book is as it was, and"
            " “fsrs-opt results” writes them again."
        ) from None
    return tuple(written)


def benchmark(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows that are done, in the form of the field's benchmark: `metrics` (held-out where there are such
    figures, else in-sample), `user`, `size` (items that the metrics are of), `parameters` (by the deck or
    preset, "0" for a whole collection); and what the form has no place for."""
    for row in table[table["status"] == DONE].to_dict("records"):
        held_out = row["held_out_items"] > 0
        of = "held_out" if held_out else "in_sample"
        metrics = {name: _rounded(row.get(f"{of}_new_{figure}")) for name, figure in _BENCHMARK.items()}
        yield {
            "metrics": metrics,
            "user": int(row["user"]) if row["user"].isdecimal() else row["user"] or row["name"],
            "size": int(row["held_out_items"] if held_out else row["items"]),
            "parameters": {row["selection"] or "0": [_rounded(row[f"w{k}"]) for k in range(N_PARAMETERS)]},
            "held_out": bool(held_out),
            "verdict": row["decision"],
            "path": row["path"],
            **({row["split"]: row["part"]} if row["selection"] else {}),
            **({"options": options} if (options := json.loads(row["options"] or "{}")) else {}),
        }


_TEXT: Final = (
    *("path", "name", "user", "split", "selection", "part", "status", "error", "decision"),
    *("content", "options", "version", "finished", "messages"),
)


def _typed(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    columns = {
        **dict.fromkeys(_TEXT, "str"),
        "size": "int64",
        **dict.fromkeys(COUNTS, "Int64"),
        **dict.fromkeys((f"w{k}" for k in range(N_PARAMETERS)), "float64"),
        **dict.fromkeys((*_figure_names("in_sample"), *_figure_names("held_out")), "float64"),
        **dict.fromkeys((f"seconds_{step}" for step in STEPS), "float64"),
    }
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    user = user_of(posixpath.basename(row["path"].replace("\\", "/").rstrip("/")))
    flat: dict[str, Any] = {name: row[name] for name in _TEXT if name in row}
    flat |= {"user": user or "", "options": row["options_json"] or "", "size": row["size"]}
    flat["messages"] = "\n".join(row["messages"] or ())
    counts, seconds = row["counts"] or {}, row["seconds"] or {}
    flat |= {name: counts.get(name) for name in COUNTS}
    flat |= {f"w{k}": value for k, value in enumerate(row["parameters"] or ())}
    for basis, of_models in (row["metrics"] or {}).items():
        for model, figures in of_models.items():
            for figure, value in (figures or {}).items():
                flat[f"{basis}_{model}_{figure}"] = value
    flat |= {f"seconds_{step}": seconds.get(step) for step in STEPS}
    return flat


def _some(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while some := list(islice(rows, _ROWS_AT_A_TIME)):
        yield some


def _figure_names(basis: str) -> list[str]:
    return [f"{basis}_{model}_{figure}" for model in MODELS for figure in FIGURES]


def _to_csv(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False, encoding="utf-8")


def _to_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False)


def _to_jsonl(table: pd.DataFrame, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for one in benchmark(table):
            file.write(json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n")


def _rounded(value: float | None) -> float | None:
    return None if value is None or value != value else round(float(value), _DIGITS)

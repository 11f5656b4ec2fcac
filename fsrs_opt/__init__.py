"""fsrs-opt: fits the parameters of FSRS to a review log.

The calls a notebook needs, each loaded on first use so that `import fsrs_opt` costs next to nothing:

    collection = fsrs_opt.read("collection.colpkg")
    result = fsrs_opt.optimize(collection)
    result.parameters, result.verdict.sentence
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsrs_opt.apply.carry_out import carry_out
    from fsrs_opt.apply.plan import plan_apply
    from fsrs_opt.apply.undo import undo
    from fsrs_opt.batch.api import batch_results, run_batch
    from fsrs_opt.commands.advise import advise
    from fsrs_opt.commands.all_presets import optimize_presets
    from fsrs_opt.commands.evaluate import evaluate
    from fsrs_opt.commands.export import export
    from fsrs_opt.commands.inspect_file import inspect_file
    from fsrs_opt.commands.optimize import optimize
    from fsrs_opt.errors import FsrsOptError, NothingToTrainError, SourceError, UsageError
    from fsrs_opt.evaluation.score import predict_items, score
    from fsrs_opt.report.files import write_report
    from fsrs_opt.reviews.history import histories
    from fsrs_opt.reviews.items import items
    from fsrs_opt.sources.reading import read
    from fsrs_opt.sources.selection import select
    from fsrs_opt.training.data import training_set
    from fsrs_opt.training.fit import fit

__version__ = "0.1.0"

__all__ = [
    "FsrsOptError",
    "NothingToTrainError",
    "SourceError",
    "UsageError",
    "__version__",
    "advise",
    "batch_results",
    "carry_out",
    "evaluate",
    "export",
    "fit",
    "histories",
    "inspect_file",
    "items",
    "optimize",
    "optimize_presets",
    "plan_apply",
    "predict_items",
    "read",
    "run_batch",
    "score",
    "select",
    "training_set",
    "undo",
    "write_report",
]

_HOME = {
    "FsrsOptError": "errors",
    "NothingToTrainError": "errors",
    "SourceError": "errors",
    "UsageError": "errors",
    "advise": "commands.advise",
    "batch_results": "batch.api",
    "carry_out": "apply.carry_out",
    "evaluate": "commands.evaluate",
    "export": "commands.export",
    "fit": "training.fit",
    "histories": "reviews.history",
    "inspect_file": "commands.inspect_file",
    "items": "reviews.items",
    "optimize": "commands.optimize",
    "optimize_presets": "commands.all_presets",
    "plan_apply": "apply.plan",
    "predict_items": "evaluation.score",
    "read": "sources.reading",
    "run_batch": "batch.api",
    "score": "evaluation.score",
    "select": "sources.selection",
    "training_set": "training.data",
    "undo": "apply.undo",
    "write_report": "report.files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

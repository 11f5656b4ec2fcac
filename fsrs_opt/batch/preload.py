"""What the process that workers are forked from loads beforehand. It starts no thread, so it runs nothing."""

from __future__ import annotations

import gc
from importlib import import_module

# None of the many objects that torch brings is garbage: looking for some takes a quarter of the time.
gc.disable()
for name in (
    "fsrs_opt.batch.work",
    "fsrs_opt.evaluation.local_regression",
    "fsrs_opt.sources.dataset",
    "fsrs_opt.sources.package",
    "fsrs_opt.sources.revlog",
    "fsrs_opt.sources.tables",
):
    import_module(name)
gc.freeze()  # workers never look through them either, and so share their memory
gc.enable()

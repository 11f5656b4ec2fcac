"""What the process that workers are forked from loads beforehand. It starts no thread, so it runs nothing."""

from __future__ import annotations

import gc
from importlib import import_module

# None of the many objects that libraries bring is garbage: looking for some takes its time.
gc.disable()
for name in (
    "fsrs_opt.batch.work",
    "fsrs_opt.evaluation.local_regression",
    "fsrs_opt.sources.dataset",
    "fsrs_opt.sources.package",
    "fsrs_opt.sources.revlog",
    "fsrs_opt.sources.tables",
    "fsrs_opt.training.compiled",
    "numpy.ma",  # numpy's own functions load it when they are first used
):
    import_module(name)
gc.freeze()  # workers never look through them either, and so share their memory
gc.enable()

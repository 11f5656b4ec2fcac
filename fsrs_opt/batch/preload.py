"""What the process that workers are forked from loads beforehand. It starts no thread, so it runs nothing."""

from __future__ import annotations

import fsrs_opt.batch.work
import fsrs_opt.evaluation.local_regression
import fsrs_opt.sources.dataset
import fsrs_opt.sources.package
import fsrs_opt.sources.revlog
import fsrs_opt.sources.tables  # noqa: F401

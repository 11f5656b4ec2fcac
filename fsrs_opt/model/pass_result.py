"""What a pass over the data gives, whichever code ran it."""

from __future__ import annotations

from dataclasses import dataclass

from fsrs_opt.model.parameters import FloatArray


@dataclass(frozen=True)
class PassResult:
    """loss: weighted sum of the binary cross-entropy; gradient [21], fisher [21, 21] or None: float64."""

    loss: float
    gradient: FloatArray
    fisher: FloatArray | None = None

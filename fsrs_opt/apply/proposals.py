"""Where new parameters come from: a fit to the preset's reviews, a file, or the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fsrs_opt.commands.from_file import FileVerdict, ParametersFile
from fsrs_opt.errors import NothingToTrainError
from fsrs_opt.model.parameters import FloatArray
from fsrs_opt.sources import select
from fsrs_opt.sources.names import key

if TYPE_CHECKING:
    from fsrs_opt.evaluation.time_series import Fraction
    from fsrs_opt.evaluation.verdict import Verdict
    from fsrs_opt.sources.collection import Collection, Preset
    from fsrs_opt.training.recipes import ProgressCallback

NOT_ENOUGH = "not enough data"


@dataclass(frozen=True)
class Proposal:
    """New parameters [21] for one preset, None where there are none; the verdict on them; and what else a
    user should be told."""

    parameters: FloatArray | None
    verdict: FileVerdict
    messages: tuple[str, ...] = ()


def fitted(
    collection: Collection,
    preset: Preset,
    *,
    workers: int | None = None,
    progress: ProgressCallback | None = None,
    held_out_progress: Fraction | None = None,
) -> Proposal:
    """Fit the preset's own reviews, selected as Anki selects them."""
    from fsrs_opt.commands.optimize import optimize

    try:
        result = optimize(
            select(collection, preset=preset.id),
            workers=workers,
            progress=progress,
            held_out_progress=held_out_progress,
        )
    except NothingToTrainError as error:
        return Proposal(None, FileVerdict(NOT_ENOUGH, _whole(str(error))))
    return Proposal(result.fit.parameters, _verdict(result.verdict), result.messages)


def given(
    collection: Collection,
    preset: Preset,
    parameters: Sequence[float],
    *,
    workers: int | None = None,
    held_out_progress: Fraction | None = None,
) -> Proposal:
    """Parameters that came without a verdict, judged on the preset's reviews."""
    from fsrs_opt.commands.evaluate import evaluate

    w = np.array(parameters, dtype=np.float64)
    try:
        result = evaluate(
            select(collection, preset=preset.id),
            against=w.tolist(),
            workers=workers,
            held_out_progress=held_out_progress,
        )
    except NothingToTrainError as error:
        return Proposal(w, FileVerdict(NOT_ENOUGH, _whole(str(error))))
    verdict = replace(_verdict(result.evaluation.verdict), held_out=False)  # it may have been fitted to them
    return Proposal(w, verdict, result.messages)


def of_file(found: ParametersFile, preset: Preset) -> Proposal | None:
    """What a file holds for a preset; None where it holds numbers without a verdict."""
    by_key = {key(name): name for name in found.by_preset}
    if by_key:
        name = by_key.get(key(preset.name))
        if name is None:
            others = " and ".join(f"“{each}”" for each in found.by_preset)
            return Proposal(
                None,
                FileVerdict(
                    NOT_ENOUGH, f"{found.path} holds parameters for {others} and none for this preset."
                ),
            )
        verdict = found.verdicts.get(name)
        return None if verdict is None else Proposal(found.by_preset[name], verdict)
    assert found.single is not None
    return None if found.verdict is None else Proposal(found.single, found.verdict)


def numbers_of(found: ParametersFile, preset: Preset) -> FloatArray:
    """The numbers of a file for a preset for which `of_file` found no verdict."""
    for name, w in found.by_preset.items():
        if key(name) == key(preset.name):
            return w
    assert found.single is not None
    return found.single


def _verdict(found: Verdict) -> FileVerdict:
    gain = found.gain
    if gain is None:
        return FileVerdict(found.decision, found.sentence)
    return FileVerdict(found.decision, found.sentence, gain.mean, gain.low, gain.high)


def _whole(text: str) -> str:
    return text if text.endswith(".") else f"{text}."

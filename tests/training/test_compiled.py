"""Compiled stages: the same ends as step by step, and no way for a caller to break them."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.model import native
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import DEFAULTS, clip
from fsrs_opt.training.data import training_set
from fsrs_opt.training.objective import MapPrior, Objective
from fsrs_opt.training.pretrain import pretrain
from fsrs_opt.training.recipes import (
    AFTER_TRAIN,
    BEFORE_FINETUNE,
    FULL_EFFORT,
    Effort,
    Progress,
    StageSettings,
    map_objective,
)
from tests.logs import history_of, real_log

if not native.available():
    pytest.skip("installed without the native kernels", allow_module_level=True)

from fsrs_opt.training.compiled import Compiled
from fsrs_opt.training.stepwise import Stepwise


def objective_of(rng: np.random.Generator, n_cards: int, n: int) -> Objective:
    return Objective(
        WindowedBatch(
            offsets=np.arange(n_cards + 1) * n,
            rating=rng.integers(1, 5, n_cards * n).astype(np.int8),
            delta_t=rng.integers(1, 500, n_cards * n).astype(np.int32),
            weight=np.ones(n_cards * n),
            kernel="native",
        ),
        MapPrior(),
    )


@pytest.mark.parametrize("relearning_steps", [1, 3])
@pytest.mark.parametrize("name", ["real36", "real22", "real16", "real06"])
def test_stages_end_where_training_steps_end(shared_real: Path, name: str, relearning_steps: int) -> None:
    data = training_set(real_log(shared_real, name))
    found = pretrain(data)
    assert found is not None
    start = DEFAULTS.copy()
    start[:4] = found.initial_stability
    start = clip(start, relearning_steps=relearning_steps)
    j = map_objective(data, kernel="native")
    told: tuple[list[Progress], list[Progress]] = [], []
    trainers = [
        kind(start, j, StageSettings(relearning_steps, progress=seen.append))
        for kind, seen in zip((Compiled, Stepwise), told, strict=True)
    ]
    for stage, frozen, effort in (("train", True, BEFORE_FINETUNE), ("finetune", False, AFTER_TRAIN)):
        (compiled, before), (stepwise, start_of_steps) = (
            trainer.run_map(stage, frozen=frozen, effort=effort) for trainer in trainers
        )
        assert before == pytest.approx(start_of_steps, rel=1e-12)
        assert (compiled.passes, compiled.converged) == (stepwise.passes, stepwise.converged)
        assert compiled.objective == pytest.approx(stepwise.objective, rel=1e-9)
        np.testing.assert_allclose(trainers[0].w, trainers[1].w, rtol=1e-5)
        if frozen:
            assert trainers[0].w[:4].tobytes() == start[:4].tobytes()
    assert [(p.stage, p.passes) for p in told[0]] == [(p.stage, p.passes) for p in told[1]]
    reached = [np.array([p.objective for p in each]) for each in told]
    np.testing.assert_allclose(*reached, rtol=1e-9)


@pytest.mark.parametrize("short_term", [True, False])
@pytest.mark.parametrize("relearning_steps", [1, 2, 3, 5])
def test_weights_whose_gradient_happens_to_be_zero_are_not_frozen(
    relearning_steps: int, short_term: bool
) -> None:
    """No card was ever forgotten: neither the likelihood nor, at the defaults, the prior says anything of
    w11..w14. From three relearning steps on they must give way to w17 and w18, whose ceiling they are."""
    data = training_set(history_of(*[[(3, 0), (3, 7), (3, 30), (3, 60)]] * 60))
    settings = {"relearning_steps": relearning_steps, "short_term": short_term}
    ends = []
    for trainer_of in (Compiled, Stepwise):
        j = map_objective(data, kernel="native")
        start = clip(DEFAULTS, **settings)
        trainer = trainer_of(start, j, StageSettings(**settings))
        trainer.run_map("train", frozen=True, effort=FULL_EFFORT)
        assert (trainer.w[:4] == start[:4]).all()
        ends.append(trainer.w)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)
    if relearning_steps > 2 and short_term:
        assert (ends[0][[11, 13, 14]] != start[[11, 13, 14]]).any()


def test_the_last_pass_of_a_stage_is_not_made_again() -> None:
    trainer = Compiled(DEFAULTS, objective_of(np.random.default_rng(1), 50, 6), StageSettings())
    first, _ = trainer.run_map("train", frozen=True, effort=FULL_EFFORT)
    # a stage that may make one pass ends with it, and the next begins with the same one
    one = Effort(max_passes=1)
    at = trainer.w
    alone, start = trainer.run_map("train", frozen=True, effort=one)
    again, start_again = trainer.run_map("train", frozen=True, effort=one)
    assert (alone.passes, again.passes) == (1, 0)
    assert start == start_again == alone.objective == again.objective
    assert start == pytest.approx(first.objective, rel=1e-7)
    assert trainer.w.tobytes() == at.tobytes()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_ctrl_c_ends_it_between_two_passes() -> None:
    j = objective_of(np.random.default_rng(0), 40_000, 12)  # tens of milliseconds a pass
    seen: list[Progress] = []
    trainer = Compiled(DEFAULTS, j, StageSettings(progress=seen.append))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            trainer.run_map("train", frozen=False, effort=FULL_EFFORT)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) < 3
    assert np.isfinite(trainer.w).all()


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("trainer_of", [Compiled, Stepwise])
def test_what_progress_raises_ends_it_and_it_can_go_on(
    trainer_of: type[Compiled | Stepwise], frozen: bool
) -> None:
    class Stop(Exception):  # noqa: N818
        pass

    seen: list[Progress] = []

    def stop(where: Progress) -> None:
        seen.append(where)
        if len(seen) == 2:
            raise Stop

    j = objective_of(np.random.default_rng(2), 100, 6)
    trainer = trainer_of(DEFAULTS, j, StageSettings(progress=stop))
    with pytest.raises(Stop):
        trainer.run_map("train", frozen=frozen, effort=FULL_EFFORT)
    assert [where.passes for where in seen] == [1, 2]
    assert (trainer.w[:4] == DEFAULTS[:4]).all() == frozen
    stage, _ = trainer.run_map("finetune", frozen=False, effort=FULL_EFFORT)
    alone, _ = trainer_of(DEFAULTS, j, StageSettings()).run_map("train", frozen=False, effort=FULL_EFFORT)
    assert stage.objective == pytest.approx(alone.objective, abs=0.01)


def test_what_it_works_on_lives_as_long_as_it_does() -> None:
    trainer = Compiled(DEFAULTS, objective_of(np.random.default_rng(3), 100, 6), StageSettings())
    gc.collect()
    stage, start = trainer.run_map("train", frozen=False, effort=FULL_EFFORT)
    assert stage.objective < start


def test_what_does_not_fit_is_refused() -> None:
    j = objective_of(np.random.default_rng(4), 10, 6)
    with pytest.raises(ValueError, match="21"):
        Compiled(DEFAULTS[:20], j, StageSettings())
    far = DEFAULTS.copy()
    far[20] = np.nan
    with pytest.raises(ValueError, match=r"w\[20\]"):
        Compiled(far, j, StageSettings()).run_map("train", frozen=False, effort=FULL_EFFORT)
    minimizer = Compiled(DEFAULTS, j, StageSettings())._minimizer
    with pytest.raises(ValueError, match="21"):
        minimizer.run(np.zeros(20, dtype=bool), 0.1, 1, 1, 9)
    with pytest.raises(ValueError, match="instruction set"):
        minimizer.run(np.zeros(21, dtype=bool), 0.1, 1, 1, 9, isa="none")

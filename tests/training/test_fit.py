"""The whole fit: how far the data allow, both recipes, and inputs that broke other programs."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from fsrs_opt.errors import UsageError
from fsrs_opt.model.batch import WindowedBatch
from fsrs_opt.model.parameters import DEFAULTS, LOWER, UPPER
from fsrs_opt.model.pass_result import PassResult
from fsrs_opt.reviews.history import histories
from fsrs_opt.training.data import TrainingSet, training_set, windowed_batch
from fsrs_opt.training.fit import FitResult, fit
from fsrs_opt.training.mini_batches import mini_batches
from fsrs_opt.training.recipes import Progress, map_objective
from tests.logs import DAY_MS, history_of, real_log


def sound(result: FitResult) -> bool:
    w = result.parameters
    low = np.where(np.arange(21) == 19, 0.0, LOWER)
    inside = (w >= low).all() and (w <= UPPER).all()
    return bool(np.isfinite(w).all() and inside and (np.diff(w[:4]) >= 0).all())


def made(cards: list[list[tuple[int, int]]]) -> TrainingSet:
    return training_set(history_of(*cards))


def daily(n: int, forgotten_at: int) -> list[tuple[int, int]]:
    """A card reviewed every day and forgotten once a week."""
    return [(3, 0), *((3 if (day + forgotten_at) % 7 else 1, 1) for day in range(n))]


def varied(n: int, ratings: tuple[int, ...] = (1, 2, 3, 4), seed: int = 0) -> list[list[tuple[int, int]]]:
    rng = np.random.default_rng(seed)
    return [
        [(int(rng.choice(ratings)), 0)]
        + [(int(rng.choice(ratings)), int(t)) for t in rng.choice([1, 2, 4, 9], size=6)]
        for _ in range(n)
    ]


@pytest.mark.parametrize(
    ("n_items", "rung"), [(1, "defaults"), (7, "defaults"), (8, "pretrain"), (63, "pretrain"), (64, "all")]
)
def test_the_ladder(n_items: int, rung: str) -> None:
    # two items a card, the last card may have one
    cards = [[(3, 0), (3, 2), (3, 5)] for _ in range(n_items // 2)] + [[(3, 0), (3, 2)]] * (n_items % 2)
    result = fit(made(cards))
    assert (result.n_items, result.rung) == (n_items, rung)
    assert sound(result)
    if rung == "defaults":
        assert result.parameters.tolist() == DEFAULTS.tolist()
    if rung != "all":
        assert result.messages
        assert result.parameters[4:].tolist() == DEFAULTS[4:].tolist()


def test_no_second_later_review_gives_pretrain_only() -> None:
    result = fit(made([[(3, 0), (3 if k % 5 else 1, 1 + k % 3)] for k in range(300)]))
    assert result.rung == "pretrain"
    assert sound(result)
    assert "second later day" in " ".join(result.messages)
    assert result.parameters[2] != DEFAULTS[2]


def test_a_filter_that_leaves_pretrain_nothing() -> None:
    result = fit(made([[(3, 0)] + [(3, 3)] * 9] * 19))
    assert result.n_items == 171
    assert result.rung == "all"
    assert result.pretrained is None
    assert [stage.name for stage in result.stages] == ["train", "finetune"]
    assert "not frozen" in " ".join(result.messages)
    assert (result.parameters[:4] != DEFAULTS[:4]).any()
    assert not any("frozen" in note for note in result.parameter_notes)
    assert sound(result)


@pytest.mark.parametrize("recipe", ["map", "classic"])
@pytest.mark.parametrize(
    "cards",
    [
        pytest.param([[(3, 0), *card[1:]] for card in varied(60)], id="only Good first"),
        pytest.param(varied(60, (1, 3)), id="ratings 1 and 3 only"),
        pytest.param(varied(60, (2, 3, 4)), id="no Again at all"),
        pytest.param([[(1, 0)] + [(1, 1)] * 8 for _ in range(60)], id="all Again"),
        pytest.param(
            [[(3, 0)] + [(3, 0)] * 70 + [(3, 2), (1, 5)] for _ in range(60)], id="70 same-day steps"
        ),
        pytest.param([daily(90, c) for c in range(40)], id="90 daily reviews"),
    ],
)
def test_one_sided_and_long_inputs(cards: list[list[tuple[int, int]]], recipe: str) -> None:
    result = fit(made(cards), recipe=recipe)
    assert sound(result)
    assert result.rung == "all"
    assert len(result.parameter_notes) == 21


def test_notes_tell_fitted_from_filled() -> None:
    data = made([[(3, 0), *card[1:]] for card in varied(80)])
    before = fit(data, stages=["pretrain", "train"])
    assert before.parameter_notes[2].startswith("fitted")
    assert all(before.parameter_notes[k].startswith("filled") for k in (0, 1, 3))
    after = fit(data)
    assert after.parameter_notes[2].startswith("fitted")
    # finetune frees what pretrain filled: it follows the prior and the order of the four
    assert all(after.parameter_notes[k].startswith("no review") for k in (0, 1, 3))
    for result in (before, after):
        assert all("frozen in train" in note for note in result.parameter_notes[:4])
        assert not any("frozen" in note for note in result.parameter_notes[4:])


def test_weights_without_reviews_do_not_hold_back_their_neighbours() -> None:
    # Half of the answers are Again: the data want w2 below the default of w1, of which no review tells.
    cards = [[(3, 0), *((3 if (card + k) % 2 else 1, 3) for k in range(9))] for card in range(19)]
    data = made(cards)
    result = fit(data)
    lower = fit(data, stages=["finetune"])
    assert result.objective is not None
    assert lower.objective is not None
    assert result.parameters[2] < DEFAULTS[1]
    assert (np.diff(result.parameters[:4]) >= 0).all()
    assert result.objective == pytest.approx(lower.objective, rel=1e-4)


def test_a_parameter_that_no_review_tells_about_keeps_its_default() -> None:
    result = fit(made(varied(80, (1, 3))))  # never Hard, never Easy
    for k in (15, 16):
        assert result.parameters[k] == DEFAULTS[k]
        assert "no review" in result.parameter_notes[k]


def test_without_short_term_the_same_day_weights_are_held_at_zero() -> None:
    for recipe in ("map", "classic"):
        result = fit(made(varied(80)), recipe=recipe, short_term=False)
        assert result.parameters[17:20].tolist() == [0.0, 0.0, 0.0]
        assert result.parameter_notes[17:20] == ("held at 0",) * 3
        assert (result.parameters[8:11] != DEFAULTS[8:11]).all()


@pytest.mark.parametrize("recipe", ["map", "classic"])
def test_initial_stabilities_keep_their_bits_through_train(shared_real: Path, recipe: str) -> None:
    data = training_set(real_log(shared_real, "real21"))
    result = fit(data, recipe=recipe, stages=["pretrain", "train"])
    assert result.pretrained is not None
    assert result.parameters[:4].tobytes() == result.pretrained.initial_stability.tobytes()
    moving = fit(data, recipe=recipe, stages=["train"])
    assert (moving.parameters[:3] != DEFAULTS[:3]).all()  # no card of this log was first rated Easy
    if recipe == "map":
        whole = fit(data)
        assert whole.parameters[:4].tolist() != result.parameters[:4].tolist()
        assert whole.objective is not None
        assert result.objective is not None
        assert whole.objective < result.objective


def test_one_long_card_changes_little() -> None:
    cards = varied(1500, seed=4)
    base = fit(made(cards))
    with_long = fit(made([*cards, [(3, 0)] + [(3, 0)] * 3000]))
    np.testing.assert_allclose(with_long.parameters, base.parameters, atol=5e-5)


def rebuilt(log: pd.DataFrame) -> TrainingSet:
    return training_set(histories(log, lambda ms: ms // DAY_MS))


def test_same_parameters_however_the_log_is_laid_out() -> None:
    h = history_of(*varied(200, seed=1))
    card = np.repeat(h.card_id, np.diff(h.offsets))
    log = pd.DataFrame(
        {"review_time": h.review_time, "card_id": card, "rating": h.rating, "kind": np.int8(1)}
    ).astype({"kind": "int8"})
    log.loc[h.offsets[:-1], "kind"] = np.int8(0)
    # times of different cards must differ, or renumbering would reorder equal times
    log["review_time"] += log["card_id"] * 1000
    rng = np.random.default_rng(0)
    shuffled = log.sample(frac=1, random_state=1).reset_index(drop=True)
    renumbered = log.assign(card_id=rng.permutation(10_000)[log["card_id"]].astype(np.int64))
    base = fit(rebuilt(log)).parameters
    assert fit(rebuilt(log)).parameters.tobytes() == base.tobytes()
    assert fit(rebuilt(shuffled)).parameters.tobytes() == base.tobytes()
    assert fit(rebuilt(renumbered)).parameters.tobytes() == base.tobytes()


@pytest.mark.parametrize("recipe", ["map", "classic"])
def test_thread_count_changes_no_bit(recipe: str) -> None:
    data = made(varied(300, seed=2))
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(fit(data, recipe=recipe).parameters.tobytes())
    finally:
        torch.set_num_threads(before)
    assert results[0] == results[1]


def test_classic_batches_hold_every_item_once() -> None:
    data = made(varied(50))
    batches = list(mini_batches(data, 64))
    assert sum(len(batch.labels) for batch in batches) == len(data)
    total = sum(batch.evaluate(DEFAULTS).loss for batch in batches)
    assert total == pytest.approx(windowed_batch(data, kernel="torch").evaluate(DEFAULTS).loss, rel=1e-12)


def test_classic_lowers_its_own_objective(shared_real: Path) -> None:
    data = training_set(real_log(shared_real, "real14"))
    start, trained = fit(data, stages=["pretrain"]), fit(data, recipe="classic")
    assert start.objective is not None
    assert trained.objective is not None
    assert trained.objective < start.objective
    assert [stage.name for stage in trained.stages] == ["pretrain", "train"]
    assert fit(data, recipe="classic").parameters.tobytes() == trained.parameters.tobytes()
    assert fit(data, recipe="classic", seed=1).parameters.tobytes() != trained.parameters.tobytes()


def test_progress_can_stop_the_training() -> None:
    class Stop(Exception):  # noqa: N818
        pass

    seen: list[Progress] = []

    def stop_at_three(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            raise Stop

    with pytest.raises(Stop):
        fit(made(varied(100)), progress=stop_at_three)
    assert [p.stage for p in seen] == ["train"] * 3


@pytest.mark.parametrize(
    "options",
    [
        {"recipe": "classic", "stages": ["finetune"]},
        {"recipe": "best"},
        {"stages": ["pretrain", "polish"]},
        {"relearning_steps": -1},
    ],
)
def test_options_that_mean_nothing(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        fit(made(varied(10)), **options)


@pytest.mark.parametrize("name", ["real36", "real16", "real06"])
def test_watching_the_progress_changes_nothing(shared_real: Path, name: str) -> None:
    data = training_set(real_log(shared_real, name))
    seen: list[Progress] = []
    alone, watched = fit(data), fit(data, progress=seen.append)
    assert watched.parameters.tobytes() == alone.parameters.tobytes()
    assert watched.stages == alone.stages
    assert watched.objective == alone.objective
    finetune = [p.passes for p in seen if p.stage == "finetune"]
    assert finetune == list(range(finetune[0], alone.stages[2].passes + 1))
    assert finetune[0] in (0, 1)  # 0: it begins with the pass that train ended with


def test_the_objective_at_the_end_is_j_there(shared_real: Path) -> None:
    data = training_set(real_log(shared_real, "real11"))
    for stages in (["pretrain"], ["pretrain", "train"], ["finetune"], ["pretrain", "train", "finetune"]):
        result = fit(data, stages=stages)
        j = map_objective(data).evaluate(result.parameters).loss
        assert result.objective == pytest.approx(j, rel=1e-12)


def test_train_ends_where_finetune_can_go_on(shared_real: Path) -> None:
    data = training_set(real_log(shared_real, "real02"))
    whole, train = fit(data), fit(data, stages=["pretrain", "train"])
    assert whole.stages[1].passes < train.stages[1].passes


@pytest.mark.parametrize("name", ["real36", "real16"])
def test_passes_are_those_that_were_made(
    shared_real: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = training_set(real_log(shared_real, name))
    made = 0
    evaluate = WindowedBatch.evaluate

    def counted(self: WindowedBatch, w: np.ndarray, *, fisher: bool = False) -> PassResult:
        nonlocal made
        made += 1
        return evaluate(self, w, fisher=fisher)

    monkeypatch.setattr(WindowedBatch, "evaluate", counted)
    result = fit(data, kernel="torch")
    assert sum(stage.passes for stage in result.stages) == made


def test_a_result_is_a_plain_value() -> None:
    result = fit(made(varied(60)))
    for copied in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert copied.parameters.tobytes() == result.parameters.tobytes()
        assert copied.parameter_notes == result.parameter_notes
        assert copied.fisher.tobytes() == result.fisher.tobytes()

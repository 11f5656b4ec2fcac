"""Ids belong to the parameters of a module, and stay with them."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref

import pytest
import torch
from torch import nn

from fsrs_opt.gradients.identity import id_of, ids, parameters_by_id, renew_ids, set_ids
from fsrs_opt.gradients.param_id import ParamId


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight


def test_ids_follow_named_parameters_and_stay() -> None:
    model = net()
    first = ids(model)
    assert list(first) == [name for name, _ in model.named_parameters()]
    assert len(set(first.values())) == 4
    assert ids(model) == first
    assert ids(model[2]) == {"weight": first["2.weight"], "bias": first["2.bias"]}
    assert {key: id(p) for key, p in parameters_by_id(model).items()} == {
        first[name]: id(p) for name, p in model.named_parameters()
    }


def test_id_of_a_parameter_and_of_an_id() -> None:
    model = net()
    known = ids(model)
    assert id_of(model[0].weight) == known["0.weight"]
    assert id_of(known["0.bias"]) == known["0.bias"]
    with pytest.raises(ValueError, match="has no parameter id"):
        id_of(nn.Parameter(torch.zeros(2)))
    with pytest.raises(TypeError, match="not str"):
        id_of("0.weight")  # type: ignore[arg-type]


def test_ids_survive_deepcopy_and_pickle() -> None:
    model = net()
    known = ids(model)
    assert ids(copy.deepcopy(model)) == known
    assert ids(copy.deepcopy(copy.deepcopy(model))) == known
    assert ids(pickle.loads(pickle.dumps(model))) == known


def test_ids_survive_conversions_that_make_new_parameters() -> None:
    model = net()
    known = ids(model)
    assert ids(model.to(torch.float64)) == known
    before = model[0].weight
    model.to("meta")
    assert model[0].weight is not before  # otherwise this test shows nothing
    assert ids(model) == known
    assert ids(model.to_empty(device="cpu")) == known


@pytest.mark.parametrize("assign", [False, True])
def test_ids_survive_a_state_dict(assign: bool) -> None:
    model = net()
    known = ids(model)
    file = io.BytesIO()
    torch.save(model.state_dict(keep_vars=True), file)
    file.seek(0)
    model.load_state_dict(torch.load(file, weights_only=True), assign=assign)
    assert ids(model) == known


def test_a_tied_parameter_has_one_id() -> None:
    model = Tied()
    known = ids(model)
    assert list(known) == ["a.weight"]
    assert ids(model.b) == {"weight": known["a.weight"]}
    assert ids(copy.deepcopy(model)) == known


def test_a_parameter_handed_on_keeps_its_id() -> None:
    one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    known = ids(one)
    ids(other)
    other.weight = one.weight
    assert ids(other)["weight"] == known["weight"]


def test_two_parameters_with_one_id_are_refused_until_renewed() -> None:
    layer = nn.Linear(2, 2)
    known = ids(layer)
    both = nn.Sequential(layer, copy.deepcopy(layer))
    with pytest.raises(ValueError, match=r"'0\.weight' and '1\.weight' have the same id .* renew_ids"):
        ids(both)
    renew_ids(both[1])
    assert len(set(ids(both).values())) == 4
    assert ids(layer) == known


def test_set_ids_gives_and_refuses() -> None:
    model = net()
    before = ids(model)
    set_ids(model, {"0.bias": ParamId(7)})
    assert ids(model) == before | {"0.bias": ParamId(7)}
    swapped = {"0.bias": before["0.weight"], "0.weight": ParamId(7)}
    set_ids(model, swapped)
    assert ids(model) == before | swapped
    now = ids(model)
    for wrong, message in [
        ({"0.bias": ParamId(1), "x": ParamId(9)}, "no parameter 'x'"),
        ({"0.bias": ParamId(1), "0.weight": ParamId(1)}, "two parameters"),
        ({"0.bias": now["2.bias"]}, "two parameters"),
    ]:
        with pytest.raises(ValueError, match=message):
            set_ids(model, wrong)
        assert ids(model) == now


def test_set_ids_of_a_tied_parameter() -> None:
    model = Tied()
    set_ids(model, {"b.weight": ParamId(3)})
    assert ids(model) == {"a.weight": ParamId(3)}
    assert ids(copy.deepcopy(model)) == {"a.weight": ParamId(3)}
    with pytest.raises(ValueError, match="two ids"):
        set_ids(model, {"a.weight": ParamId(4), "b.weight": ParamId(5)})


def test_nothing_keeps_a_module_alive() -> None:
    model = net()
    known = ids(model)
    gone = [weakref.ref(model), *(weakref.ref(p) for p in model.parameters())]
    del model
    gc.collect()
    assert len(known) == 4
    assert [ref() for ref in gone] == [None] * 5

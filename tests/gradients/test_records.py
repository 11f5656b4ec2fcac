"""Records: parameters and ids to and from JSON and safetensors, old forms, and what is refused."""

from __future__ import annotations

import json
import math
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from fsrs_opt.errors import FsrsOptError
from fsrs_opt.gradients.identity import ids, set_ids
from fsrs_opt.gradients.param_id import ParamId
from fsrs_opt.gradients.records import Record, load_record, record_of, restore, save_record
from fsrs_opt.model.parameters import convert

SUFFIXES = pytest.mark.parametrize("suffix", [".json", ".safetensors"])


class Weights(nn.Module):
    def __init__(self, n: int = 21, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.arange(n, dtype=dtype) / 7)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    whole = {torch.float32: torch.int32, torch.float64: torch.int64}[a.dtype]
    return a.dtype == b.dtype and torch.equal(a.detach().view(whole), b.detach().view(whole))


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def header(values: list[float], param_id: str = "0000000000000", version: int = 3) -> dict[str, Any]:
    entry = {"id": param_id, "dtype": "float64", "shape": [len(values)], "values": values}
    return {"format": "fsrs-opt-record", "version": version, "metadata": {}, "parameters": {"w": entry}}


@SUFFIXES
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_module_comes_back_with_values_ids_and_metadata(
    tmp_path: Path, suffix: str, dtype: torch.dtype
) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1, bias=False)).to(dtype)
    path = tmp_path / f"model{suffix}"
    save_record(path, model, {"items": 171, "note": "trained", "loss": 0.5})
    record = load_record(path)
    assert record.ids == ids(model)
    assert list(record.tensors) == ["0.weight", "0.bias", "1.weight"]
    assert record.metadata == {"items": 171, "note": "trained", "loss": 0.5}
    other = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1, bias=False)).to(dtype)
    restore(other, record)
    assert ids(other) == ids(model)
    assert all(same_bits(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


@SUFFIXES
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8),
    double=st.booleans(),
    value=st.integers(0, 2**64 - 1),
)
def test_any_finite_number_comes_back_bit_by_bit(
    tmp_path: Path, suffix: str, values: list[float], double: bool, value: int
) -> None:
    tensor = torch.tensor(values, dtype=torch.float64 if double else torch.float32)
    tensor[tensor.isinf()] = 0.1  # too large for float32
    path = tmp_path / f"record{suffix}"
    save_record(path, Record({"w": tensor}, {"w": ParamId(value)}))
    record = load_record(path)
    assert same_bits(record.tensors["w"], tensor)
    assert record.ids["w"].value == value


@SUFFIXES
def test_single_numbers_transposed_and_shared_tensors(tmp_path: Path, suffix: str) -> None:
    base = torch.arange(6.0).reshape(2, 3)
    tensors = {"t": base.t(), "row": base[0], "one": torch.tensor(-0.0), "none": torch.zeros(0, 2)}
    record = Record(tensors, {name: ParamId(i) for i, name in enumerate(tensors)})
    save_record(tmp_path / f"r{suffix}", record)
    loaded = load_record(tmp_path / f"r{suffix}").tensors
    assert loaded["t"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert loaded["row"].tolist() == [0, 1, 2]
    assert math.copysign(1, loaded["one"].item()) == -1
    assert loaded["one"].shape == ()
    assert loaded["none"].shape == (0, 2)
    loaded["t"].add_(1)  # its own memory, writable


def test_the_json_layout_is_the_documented_one(tmp_path: Path) -> None:
    model = Weights(2)
    set_ids(model, {"w": ParamId(1)})
    save_record(tmp_path / "w.json", model)
    entry = {"id": "0400000000000", "dtype": "float32", "shape": [2], "values": [0, 0.1428571492433548]}
    assert json.loads((tmp_path / "w.json").read_text()) == {
        "format": "fsrs-opt-record",
        "version": 3,
        "metadata": {},
        "parameters": {"w": entry},
    }


def test_any_safetensors_reader_finds_the_tensors(tmp_path: Path) -> None:
    model = Weights()
    save_record(tmp_path / "w.safetensors", model)
    assert same_bits(safetensors.torch.load_file(tmp_path / "w.safetensors")["w"], model.w)


def test_a_record_is_a_copy(tmp_path: Path) -> None:
    model = Weights()
    record = record_of(model)
    with torch.no_grad():
        model.w.add_(1)
    assert record.tensors["w"][0] == 0


@SUFFIXES
def test_the_kind_is_known_by_content_not_by_name(tmp_path: Path, suffix: str) -> None:
    model = Weights()
    save_record(tmp_path / f"a{suffix}", model)
    (tmp_path / f"a{suffix}").rename(tmp_path / "a.model")
    assert load_record(tmp_path / "a.model").ids == ids(model)


# The 17 FSRS-4.5 values 1..17: w4 = 5 + 2 * 6, w5 = ln(3 * 6 + 1) / 3, w6 = 7 + 0.5, then 0, 0, 0, 0.5.
SEVENTEEN = [float(i) for i in range(1, 18)]
FROM_17 = [1, 2, 3, 4, 17, math.log(19) / 3, 7.5, *range(8, 18), 0, 0, 0, 0.5]
# The 19 FSRS-5 values: append 0, 0.5.
NINETEEN = [float(i) for i in range(1, 20)]
FROM_19 = [*range(1, 20), 0, 0.5]


@pytest.mark.parametrize(
    ("version", "param_id", "value"),
    [
        # RFC 4648: "foobar" is CPNMUOJ1E8 in this alphabet; little-endian with two zero bytes above.
        (2, "cpnmuoj1e8", int.from_bytes(b"foobar", "little")),
        # sha256sum of the 16 bytes begins 20 65 bb 2b 1f f8 1c b6.
        (1, "123e4567-e89b-12d3-a456-426614174000", 0xB61CF81F2BBB6520),
    ],
)
@pytest.mark.parametrize(("values", "expected"), [(SEVENTEEN, FROM_17), (NINETEEN, FROM_19)])
def test_older_versions_load(
    tmp_path: Path, version: int, param_id: str, value: int, values: list[float], expected: list[float]
) -> None:
    record = load_record(written(tmp_path / "old.json", header(values, param_id, version)))
    assert record.tensors["w"].tolist() == values  # what the file says
    model = Weights(dtype=torch.float64)
    restore(model, record, convert)
    assert model.w.tolist() == pytest.approx(expected, rel=1e-15)
    assert ids(model) == {"w": ParamId(value)}
    save_record(tmp_path / "new.json", model)
    assert load_record(tmp_path / "new.json").ids == {"w": ParamId(value)}


def test_an_older_safetensors_file_loads(tmp_path: Path) -> None:
    about = {"format": "fsrs-opt-record", "version": 2, "parameters": {"w": {"id": "cpnmuoj1e8"}}}
    safetensors.torch.save_file(
        {"w": torch.tensor(NINETEEN)}, tmp_path / "old.safetensors", {"fsrs-opt-record": json.dumps(about)}
    )
    model = Weights()
    restore(model, load_record(tmp_path / "old.safetensors"), convert)
    assert model.w.tolist() == FROM_19


def test_values_that_fit_are_not_converted(tmp_path: Path) -> None:
    model = Weights()
    save_record(tmp_path / "w.json", model)
    other = Weights()
    restore(other, load_record(tmp_path / "w.json"), lambda values: [0.0] * len(values))
    assert same_bits(other.w, model.w)


@SUFFIXES
def test_a_newer_version_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"new{suffix}"
    about = {"format": "fsrs-opt-record", "version": 4, "parameters": "all is different there"}
    if suffix == ".json":
        written(path, about)
    else:
        safetensors.torch.save_file({"w": torch.zeros(1)}, path, {"fsrs-opt-record": json.dumps(about)})
    with pytest.raises(
        FsrsOptError, match=r"new\.\w+ is a record of format version 4, newer than the 3 .* update"
    ):
        load_record(path)


def broken(**changes: Any) -> dict[str, Any]:
    found = header([1.0, 2.0])
    found["parameters"]["w"].update(changes)
    return found


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        '{"format": "something else", "version": 3}',
        json.dumps(header([1.0]))[:-5],
        json.dumps(header([1.0])).replace("1.0", "NaN"),
        json.dumps(header([1.0])).replace("1.0", "-Infinity"),
        json.dumps(header([1.0])).replace("1.0", "1e999"),
        json.dumps(header([1.0])).replace("1.0", "9" * 400),
        json.dumps(header([1.0])).replace('"version": 3', '"version": 3, "version": 3'),
        "[" * 100_000,
        {"format": "fsrs-opt-record", "parameters": {}},
        header([1.0], version=0),
        {**header([1.0]), "version": True},
        {**header([1.0]), "version": "3"},
        {**header([1.0]), "metadata": 5},
        {**header([1.0]), "metadata": {"loss": math.nan}},
        {**header([1.0]), "parameters": [1]},
        {**header([1.0]), "parameters": {"w": [1]}},
        {**header([1.0]), "parameters": {"w": {}}},
        {**header([1.0]), "parameters": {name: header([1.0])["parameters"]["w"] for name in "vw"}},  # one id
        broken(id="0000000000001"),
        broken(id=None),
        broken(dtype="float16"),
        broken(dtype=["float32"]),
        broken(dtype="float32", values=[1.0, 1e39]),  # not finite in float32
        broken(shape=[3]),
        broken(shape=[-1, -2]),
        broken(shape=2),
        broken(shape=[2.0]),
        broken(values=[1.0, "2"]),
        broken(values=[1.0, True]),
        broken(values=[1.0, None]),
        broken(values={"0": 1.0, "1": 2.0}),
    ],
)
def test_damage_is_one_sentence_that_names_the_file(tmp_path: Path, content: Any) -> None:
    path = written(tmp_path / "damaged.json", content)
    with pytest.raises(FsrsOptError) as error:
        load_record(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    "tensors",
    [
        {"w": torch.tensor([float("nan")])},
        {"w": torch.tensor([float("inf")])},
        {"w": torch.tensor([1])},
        {"v": torch.tensor([1.0])},
        {"w": torch.tensor([1.0]), "v": torch.tensor([1.0])},
        {},
    ],
)
def test_a_safetensors_file_that_is_no_record(tmp_path: Path, tensors: dict[str, torch.Tensor]) -> None:
    path = tmp_path / "x.safetensors"
    about = {"format": "fsrs-opt-record", "version": 3, "parameters": {"w": {"id": "0000000000000"}}}
    safetensors.torch.save_file(tensors, path, {"fsrs-opt-record": json.dumps(about)})
    with pytest.raises(FsrsOptError, match=r"x\.safetensors is damaged"):
        load_record(path)
    safetensors.torch.save_file(tensors, path)  # without our own part
    with pytest.raises(FsrsOptError, match=r"x\.safetensors is no record"):
        load_record(path)


def test_no_cut_of_a_safetensors_file_is_read(tmp_path: Path) -> None:
    save_record(tmp_path / "w.safetensors", Weights())
    whole = (tmp_path / "w.safetensors").read_bytes()
    for cut in [0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:cut])
        with pytest.raises(FsrsOptError, match="damaged or no record"):
            load_record(tmp_path / "cut")
    (tmp_path / "cut").write_bytes(struct.pack("<Q", 2**63) + whole[8:])
    with pytest.raises(FsrsOptError, match="damaged or no record"):
        load_record(tmp_path / "cut")


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(FsrsOptError, match="cannot be read"):
            load_record(path)


@SUFFIXES
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite_are_not_written(tmp_path: Path, suffix: str, value: float) -> None:
    model = Weights()
    path = tmp_path / f"w{suffix}"
    save_record(path, model)
    before = path.read_bytes()
    with torch.no_grad():
        model.w[3] = value
    with pytest.raises(FsrsOptError, match="w holds values that are not finite"):
        save_record(path, model)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@SUFFIXES
@pytest.mark.parametrize("metadata", [{"loss": float("nan")}, {"path": Path("x")}])
def test_metadata_that_is_not_json_is_not_written(tmp_path: Path, suffix: str, metadata: Any) -> None:
    with pytest.raises(FsrsOptError, match="metadata is not plain JSON"):
        save_record(tmp_path / f"w{suffix}", Weights(), metadata)
    assert not list(tmp_path.iterdir())


def test_other_misuse_of_saving(tmp_path: Path) -> None:
    with pytest.raises(FsrsOptError, match=r"w is torch\.float16"):
        save_record(tmp_path / "w.json", Weights().half())
    with pytest.raises(ValueError, match="own metadata"):
        save_record(tmp_path / "w.json", record_of(Weights()), {"a": 1})
    with pytest.raises(ValueError, match="not of the same parameters"):
        Record({"w": torch.zeros(1)}, {})
    with pytest.raises(FsrsOptError, match="cannot be written"):
        save_record(tmp_path / "no folder" / "w.json", Weights())


def test_without_safetensors_one_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_record(tmp_path / "w.safetensors", Weights())
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    for call in (
        lambda: save_record(tmp_path / "v.safetensors", Weights()),
        lambda: load_record(tmp_path / "w.safetensors"),
    ):
        with pytest.raises(FsrsOptError, match=r"needs the package safetensors: run pip install safetensors"):
            call()
    save_record(tmp_path / "w.json", Weights())  # JSON needs nothing
    load_record(tmp_path / "w.json")


@pytest.mark.parametrize(
    ("model", "record", "message"),
    [
        (Weights(), record_of(nn.Linear(1, 1)), "holds the parameters bias, weight, the model has w"),
        (Weights(), record_of(Weights(dtype=torch.float64)), r"call model.to\(torch.float64\) first"),
        (Weights(), record_of(Weights(20)), "the values of w in the record do not convert"),
        (nn.Linear(2, 3), record_of(nn.Linear(3, 3)), "do not convert|with shape"),
        (Weights(20), record_of(Weights(17)), r"with shape \(21,\), the model with \(20,\)"),
    ],
)
def test_a_record_of_another_model_changes_nothing(model: nn.Module, record: Record, message: str) -> None:
    before = record_of(model)
    with pytest.raises(FsrsOptError, match=message):
        restore(model, record, convert)
    after = record_of(model)
    assert after.ids == before.ids
    assert all(same_bits(after.tensors[name], before.tensors[name]) for name in before.tensors)


def test_without_convert_another_length_is_refused() -> None:
    with pytest.raises(FsrsOptError, match=r"holds w with shape \(19,\), the model with \(21,\)"):
        restore(Weights(), record_of(Weights(19)))

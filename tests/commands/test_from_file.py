"""Parameters from files: what the commands write, and what people write."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsrs_opt.commands.from_file import read_parameters
from fsrs_opt.errors import FsrsOptError, SourceError
from fsrs_opt.model.parameters import DEFAULTS, convert

W = DEFAULTS.tolist()
NUMBERS = ", ".join(f"{value:.4f}" for value in W)
OTHER = [*W[:20], 0.2]
FSRS5 = W[:19]
FSRS45 = W[:17]


def written(folder: Path, text: str | bytes, name: str = "parameters.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        NUMBERS,
        NUMBERS + "\r\n",
        NUMBERS.replace(", ", " "),
        NUMBERS.replace(", ", ";\t"),
        f"[{NUMBERS}]",
        f"({NUMBERS},)",
        f'"{NUMBERS}"',
        f"w = [{NUMBERS}]",
        f'"w": [{NUMBERS}],',
        f"# mine, of 2024\n\n{NUMBERS}  # FSRS-6\n",
        NUMBERS.replace(", ", ",\n"),
        json.dumps(W),
        json.dumps({"parameters": W}),
        json.dumps({"w": W}),
        "\ufeff" + NUMBERS,
    ],
)
def test_numbers_as_people_write_them(tmp_path: Path, text: str) -> None:
    assert read_parameters(written(tmp_path, text)).single.tolist() == W


def test_what_powershell_writes(tmp_path: Path) -> None:
    assert read_parameters(written(tmp_path, NUMBERS.encode("utf-16"))).single.tolist() == W


@pytest.mark.parametrize("older", [FSRS5, FSRS45])
def test_older_lengths_are_converted_and_said(tmp_path: Path, older: list[float]) -> None:
    found = read_parameters(written(tmp_path, " ".join(map(str, older))))
    np.testing.assert_allclose(found.single, convert(older))
    assert f"The {len(older)} parameters were converted" in found.notes[0]


def test_values_beyond_their_limits_are_brought_to_them_and_said(tmp_path: Path) -> None:
    found = read_parameters(written(tmp_path, " ".join(map(str, [500, *W[1:]]))))
    assert found.single[0] == 100.0
    assert found.notes == ("Parameters beyond their limits were brought to them: w0.",)


def test_the_object_of_optimize(tmp_path: Path) -> None:
    result = {
        "format": "fsrs-opt.optimize/1",
        "parameters": W,
        "new_parameters": OTHER,
        "verdict": {
            "decision": "keep",
            "sentence": "Keep.",
            "gain": {"mean": 0.1, "low": -0.1, "high": None},
        },
    }
    found = read_parameters(written(tmp_path, json.dumps(result)))
    assert found.single.tolist() == OTHER  # the fitted ones, and the verdict on them
    assert (found.verdict.decision, found.verdict.gain, found.verdict.high) == ("keep", 0.1, None)
    assert found.by_preset == {}
    asked = {**result, "selection": {"asked": {"presets": ["Übung"]}}}
    found = read_parameters(written(tmp_path, json.dumps(asked)))
    assert list(found.by_preset) == list(found.verdicts) == ["Übung"]
    assert found.single is not None


def test_the_object_of_all_presets(tmp_path: Path) -> None:
    one = {"new_parameters": W, "verdict": {"decision": "change", "sentence": "", "gain": None}}
    presets = [
        {"preset": "A", "result": one, "error": None},
        {"preset": "B", "result": {**one, "new_parameters": OTHER}, "error": None},
        {"preset": "C", "result": None, "error": "Too few."},
    ]
    text = json.dumps({"format": "fsrs-opt.optimize-presets/1", "presets": presets})
    found = read_parameters(written(tmp_path, text))
    assert found.single is None
    assert {name: w.tolist() for name, w in found.by_preset.items()} == {"A": W, "B": OTHER}
    assert found.verdicts["A"].decision == "change"
    assert found.notes == ("The preset “C” has no parameters: Too few.",)
    text = json.dumps({"format": "fsrs-opt.optimize-presets/1", "presets": presets[2:]})
    with pytest.raises(SourceError, match=r"holds no parameters \(The preset “C” has no"):
        read_parameters(written(tmp_path, text))


def test_lines_of_batch(tmp_path: Path) -> None:
    lines = [json.dumps({"user": 1, "metrics": {}, "size": 9, "parameters": W})]
    assert read_parameters(written(tmp_path, lines[0])).single.tolist() == W
    by_part = json.dumps({"user": 1, "parameters": {"0": W}})
    assert read_parameters(written(tmp_path, by_part)).single.tolist() == W
    of_preset = {"parameters": {"17": OTHER}, "preset": "A", "verdict": "change", "path": "/x/a.colpkg"}
    found = read_parameters(written(tmp_path, json.dumps(of_preset)))
    assert found.by_preset["A"].tolist() == OTHER
    assert found.verdicts["A"].decision == found.verdict.decision == "change"
    lines += [json.dumps({"user": 2, "parameters": OTHER})]
    with pytest.raises(SourceError, match="holds 2 sets of parameters and does not say which preset"):
        read_parameters(written(tmp_path, "\n".join(lines)))
    named = "\n".join(json.dumps({"preset": name, "parameters": W}) for name in ("A", "B"))
    assert set(read_parameters(written(tmp_path, named)).by_preset) == {"A", "B"}


def test_lines_of_several_collections(tmp_path: Path) -> None:
    lines = [
        json.dumps({"parameters": {"0": w}, "path": f"{tmp_path}/{name}"})
        for name, w in (("a", W), ("b", OTHER))
    ]
    path = written(tmp_path, "\n".join(lines))
    assert read_parameters(path, of=tmp_path / "b").single.tolist() == OTHER
    with pytest.raises(SourceError, match="the parameters of 2 collections: put the line"):
        read_parameters(path)
    with pytest.raises(SourceError, match="2 collections, and elsewhere is none of them"):
        read_parameters(path, of="elsewhere")
    assert read_parameters(written(tmp_path, lines[0]), of="moved").single.tolist() == W


@pytest.mark.parametrize(
    ("what", "preset"),
    [
        ({"selection": {"asked": {"decks": ["D"], "presets": []}}}, ""),
        ({"selection": {"asked": {"tags": ["t"], "presets": ["A"]}}}, "A"),
        ({"selection": {"asked": {"presets": ["A", "B"]}}}, ""),
        ({"options": {"deck": ["D"]}}, ""),
        ({"options": {"preset": ["A", "B"]}}, ""),
        ({"deck": "D"}, ""),
    ],
)
def test_a_verdict_on_other_reviews_than_a_presets_is_left_out(
    tmp_path: Path, what: dict[str, object], preset: str
) -> None:
    text = json.dumps({"parameters": {"0": W}, "verdict": "change", **what})
    found = read_parameters(written(tmp_path, text))
    assert (list(found.by_preset), found.verdict) == ([preset] if preset else [], None)
    assert found.single.tolist() == W


def test_batch_of_one_preset_names_it(tmp_path: Path) -> None:
    line = {"parameters": {"0": W}, "verdict": "change", "options": {"evaluate": True, "preset": ["A"]}}
    found = read_parameters(written(tmp_path, json.dumps(line)))
    assert found.verdicts["A"].decision == "change"


def test_presets_by_name(tmp_path: Path) -> None:
    found = read_parameters(written(tmp_path, json.dumps({"A": W, "B": OTHER})))
    assert {name: w.tolist() for name, w in found.by_preset.items()} == {"A": W, "B": OTHER}
    with pytest.raises(SourceError, match="several sets of parameters for the preset “a”"):
        read_parameters(written(tmp_path, json.dumps({"a": W, "A": OTHER})))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no parameters"),
        ("# nothing\n", "holds no parameters"),
        ("{}", "holds no parameters|is no number"),
        ('{"a": 1}', "holds no parameters"),
        ('{"format": "fsrs-opt.inspect/1", "presets": []}', "holds no parameters"),
        ("1 2 3", r"cannot be used: FSRS has 21 parameters \(or 19 or 17 in older versions\), not 3"),
        ("hello", "“hello” is no number"),
        (f"{NUMBERS}\n{NUMBERS}", "holds 2 sets"),
        (NUMBERS.replace("0.2120", "nan"), "must be finite"),
        ('{"parameters": [1, "x"]}', "are not all numbers"),
        ('{"parameters": [true]}', "are not all numbers"),
        ('{"parameters": [1,', "is no readable JSON"),
        (b"\x00\xff\xfe\x01", "is no text file"),
        ("[" * 100_000, "holds no parameters"),
        ('{"a":' * 100_000, "is no readable JSON"),
        (json.dumps({"parameters": [10**400] * 21}), "cannot be used"),
    ],
)
def test_what_is_wrong_is_one_sentence_that_names_the_file(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SourceError, match=message) as caught:
        read_parameters(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        read_parameters(tmp_path / "missing")
    with pytest.raises(SourceError, match="is a folder"):
        read_parameters(tmp_path)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.text(max_size=5)
    | st.just(W)
    | st.just("fsrs-opt.optimize-presets/1"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["format", "presets", "preset", "result", "parameters", "verdict", "selection", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=200) | JSON.map(json.dumps))
def test_never_anything_but_parameters_or_a_sentence(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.getbasetemp(), text.encode("utf-8", "replace"), "any.txt")
    try:
        found = read_parameters(path)
    except FsrsOptError:
        return
    for w in (*found.by_preset.values(), *([] if found.single is None else [found.single])):
        assert w.shape == (21,)
        assert np.isfinite(w).all()


def test_a_verdict_on_what_was_fitted_to_is_none(tmp_path: Path) -> None:
    verdict = {"decision": "change", "sentence": "", "basis": "in-sample"}
    (tmp_path / "a.json").write_text(json.dumps({"new_parameters": W, "verdict": verdict}))
    of_batch = {"parameters": {"0": OTHER}, "verdict": "change", "held_out": False}
    (tmp_path / "b.jsonl").write_text(json.dumps(of_batch) + "\n")
    assert read_parameters(tmp_path / "a.json").verdict is None
    assert read_parameters(tmp_path / "b.jsonl").verdict is None
    (tmp_path / "b.jsonl").write_text(json.dumps({**of_batch, "held_out": True}) + "\n")
    assert read_parameters(tmp_path / "b.jsonl").verdict.decision == "change"


def test_the_lines_of_several_decks_are_told_from_those_of_presets(tmp_path: Path) -> None:
    lines = [{"parameters": {str(k): W}, "deck": f"D{k}", "path": "/x/a.colpkg"} for k in (1, 2)]
    (tmp_path / "results.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(SourceError, match="2 decks, and Anki keeps them by preset"):
        read_parameters(tmp_path / "results.jsonl")

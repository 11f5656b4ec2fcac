from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from fsrs_opt.commands import as_json
from fsrs_opt.commands.inspect_file import inspect_file
from fsrs_opt.reviews.history import REASONS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "json.md"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json.dumps({"objective": value})


def test_one_object_in_utf8() -> None:
    value = {"name": "Übung „zwei“\n", "broken": "caf\udce9", "numbers": [0.1, 1e-7, 3]}
    raw = as_json.dumps(value)
    assert json.loads(raw.decode("utf-8")) == {**value, "broken": "caf?"}
    assert "Übung" in raw.decode("utf-8")


def test_nonsense_stored_in_a_preset_is_no_number(data: Path) -> None:
    assert as_json.finite(math.nan) is None
    assert as_json.finite(-math.inf) is None
    assert as_json.finite(0.9) == 0.9
    as_json.dumps(as_json.inspected(inspect_file(data / "sample.colpkg")))


def test_every_key_is_documented(data: Path) -> None:
    documented = DOCS.read_text("utf-8")
    seen = as_json.inspected(inspect_file(data / "sample.colpkg"))
    keys = {*seen, *seen["source"], *seen["day"], *seen["counts"], *seen["decks"][0], *seen["presets"][0]}
    for key in keys | set(REASONS) | set(seen["kinds"]):
        assert (
            f"`{key}`" in documented
            or f" {key}," in documented
            or f"{{{key}" in documented
            or (f" {key}}}" in documented)
        ), key
    for name in (as_json.OPTIMIZE_FORMAT, as_json.INSPECT_FORMAT, as_json.EXPORT_FORMAT):
        assert f"## {name}" in documented

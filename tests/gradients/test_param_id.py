"""ParamId: text forms, order, strictness. The outside oracle is Python's base64.b32hexencode."""

from __future__ import annotations

import base64
import copy
import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsrs_opt.gradients.param_id import ParamId

values = st.integers(0, 2**64 - 1)


def encoded(raw: bytes) -> str:
    return base64.b32hexencode(raw).decode().rstrip("=").lower()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        # Nothing but zero bits: 13 times the digit 0.
        (0, "0000000000000"),
        # Bytes 01 00 ...: the first byte 00000001 splits into 00000 | 001.., and with the zeros after it the
        # second group is 00100 = 4.
        (1, "0400000000000"),
        # 64 one bits: 12 groups of 11111 = 31 = v, then the last 4 ones and the padding zero, 11110 = 30 = u.
        (2**64 - 1, "vvvvvvvvvvvvu"),
        # Little-endian bytes 00 01 02 03 04 05 06 07. The first five are
        #   00000 000|00 00000 1|0000 0010|0 00000 11|000 00100 = 0 0 0 16 4 0 24 4 = 000g40o4,
        # the other three 00000 101|00 00011 0|0000 0111(0) = 0 20 3 0 14 = 0k30e.
        (0x0706050403020100, "000g40o40k30e"),
        # Only the highest byte, 80, which is written last: bits 56..63 are 10000000. Eleven digits hold bits
        # 0..54; the twelfth bits 55..59, 0|1000 = 8; the last bits 60..63 and the padding, 0.
        (0x80 << 56, "0000000000080"),
    ],
)
def test_known_texts(value: int, text: str) -> None:
    assert str(ParamId(value)) == text
    assert ParamId.parse(text) == ParamId(value)


@given(values)
def test_text_is_base32hex_of_the_little_endian_bytes(value: int) -> None:
    text = encoded(value.to_bytes(8, "little"))
    assert str(ParamId(value)) == text
    assert ParamId.parse(text).value == value


@given(values)
def test_pickle_copy_and_repr_give_the_same_id(value: int) -> None:
    param_id = ParamId(value)
    for same in (pickle.loads(pickle.dumps(param_id)), copy.deepcopy(param_id), eval(repr(param_id))):
        assert same == param_id
        assert hash(same) == hash(param_id)


@given(st.binary(min_size=6, max_size=6))
def test_six_byte_ids_have_zero_high_bytes(raw: bytes) -> None:
    param_id = ParamId.parse(encoded(raw))
    assert param_id.value == int.from_bytes(raw + b"\0\0", "little")
    assert ParamId.parse(str(param_id)) == param_id  # saved again, in the form of today


def test_six_byte_id_of_the_rfc() -> None:
    # RFC 4648, section 10: BASE32-HEX("foobar") = "CPNMUOJ1E8======"
    assert ParamId.parse("cpnmuoj1e8").value == int.from_bytes(b"foobar", "little")


@pytest.mark.parametrize(
    ("uuid", "value"),
    [
        # sha256sum of 16 zero bytes begins 37 47 08 ff f7 71 9d d5; least significant first.
        ("00000000-0000-0000-0000-000000000000", 0xD59D71F7FF084737),
        # sha256sum of the 16 bytes 12 3e 45 ... 40 00 begins 20 65 bb 2b 1f f8 1c b6.
        ("123e4567-e89b-12d3-a456-426614174000", 0xB61CF81F2BBB6520),
    ],
)
def test_uuids_are_hashed_by_sha256(uuid: str, value: int) -> None:
    assert ParamId.parse(uuid).value == value


def test_uuid_hash_is_the_same_in_every_process() -> None:
    uuid = "7a0e7b6e-3f57-4c19-9be0-0c3d2bb2a1f4"
    code = f"from fsrs_opt.gradients.param_id import ParamId; print(ParamId.parse({uuid!r}))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert texts == {str(ParamId.parse(uuid))}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "000000000000",  # 12 and 14 digits
        "00000000000000",
        "000000000",  # 9 and 11
        "00000000000",
        "0000000000001",  # the 65th bit is set
        "0000000001",  # bits 49 and 50
        "0000000002",
        "VVVVVVVVVVVVU",
        "vvvvvvvvvvvvU",
        "wvvvvvvvvvvvu",
        "0000000000000===",
        "0000000000000\n",
        " 0000000000000",
        "00000_0000000",
        "+000000000000",
        "\u0660" * 13,  # digits, but not ASCII
        "123e4567e89b12d3a456426614174000",  # a UUID without dashes
        "123E4567-E89B-12D3-A456-426614174000",
        "{123e4567-e89b-12d3-a456-426614174000}",
        "123e4567-e89b-12d3-a456-42661417400g",
        "123e4567-e89b-12d3-a4564-26614174000",
    ],
)
def test_anything_else_is_an_error_that_shows_the_text(text: str) -> None:
    with pytest.raises(ValueError, match="is not a parameter id") as error:
        ParamId.parse(text)
    assert repr(text) in str(error.value)


@given(st.text(max_size=40))
def test_a_text_parses_only_if_it_is_canonical(text: str) -> None:
    try:
        param_id = ParamId.parse(text)
    except ValueError as error:
        assert repr(text) in str(error)  # noqa: PT017
    else:
        raw = param_id.value.to_bytes(8, "little")
        assert text in (encoded(raw), encoded(raw[:6])) or len(text) == 36


@pytest.mark.parametrize("text", [None, 7, b"0000000000000"])
def test_what_is_no_text_is_a_value_error_too(text: object) -> None:
    with pytest.raises(ValueError, match="is not a parameter id"):
        ParamId.parse(text)  # type: ignore[arg-type]


@given(values, values)
def test_order_and_equality_follow_the_value(a: int, b: int) -> None:
    assert (ParamId(a) < ParamId(b)) == (a < b)
    assert (ParamId(a) == ParamId(b)) == (a == b)
    assert len({ParamId(a), ParamId(a), ParamId(b)}) == len({a, b})


@pytest.mark.parametrize("value", [-1, 2**64])
def test_only_unsigned_64_bit_values(value: int) -> None:
    with pytest.raises(ValueError, match="unsigned 64-bit"):
        ParamId(value)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_only_ints(value: object) -> None:
    with pytest.raises(TypeError, match="holds an int"):
        ParamId(value)  # type: ignore[arg-type]


def test_an_id_does_not_change_and_carries_nothing_else() -> None:
    param_id = ParamId(5)
    with pytest.raises(AttributeError):
        param_id.value = 6  # type: ignore[misc]
    assert not hasattr(param_id, "__dict__")


def test_fresh_ids_differ_and_leave_seeded_generators_alone() -> None:
    import random

    import numpy as np
    import torch

    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    fresh = {ParamId.new() for _ in range(1000)}
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert len(fresh) == 1000
    assert before == after
    assert max(param_id.value for param_id in fresh) >= 2**63  # all 64 bits are used

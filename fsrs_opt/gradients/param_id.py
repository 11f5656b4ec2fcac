"""ParamId: the 64-bit id of a parameter, and its text forms."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass

_DIGITS = "0123456789abcdefghijklmnopqrstuv"  # extended-hex base32 (RFC 4648, section 7) in lower case
_LIMIT = 1 << 64

# Text lengths follow from the byte counts: 5 bits a digit, the last digit padded with zero bits on the right.
_EIGHT_BYTES = re.compile(r"[0-9a-v]{13}")
_SIX_BYTES = re.compile(r"[0-9a-v]{10}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, order=True, slots=True)
class ParamId:
    """The id of one parameter: `value`, an unsigned 64-bit integer.

    Ids compare and sort by value, are hashable, pickle and copy. `str(id)` is the text form: the 8 bytes of
    the value, least significant first, in lower-case extended-hex base32 without padding (13 characters).
    Raises TypeError for a value that is not an int, ValueError for one outside 0 .. 2**64 - 1.
    """

    value: int

    def __post_init__(self) -> None:
        if type(self.value) is not int:
            raise TypeError(f"a ParamId holds an int, not {self.value!r}")
        if not 0 <= self.value < _LIMIT:
            raise ValueError(f"a ParamId is an unsigned 64-bit number, which {self.value} is not")

    def __hash__(self) -> int:
        return hash(self.value)  # dataclass's own makes a tuple first, many times a step

    @classmethod
    def new(cls) -> ParamId:
        """A fresh id from the system's random source.

        Seeded generators are left alone, so that giving out ids never changes what training draws. Two of a
        thousand fresh ids are equal with probability 3e-14.
        """
        return cls(secrets.randbits(64))

    @classmethod
    def parse(cls, text: str) -> ParamId:
        """The id that a text form stands for.

        - 13 characters `0-9a-v`: the 8 bytes, as `str` writes them.
        - 10 characters `0-9a-v`: an older 6-byte id; its two high bytes are zero.
        - a UUID with dashes, lower case: an older 16-byte id, hashed to 64 bits. The hash is the first 8
          bytes of the SHA-256 digest of the UUID's 16 bytes (in the order the text shows them), least
          significant byte first. It depends on nothing else, so a file gives the same ids on every machine
          and in every process.

        Each id has exactly one text in each form. Anything else, also upper case, padding, white space or set
        bits after the last byte, raises a ValueError that shows the text.
        """
        if isinstance(text, str):
            if _EIGHT_BYTES.fullmatch(text):
                return cls(int.from_bytes(_bytes_of(text, 8), "little"))
            if _SIX_BYTES.fullmatch(text):
                return cls(int.from_bytes(_bytes_of(text, 6), "little"))
            if _UUID.fullmatch(text):
                digest = hashlib.sha256(bytes.fromhex(text.replace("-", ""))).digest()
                return cls(int.from_bytes(digest[:8], "little"))
        raise ValueError(
            f"{text!r} is not a parameter id: expected 13 (or, in older files, 10) characters of 0-9a-v,"
            " or a lower-case UUID with dashes"
        )

    def __str__(self) -> str:
        # 13 digits are 65 bits: one zero bit after the 64.
        bits = int.from_bytes(self.value.to_bytes(8, "little"), "big") << 1
        return "".join(_DIGITS[bits >> shift & 31] for shift in range(60, -1, -5))

    def __repr__(self) -> str:
        return f"ParamId.parse({str(self)!r})"


def _bytes_of(text: str, n_bytes: int) -> bytes:
    """The bytes that canonical base32 digits stand for; ValueError where bits after the last byte are set."""
    spare = 5 * len(text) - 8 * n_bytes
    bits = int(text, 32)  # Python's digits of base 32 are this alphabet; the caller checked the characters
    if bits & ((1 << spare) - 1):
        raise ValueError(
            f"{text!r} is not a parameter id: its last character sets bits that belong to no byte of the id"
        )
    return (bits >> spare).to_bytes(n_bytes, "big")

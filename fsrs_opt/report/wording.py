"""Numbers as people write them. The space before a unit does not break."""

from __future__ import annotations

from collections.abc import Sequence

NB = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"

NONE = DASH

RATINGS = {1: "Again", 2: "Hard", 3: "Good", 4: "Easy"}

_MONTH, _YEAR = 30.44, 365.25  # days


def percent(share: float | None, digits: int = 0) -> str:
    """A share 0..1, e.g. "91 %"."""
    return NONE if share is None else f"{number(100 * share, digits)}{NB}%"


def points(difference: float, digits: int = 1) -> str:
    """A difference of two shares, e.g. "1.3 points" (of percent)."""
    text = number(abs(100 * difference), digits)
    return f"{text}{NB}point{'' if text == '1' else 's'}"


def number(value: float | None, digits: int = 0) -> str:
    """With a true minus sign, and never "-0"."""
    if value is None:
        return NONE
    text = f"{value:,.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def counted(n: int, one: str, many: str = "") -> str:
    """E.g. "1 card", "2,040 cards"."""
    return f"{n:,}{NB}{one if n == 1 else many or one + 's'}"


def duration(days: float) -> str:
    """Days as a person says them, e.g. "5 hours", "4.8 days", "3.2 months"."""
    for unit, length, upto in (("minute", 1 / 1440, 1 / 24), ("hour", 1 / 24, 1)):
        if days < upto:
            return counted(max(1, round(days / length)), unit)
    if days < 2 * _MONTH:
        return _rounded(days, "day")
    if days < 2 * _YEAR:
        return _rounded(days / _MONTH, "month")
    return _rounded(days / _YEAR, "year")


def _rounded(value: float, unit: str) -> str:
    text = f"{value:,.1f}" if value < 10 else f"{value:,.0f}"
    text = text.removesuffix(".0")
    return f"{text}{NB}{unit}{'' if text == '1' else 's'}"


def listed(words: Sequence[str], last: str = "and") -> str:
    """E.g. "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def span(low: int, high: int) -> str:
    """Whole numbers from low to high with a dash between them, or the one number that it is."""
    return f"{low:,}" if low == high else f"{low:,}{DASH}{high:,}"

from __future__ import annotations

import pytest

from fsrs_opt.report.wording import counted, duration, listed, number, percent, points, span


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (0.001, "1 minute"),
        (0.02, "29 minutes"),
        (0.537, "13 hours"),
        (1, "1 day"),
        (4.84, "4.8 days"),
        (12.96, "13 days"),
        (60.5, "60 days"),
        (91.3, "3 months"),
        (365.25, "12 months"),
        (3652.5, "10 years"),
    ],
)
def test_durations_as_a_person_says_them(days: float, words: str) -> None:
    assert duration(days).replace("\N{NO-BREAK SPACE}", " ") == words


def test_numbers() -> None:
    assert number(-1234.56, 1) == "\N{MINUS SIGN}1,234.6"
    assert number(-0.0001, 2) == "0.00"
    assert number(None) == "\N{EN DASH}"
    assert percent(0.8768, 1) == "87.7\N{NO-BREAK SPACE}%"
    assert points(-0.01) == "1.0\N{NO-BREAK SPACE}points"
    assert counted(1, "card") == "1\N{NO-BREAK SPACE}card"
    assert counted(2040, "card") == "2,040\N{NO-BREAK SPACE}cards"
    assert span(4, 6) == "4\N{EN DASH}6"
    assert span(7, 7) == "7"
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"

from __future__ import annotations

import datetime

import numpy as np
import pytest

from fsrs_opt.commands.dates import parse_date, review_dates
from fsrs_opt.errors import UsageError
from fsrs_opt.sources import FixedGrid, WallClock


def test_a_date_is_midnight_utc() -> None:
    moment = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)
    assert parse_date("2024-02-29") == moment.timestamp() * 1000


@pytest.mark.parametrize(
    "text", ["01/02/2023", "2023-02-29", "20230201", "2023-2-1", "", "2023-W05-1", "today"]
)
def test_other_writings_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="use YYYY-MM-DD"):
        parse_date(text)


@pytest.mark.parametrize("hours", range(-10, 14))
def test_the_date_is_that_of_the_person_who_studied(hours: int) -> None:
    """Reviews around a day start of 04:00 in zones `hours` ahead of UTC."""
    zone = datetime.timezone(datetime.timedelta(hours=hours))
    local = [
        datetime.datetime(2024, 3, 10, 3, 59, tzinfo=zone),  # still the 9th
        datetime.datetime(2024, 3, 10, 4, 1, tzinfo=zone),
        datetime.datetime(2024, 3, 10, 23, 59, tzinfo=zone),
        datetime.datetime(2024, 3, 11, 3, 59, tzinfo=zone),  # still the 10th
    ]
    time = np.array([int(moment.timestamp() * 1000) for moment in local])
    day_start = datetime.datetime(2024, 6, 1, 4, tzinfo=zone)
    grid = FixedGrid(int(day_start.timestamp()))
    days = ["2024-03-09", "2024-03-10", "2024-03-10", "2024-03-10"]
    assert review_dates(time, grid).astype(str).tolist() == days
    name = f"Etc/GMT{-hours:+d}"
    assert review_dates(time, WallClock(name, 4)).astype(str).tolist() == days

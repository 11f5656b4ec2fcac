"""Dates as people write them, and the dates on which reviews were done."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsrs_opt.errors import UsageError

if TYPE_CHECKING:
    from fsrs_opt.sources.days import DayBoundary

DAY_MS = 86_400_000
# A day that starts at 04:00 somewhere starts between 14:00 UTC of the date before (UTC+14) and 16:00 UTC
# (UTC-12). Nine hours into the day the date in UTC is that day's date, from UTC-10 to UTC+13.
_INTO_THE_DAY_MS = 9 * 3_600_000


def parse_date(text: str) -> int:
    """Midnight UTC of a date `YYYY-MM-DD`, in ms since 1970. Raises UsageError for anything else."""
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            raise ValueError  # Python would also take other forms of ISO 8601
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"“{text}” is not a date: use YYYY-MM-DD") from None
    return (day - datetime.date(1970, 1, 1)).days * DAY_MS


def review_dates(review_time: npt.NDArray[np.int64], day: DayBoundary) -> npt.NDArray[np.datetime64[Any]]:
    """The calendar date, datetime64[D] [n], that a person would give to reviews at these times (ms).

    Only for display. A fixed grid of days does not say which time zone it belongs to, so that in a few
    zones far from Greenwich the date can be one off.
    """
    next_day_at = getattr(day, "next_day_at", None)
    if next_day_at is None:
        return day.day_of(review_time).astype("datetime64[D]")
    start = next_day_at * 1000 % DAY_MS
    days = (review_time - start) // DAY_MS * DAY_MS + start + _INTO_THE_DAY_MS
    dates: npt.NDArray[np.datetime64[Any]] = (days // DAY_MS).astype("datetime64[D]")
    return dates

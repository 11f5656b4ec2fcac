"""Day boundaries: which reviews belong to one day."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import available_timezones

import numpy as np
from numpy.typing import NDArray

from fsrs_opt.errors import UsageError
from fsrs_opt.sources.nearby import near_matches

DAY_SECONDS: Final = 86_400
DEFAULT_ROLLOVER: Final = 4  # Anki's "next day starts at", hours past midnight
_MOST_OFFSET_MINUTES: Final = 24 * 60  # a stored offset beyond a day is no offset
# Wall clocks are computed for the years 1900 to 2200; other times are bad data and count as the nearer end.
_FIRST_MS: Final = -2_208_988_800_000
_LAST_MS: Final = 7_258_118_400_000

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class FixedGrid:
    """Days of 24 hours counted back from the next day start, as Anki does (daylight saving moves nothing).

    next_day_at: seconds since 1970 UTC.
    """

    next_day_at: int

    def day_of(self, review_time: NDArray[np.integer[Any]]) -> Int64:
        """Day numbers int64 [n], ascending in time, 0 the current day, of review times in ms since 1970 UTC.

        Anki's `max(0, next_day_at - ms // 1000) // 86400`, negated so that it grows with time.
        """
        seconds = np.asarray(review_time, dtype=np.int64) // 1000
        return -(np.maximum(0, self.next_day_at - seconds) // DAY_SECONDS)

    def describe(self) -> str:
        start = self.next_day_at % DAY_SECONDS
        return f"days of 24 hours that start at {_clock(start)} UTC"


@dataclass(frozen=True)
class WallClock:
    """Calendar days of a time zone that start `rollover` hours past midnight on the wall clock there."""

    zone: str
    rollover: int = DEFAULT_ROLLOVER

    def day_of(self, review_time: NDArray[np.integer[Any]]) -> Int64:
        """Day numbers int64 [n] (days since 1970 on the local calendar) of review times in ms since 1970."""
        import pandas as pd  # no other collection needs it

        clipped = np.clip(np.asarray(review_time, dtype=np.int64), _FIRST_MS, _LAST_MS)
        utc = pd.DatetimeIndex(clipped.astype("datetime64[ms]"), tz="UTC")
        # From UTC to the wall every moment has exactly one answer; only the way back can be ambiguous.
        wall = utc.tz_convert(self.zone).tz_localize(None)
        milliseconds = wall.to_numpy().astype("datetime64[ms]").astype(np.int64)
        days: Int64 = (milliseconds - self.rollover * 3_600_000) // (DAY_SECONDS * 1000)
        return days

    def describe(self) -> str:
        return f"days that start at {_clock(self.rollover * 3600)} on the wall clock of {self.zone}"


DayBoundary = FixedGrid | WallClock


def check_timezone(zone: str) -> str:
    """The name of a time zone, if there is one of that name; UsageError with near matches if not."""
    zones = available_timezones()
    if zone in zones:
        return zone
    if not zone.strip():
        raise UsageError("The time zone is empty; give a name such as Europe/Berlin.")
    near = near_matches(zone, zones)
    offset = re.fullmatch(r"\s*(?:UTC|GMT)?\s*([+-])0?(\d{1,2})(?::?00)?\s*", zone, re.IGNORECASE)
    if offset:
        # POSIX counts the other way round: Etc/GMT-8 is eight hours ahead of UTC.
        fixed = f"Etc/GMT{'-' if offset[1] == '+' else '+'}{int(offset[2])}"
        near = [fixed, *near] if fixed in zones else near
    hint = f"did you mean {' or '.join(near[:3])}?" if near else "give a name such as Europe/Berlin."
    raise UsageError(f"There is no time zone named {zone!r}; {hint}")


def check_day_start(hour: float | str) -> int:
    """An hour from 0 to 23 at which the next day starts; UsageError if it is not one."""
    try:
        number = float(hour)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(hour, bool) or not number.is_integer() or not 0 <= number <= 23:
        raise UsageError(f"The day start is a whole hour from 0 to 23, not {hour}; Anki's default is 4.")
    return int(number)


def boundary(
    settings: Mapping[str, Any] | None,
    created: int | None,
    *,
    timezone: str | None = None,
    day_start: float | str | None = None,
    now: float | None = None,
) -> tuple[DayBoundary, tuple[str, ...]]:
    """The day boundary of a collection, and what a user should be told about it.

    settings: the collection's (`schedVer`, `rollover`, `localOffset` count), None for a file without any.
    created: the collection's creation time, s. timezone, day_start: a user's choices, which go first.
    now: s since 1970 UTC, default the machine's clock. UsageError for a choice that means nothing.
    """
    in_collection = settings is not None
    settings = settings or {}
    moment = int(time.time() if now is None else now)
    rollover = _rollover(settings)
    chosen = None if day_start is None else check_day_start(day_start)
    if timezone is not None:
        zone = check_timezone(timezone)
        return WallClock(zone, _first(chosen, rollover, DEFAULT_ROLLOVER)), ()

    second_scheduler = _whole(settings.get("schedVer")) == 2
    if chosen is None and in_collection and not second_scheduler and created is not None:
        return FixedGrid(created + ((moment - created) // DAY_SECONDS + 1) * DAY_SECONDS), ()

    west = _whole(settings.get("localOffset"))
    stored = west is not None and abs(west) <= _MOST_OFFSET_MINUTES
    offset = -60 * west if west is not None and stored else time.localtime(moment).tm_gmtoff
    hour = _first(chosen, rollover, DEFAULT_ROLLOVER)
    grid = FixedGrid(next_day_start(moment, offset, hour))
    if stored and (chosen is not None or rollover is not None):
        return grid, ()
    missing = [] if chosen is not None or rollover is not None else [f"{_clock(hour * 3600)} as day start"]
    missing += [] if stored else [f"this machine's time zone ({_utc(offset)})"]
    return grid, (
        f"The file does not hold all day settings, so {' and '.join(missing)} "
        f"{'were' if len(missing) > 1 else 'was'} taken; --timezone and --day-start change that.",
    )


def next_day_start(now: int, utc_offset: int, rollover: int) -> int:
    """The next time after `now` (s) at which a clock `utc_offset` s ahead of UTC shows the rollover hour."""
    shift = utc_offset - rollover * 3600
    return ((now + shift) // DAY_SECONDS + 1) * DAY_SECONDS - shift


def _rollover(settings: Mapping[str, Any]) -> int | None:
    hour = _whole(settings.get("rollover"))
    if hour is None:
        return None
    hour = max(-23, min(23, hour))  # old Anki stored hours before midnight as negative numbers
    return hour % 24


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value)


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"


def _utc(offset: int) -> str:
    sign = "-" if offset < 0 else "+"
    return f"UTC{sign}{_clock(abs(offset))}"

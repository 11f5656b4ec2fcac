"""Day boundaries: Anki's fixed grid, wall clocks, and the choices a user can make."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsrs_opt.errors import UsageError
from fsrs_opt.sources.days import (
    FixedGrid,
    WallClock,
    boundary,
    check_day_start,
    check_timezone,
    next_day_start,
)

NOW = 1_731_261_600  # 2024-11-10T18:00:00Z
NEXT = 1_731_294_000  # 2024-11-11T03:00:00Z, which is 04:00 in Berlin: Anki's own figure for the fixtures
BERLIN = {"schedVer": 2, "rollover": 4, "localOffset": -60, "creationOffset": -60}


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's zone is UTC+09:00."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def ms(text: str) -> np.ndarray:
    return np.array([int(datetime.fromisoformat(text).timestamp() * 1000)])


def day(boundary_: FixedGrid | WallClock, text: str) -> int:
    return int(boundary_.day_of(ms(text))[0])


# Anki's fixed grid


def test_the_grid_counts_whole_days_back_from_the_next_day_start() -> None:
    grid = FixedGrid(NEXT)
    at = np.array([NEXT, NEXT - 1, NEXT - 86_399, NEXT - 86_400, NEXT - 86_401, NEXT - 2 * 86_400 - 1])
    assert grid.day_of(at * 1000).tolist() == [0, 0, 0, -1, -1, -2]


def test_the_second_of_the_boundary_belongs_to_the_day_before() -> None:
    boundary_ms = (NEXT - 86_400) * 1000
    days = FixedGrid(NEXT).day_of(boundary_ms + np.array([-1, 0, 999, 1000]))
    assert days.tolist() == [-1, -1, -1, 0]


def test_reviews_after_the_next_day_start_are_of_today() -> None:
    assert FixedGrid(NEXT).day_of(np.array([NEXT * 1000 + 10**9])).tolist() == [0]


def test_daylight_saving_does_not_move_the_grid() -> None:
    grid = FixedGrid(NEXT)
    assert day(grid, "2024-07-01T03:00:00.999+00:00") + 1 == day(grid, "2024-07-01T03:00:01+00:00")


@given(st.lists(st.integers(-(2**60), 2**60), min_size=1), st.integers(0, 2**33))
def test_the_grid_is_ankis_formula_and_grows_with_time(times: list[int], next_day_at: int) -> None:
    days = FixedGrid(next_day_at).day_of(np.array(sorted(times)))
    assert days.tolist() == [-(max(0, next_day_at - t // 1000) // 86_400) for t in sorted(times)]
    assert (np.diff(days) >= 0).all()


@given(st.integers(0, 2**33), st.integers(-24 * 3600, 24 * 3600), st.integers(0, 23))
def test_the_next_day_start_is_the_next_rollover_on_that_clock(now: int, offset: int, rollover: int) -> None:
    start = next_day_start(now, offset, rollover)
    assert now < start <= now + 86_400
    assert (start + offset) % 86_400 == rollover * 3600


# Wall clocks


@pytest.mark.parametrize(
    ("zone", "moment", "expected"),
    [
        # 03:20 on the wall in the hour that happens twice: still 4 November
        ("America/Havana", "2023-11-05T08:20:00+00:00", "2023-11-04"),
        # the night in which midnight happens twice
        ("Asia/Amman", "2021-10-29T02:30:00+00:00", "2021-10-29"),
        ("Asia/Amman", "2021-10-28T21:30:00+00:00", "2021-10-28"),
        # the day on which midnight does not happen
        ("Asia/Beirut", "2022-03-27T02:00:00+00:00", "2022-03-27"),
        # a day that did not happen at all
        ("Pacific/Apia", "2011-12-30T15:00:00+00:00", "2011-12-31"),
        ("Europe/Berlin", "2024-07-01T01:59:59+00:00", "2024-06-30"),
        ("Europe/Berlin", "2024-07-01T02:00:00+00:00", "2024-07-01"),
        ("Europe/Berlin", "2024-12-01T02:59:59+00:00", "2024-11-30"),
        ("Europe/Berlin", "2024-12-01T03:00:00+00:00", "2024-12-01"),
    ],
)
def test_the_calendar_date_on_the_wall_less_the_rollover(zone: str, moment: str, expected: str) -> None:
    epoch = datetime.fromisoformat("1970-01-01T00:00:00+00:00").toordinal()
    assert day(WallClock(zone, 4), moment) == datetime.fromisoformat(expected).toordinal() - epoch


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2080, 1, 1)),
    st.sampled_from(
        ["America/Havana", "Asia/Amman", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "UTC"]
    ),
    st.integers(0, 23),
)
def test_every_moment_has_the_day_that_the_standard_library_finds(
    moment: datetime, zone: str, rollover: int
) -> None:
    utc = moment.replace(tzinfo=ZoneInfo("UTC"))
    wall = utc.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    expected = (wall - timedelta(hours=rollover)).date().toordinal() - datetime(1970, 1, 1).toordinal()
    assert WallClock(zone, rollover).day_of(np.array([int(utc.timestamp() * 1000)])).tolist() == [expected]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
def test_no_time_makes_a_wall_clock_fail(times: list[int]) -> None:
    assert len(WallClock("Asia/Amman").day_of(np.array(times, dtype=np.int64))) == len(times)


# Which boundary is in force


def test_the_second_scheduler_takes_the_stored_offset_and_rollover(tokyo: None) -> None:
    assert boundary(BERLIN, 0, now=NOW) == (FixedGrid(NEXT), ())


def test_the_first_scheduler_counts_days_from_the_creation() -> None:
    created = NOW - 10 * 86_400 - 3600
    for settings in ({**BERLIN, "schedVer": 1}, {"rollover": 4}, {}):
        assert boundary(settings, created, now=NOW) == (FixedGrid(created + 11 * 86_400), ())


def test_the_offset_of_the_creation_moves_nothing() -> None:
    assert boundary({**BERLIN, "creationOffset": 300}, 0, now=NOW)[0] == FixedGrid(NEXT)


@pytest.mark.parametrize(("stored", "hour"), [(0, 0), (23, 23), (-1, 23), (99, 23)])
def test_rollovers_that_old_versions_stored(stored: int, hour: int) -> None:
    grid, _ = boundary({**BERLIN, "rollover": stored}, 0, now=NOW)
    assert (grid.next_day_at + 3600) % 86_400 == hour * 3600


def test_what_is_missing_comes_from_the_machine_and_is_said(tokyo: None) -> None:
    for settings, created in (({"schedVer": 2}, 0), (None, None)):
        grid, notes = boundary(settings, created, now=NOW)
        assert grid == FixedGrid(NOW + 3600)  # 04:00 in Tokyo is 19:00 UTC
        assert notes == (
            "The file does not hold all day settings, so 04:00 as day start and this machine's time zone "
            "(UTC+09:00) were taken; --timezone and --day-start change that.",
        )
    _, notes = boundary({"schedVer": 2, "localOffset": -60}, 0, now=NOW)
    assert notes[0].startswith("The file does not hold all day settings, so 04:00 as day start was taken")


@pytest.mark.parametrize("bad", ["soon", None, True, 10**9, [1], float("nan")])
def test_settings_that_mean_nothing_count_as_missing(bad: object, tokyo: None) -> None:
    grid, notes = boundary({"schedVer": 2, "localOffset": bad, "rollover": 4}, 0, now=NOW)
    assert grid == FixedGrid(NOW + 3600)
    assert "this machine's time zone" in notes[0]


def test_a_users_choices_go_first() -> None:
    assert boundary(BERLIN, 0, timezone="Asia/Tokyo", now=NOW) == (WallClock("Asia/Tokyo", 4), ())
    assert boundary({**BERLIN, "rollover": 2}, 0, timezone="Asia/Tokyo", now=NOW)[0] == WallClock(
        "Asia/Tokyo", 2
    )
    assert boundary(BERLIN, 0, timezone="Asia/Tokyo", day_start=0, now=NOW)[0] == WallClock("Asia/Tokyo", 0)
    assert boundary(BERLIN, 0, day_start=5, now=NOW) == (FixedGrid(NEXT + 3600), ())
    # also where the first scheduler would not have looked at them
    assert boundary({"localOffset": -60}, 0, day_start=5, now=NOW) == (FixedGrid(NEXT + 3600), ())
    assert boundary({}, 0, timezone="Asia/Tokyo", now=NOW)[0] == WallClock("Asia/Tokyo", 4)


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        ("Foo/Bar", r"There is no time zone named 'Foo/Bar'; "),
        ("UTC+8", r"named 'UTC\+8'; did you mean Etc/GMT-8 or "),
        ("gmt-03:00", r"named 'gmt-03:00'; did you mean Etc/GMT\+3"),
        ("", r"The time zone is empty; give a name such as Europe/Berlin"),
        ("  ", r"The time zone is empty"),
        (" Europe/Berlin", r"named ' Europe/Berlin'; did you mean Europe/Berlin"),
        ("europe/berlin", r"did you mean Europe/Berlin"),
        ("Europe/Berln", r"did you mean Europe/Berlin"),
        ("../../etc/passwd", r"There is no time zone named"),
        ("Europe", r"There is no time zone named 'Europe'; "),
        ("\0", r"There is no time zone named"),
    ],
)
def test_a_zone_that_does_not_exist_is_one_line_with_near_matches(zone: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        check_timezone(zone)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("hour", [-1, 24, 4.5, "4.5", "four", "", True, float("nan"), float("inf")])
def test_a_day_start_is_a_whole_hour(hour: object) -> None:
    with pytest.raises(UsageError, match=f"The day start is a whole hour from 0 to 23, not {hour}") as caught:
        check_day_start(hour)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_day_starts_that_are_fine() -> None:
    assert [check_day_start(hour) for hour in (0, 23, "4", 4.0)] == [0, 23, 4, 4]


def test_descriptions_are_plain_sentences() -> None:
    assert FixedGrid(NEXT).describe() == "days of 24 hours that start at 03:00 UTC"
    assert WallClock("Asia/Tokyo", 4).describe() == "days that start at 04:00 on the wall clock of Asia/Tokyo"

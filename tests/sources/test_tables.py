"""CSV and Parquet files of reviews: what is recognized, and what is refused with its line and column."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsrs_opt.errors import FsrsOptError, SourceError
from fsrs_opt.reviews import log
from fsrs_opt.sources import Collection, read

HEADER = "card_id,review_time,review_rating,review_state,review_duration\n"
ROWS = "7,1700000000000,3,1,2000\n7,1700100000000,4,2,3000\n8,1700200000000,1,0,900\n"
SHORT = "card_id,review_time,review_rating\n"
ReadText = Callable[..., Collection]

in_files = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)


@pytest.fixture
def read_text(home: Path) -> ReadText:
    def make(text: str | bytes, name: str = "reviews.csv") -> Collection:
        (home / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(home / name, columns="all")

    return make


@pytest.fixture
def refusal(read_text: ReadText, home: Path) -> Callable[[str | bytes], str]:
    """What reading a text is refused with, after the file's name."""

    def make(text: str | bytes) -> str:
        with pytest.raises(SourceError) as caught:
            read_text(text)
        message = str(caught.value)
        assert message.startswith(str(home / "reviews.csv"))
        assert "\n" not in message
        return message.removeprefix(str(home / "reviews.csv")).lstrip(", ")

    return make


def columns(collection: Collection) -> dict[str, list[int]]:
    assert_typed(collection)
    return {name: collection.log[name].tolist() for name in collection.log}


def assert_typed(collection: Collection) -> None:
    assert {name: collection.log[name].dtype for name in collection.log}.items() <= log.DTYPES.items()


EXPECTED = {
    "review_time": [1_700_000_000_000, 1_700_100_000_000, 1_700_200_000_000],
    "card_id": [7, 7, 8],
    "rating": [3, 4, 1],
    "kind": [0, 1, 0],
    "duration": [2000, 3000, 900],
}


def test_fsrs_optimizers_columns(read_text: ReadText) -> None:
    collection = read_text(HEADER + ROWS)
    assert columns(collection) == EXPECTED
    assert (collection.source.kind, collection.source.form) == ("csv", "fsrs-optimizer")
    assert (collection.cards, collection.decks, collection.presets, collection.schema) == (None, {}, {}, None)
    assert "review_time was read as milliseconds since 1970." in collection.source.notes


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda text: text.replace(",", ";"), "Columns end at a semicolon."),
        (lambda text: text.replace(",", "\t"), "Columns end at a tab."),
        (lambda text: "\ufeff" + text, None),
        (lambda text: text.replace("\n", "\r\n"), None),
        (lambda text: text.replace("\n", "\r"), None),
        (lambda text: text.encode("utf-16"), None),
        (lambda text: "\n\n" + text + "\n\n", None),
        (lambda text: text.rstrip("\n"), None),
        (lambda text: text.replace(",", " , "), None),
        (lambda text: text.upper(), None),
        (
            lambda text: "".join(",".join(f'"{f}"' for f in line.split(",")) + "\n" for line in text.split()),
            None,
        ),
        (lambda text: text.replace("\n", ",\n").replace("duration,", "duration,notes"), None),
        (lambda text: text.replace("\n", ",\n"), None),
    ],
)
def test_ways_to_write_a_table(
    read_text: ReadText, change: Callable[[str], str | bytes], note: str | None
) -> None:
    collection = read_text(change(HEADER + ROWS))
    assert columns(collection) == EXPECTED
    assert note is None or note in collection.source.notes


def test_other_columns_do_not_matter(read_text: ReadText) -> None:
    text = "front,card_id,empty,review_time,review_rating\n"
    text += '"a, ""b""\nc",7,,1700000000000,3\nü,8,,1700000000001,1\n'
    assert columns(read_text(text))["card_id"] == [7, 8]
    assert columns(read_text(text.encode("latin-1")))["card_id"] == [7, 8]


def test_blank_durations_lose_no_row(read_text: ReadText) -> None:
    rows = "".join(f"1,{1_700_000_000_000 + i},3,2,{'' if i % 3 == 0 else 900}\n" for i in range(30))
    assert columns(read_text(HEADER + rows))["duration"] == [0, 900, 900] * 10


def test_an_empty_optional_column_is_as_good_as_none(read_text: ReadText) -> None:
    collection = read_text(HEADER + "7,1700000000000,3,,\n7,1700100000000,3,,\n")
    assert columns(collection)["kind"] == [0, 1]
    assert "duration" not in collection.log


def test_unreadable_durations_are_said(read_text: ReadText) -> None:
    collection = read_text(HEADER + "7,1700000000000,3,1,fast\n7,1700100000000,3,2,12.6\n")
    assert columns(collection)["duration"] == [0, 13]
    assert "1 values of review_duration are no numbers and were taken as 0." in collection.source.notes


def test_string_card_ids(read_text: ReadText) -> None:
    collection = read_text(SHORT + "b,1700000000000,3\na b,1700000000001,3\nb,1700000000002,3\n")
    assert columns(collection)["card_id"] == [0, 1, 0]
    assert collection.log.card_names == ("b", "a b")


def test_card_ids_too_long_for_a_number_stay_apart(read_text: ReadText) -> None:
    big = 2**63
    collection = read_text(SHORT + f"{big},1700000000000,3\n{big + 1},1700000000001,3\n")
    assert collection.log.card_names == (str(big), str(big + 1))
    collection = read_text(SHORT + f"{big - 1},1700000000000,3\n{big - 2},1700000000001,3\n")
    assert columns(collection)["card_id"] == [big - 1, big - 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SHORT + "7,1700000000000,3\n,1700000000001,3\n", "line 3, column card_id: the id is blank."),
        (SHORT + "x,1700000000000,3\n ,1700000000001,3\n", "line 3, column card_id: the id is blank."),
        (
            SHORT + "7,1700000000000,5\n",
            "line 2, column review_rating: 5 is no rating (1 to 4, or 0 for none).",
        ),
        (
            SHORT + "7,1700000000000,-1\n",
            "line 2, column review_rating: -1 is no rating (1 to 4, or 0 for none).",
        ),
        (SHORT + "7,1700000000000,good\n", "line 2, column review_rating: 'good' is no whole number."),
        (SHORT + "7,1700000000000,\n", "line 2, column review_rating: the value is blank."),
        (SHORT + "7,1700000000000,3\n7,1700000000000\n", "line 3, column review_rating: the value is blank."),
        (
            SHORT + "7,1700000000000\n",
            "is no readable CSV file: the first line names 3 columns, but the lines after it have 2 fields.",
        ),
        (SHORT + "7,,3\n", "line 2, column review_time: the time is blank."),
        (
            SHORT + "7,1700000000000,3\n7,soon,3\n",
            "line 3, column review_time: 'soon' is no time like those before it.",
        ),
        (
            SHORT + "7,2024-01-31,3\n7,31.01.2024,3\n",
            "line 3, column review_time: '31.01.2024' is no time (write 2024-01-31T08:00:00Z, or a number).",
        ),
        (
            SHORT + "7,1700000000000,3\n\n\n7,1700000000,3\n",
            "line 5, column review_time: '1700000000' is no time in milliseconds.",
        ),
        (SHORT + "7,1,3\n", "line 2, column review_time: '1' is no time in milliseconds."),
        (
            "\n" + SHORT + "7,1700000000000,9\n",
            "line 3, column review_rating: 9 is no rating (1 to 4, or 0 for none).",
        ),
        (
            "text," + SHORT + '"two\nlines",7,1700000000000,3\n"a\nb",7,1700000000001,6\n',
            "line 4, column review_rating: 6 is no rating (1 to 4, or 0 for none).",
        ),
        (
            SHORT + '7,1700000000000,3\n7,"1700000000000,3\n',
            "is no readable CSV file: a quote that opens in line 3 is never closed.",
        ),
        ("card_id,review_time\n7,1700000000000\n", "has no column review_rating."),
        ("id,cid,time\n1,2,3\n", "has no column ease."),
    ],
)
def test_a_bad_value_is_named_with_line_and_column(
    refusal: Callable[[str], str], text: str, message: str
) -> None:
    assert refusal(text) == message


def test_a_text_that_is_no_table(refusal: Callable[[str], str]) -> None:
    assert "its first line must name the columns (card_id, review_time, review_rating;" in refusal(
        "hello\nworld\n"
    )


def test_a_header_without_rows_is_an_empty_log(read_text: ReadText) -> None:
    for text in (SHORT, SHORT.strip()):
        assert len(read_text(text).log) == 0


def test_the_raw_revlog(read_text: ReadText, shared_real: Path) -> None:
    raw = pd.read_parquet(shared_real / "real29.parquet")
    collection = read_text(raw.to_csv(index=False))
    assert collection.source.form == "revlog"
    assert len(collection.log) == 1409
    assert columns(collection) == {
        "review_time": raw["id"].tolist(),
        "card_id": raw["cid"].tolist(),
        "rating": raw["ease"].tolist(),
        "kind": raw["type"].tolist(),
        "duration": raw["time"].tolist(),
        "factor": raw["factor"].tolist(),
        "interval": raw["ivl"].tolist(),
        "last_interval": raw["lastIvl"].tolist(),
    }
    assert columns(read(shared_real / "real29.parquet", columns="all")) == columns(collection)


def test_odd_rows_of_a_raw_revlog_are_kept_to_be_counted(read_text: ReadText) -> None:
    text = "id,cid,usn,ease,ivl,lastIvl,factor,time,type\n"
    text += "1700000000000,7,0,5,-60,-60,0,-5,9\n12,7,0,3,1,1,2500,1,1\n"
    found = columns(read_text(text))
    assert (found["rating"], found["kind"], found["duration"]) == ([5, 3], [9, 1], [-5, 1])
    assert found["review_time"] == [1_700_000_000_000, 12]


def test_a_subset_of_the_revlogs_columns(read_text: ReadText) -> None:
    collection = read_text("ease,id,cid\n3,1700000000001,7\n4,1700000000000,7\n")
    assert columns(collection) == {
        "review_time": [1_700_000_000_001, 1_700_000_000_000],
        "card_id": [7, 7],
        "rating": [3, 4],
        "kind": [1, 0],
    }
    assert any("a card's first row was taken to start it" in note for note in collection.source.notes)


def test_the_revlogs_own_columns_win_over_the_state(read_text: ReadText) -> None:
    header = HEADER.strip() + ",type,factor,ivl,lastIvl\n"
    found = columns(
        read_text(header + "7,1700000000000,3,2,900,3,0,4,-600\n7,1700000000001,5,1,900,9,2500,5,4\n")
    )
    assert found["kind"] == [3, 9]
    assert found["factor"] == [0, 2500]
    assert (found["interval"], found["last_interval"]) == ([4, 5], [-600, 4])
    assert found["rating"] == [3, 5]  # a revlog's row: counted, not refused


def test_training_columns_only(home: Path) -> None:
    (home / "a.csv").write_text(HEADER.strip() + ",ivl,factor\n7,1700000000000,3,1,x,y,2500\n")
    assert list(read(home / "a.csv").log) == ["review_time", "card_id", "rating", "kind", "factor"]


def write_parquet(path: Path, **arrays: object) -> Path:
    pq.write_table(pa.table(arrays), path)
    return path


def test_the_same_columns_as_parquet(home: Path) -> None:
    path = write_parquet(
        home / "a.parquet",
        card_id=[7, 7, 8],
        review_time=[1_700_000_000_000, 1_700_100_000_000, 1_700_200_000_000],
        review_rating=pa.array([3, 4, 1], pa.int8()),
        review_state=pa.array([1, 2, 0], pa.uint8()),
        review_duration=[2000, 3000, 900],
        extra=pa.nulls(3),
    )
    collection = read(path, columns="all")
    assert columns(collection) == EXPECTED
    assert (collection.source.kind, collection.source.form) == ("parquet", "fsrs-optimizer")


def test_parquets_own_kinds_of_values(home: Path) -> None:
    moments = pd.to_datetime(EXPECTED["review_time"], unit="ms")
    for times in (moments, moments.tz_localize("UTC"), moments.tz_localize("UTC").tz_convert("Asia/Tokyo")):
        path = write_parquet(
            home / "a.parquet",
            card_id=pa.array(["b", "a", "b"]).dictionary_encode(),
            review_time=pa.array(times),
            review_rating=[3.0, 4.0, 1.0],
            review_duration=pa.array([None, 5, None]),
        )
        found = columns(read(path, columns="all"))
        assert found["review_time"] == EXPECTED["review_time"]
        assert (found["card_id"], found["rating"], found["duration"]) == ([0, 1, 0], [3, 4, 1], [0, 5, 0])


def test_bad_values_in_parquet_are_named_with_their_row(home: Path) -> None:
    good = {"card_id": [7, 8], "review_time": [1_700_000_000_000] * 2, "review_rating": [3, 3]}
    for bad, message in (
        ({"card_id": [7, None]}, "row 2, column card_id: the id is blank"),
        ({"review_rating": [5, 3]}, "row 1, column review_rating: 5 is no rating"),
        ({"review_time": [1_700_000_000_000, None]}, "row 2, column review_time: the time is blank"),
        ({"review_rating": [[3], [3]]}, "is no readable Parquet file"),
    ):
        path = write_parquet(home / "a.parquet", **{**good, **bad})
        with pytest.raises(SourceError, match=message):
            read(path)


def test_a_parquet_file_with_other_columns(home: Path) -> None:
    with pytest.raises(SourceError, match="is no review log"):
        read(write_parquet(home / "a.parquet", songs=[1]))


def read_or_refused(path: Path) -> None:
    """A valid log or one plain line; any other exception goes through and fails the test."""
    message = ""
    try:
        assert_typed(read(path, columns="all"))
    except FsrsOptError as error:
        message = str(error)
    assert "\n" not in message


rows_of_reviews = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        st.integers(10**11, 10**13),
        st.integers(0, 4),
        st.sampled_from([0, 1, 2, 3, 4, 5]),
        st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)),
        st.text(st.characters(exclude_characters="\r"), max_size=8),  # csv.writer does not quote a lone \r
    ),
    min_size=1,
    max_size=20,
)


@in_files
@given(rows=rows_of_reviews, separator=st.sampled_from(",;\t"), ending=st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_is_read(
    rows: list[tuple[object, ...]], separator: str, ending: str, home: Path
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator=ending)
    writer.writerow(["card_id", "review_time", "review_rating", "review_state", "review_duration", "note"])
    writer.writerows([["" if value is None else value for value in row] for row in rows])
    (home / "a.csv").write_bytes(text.getvalue().encode("utf-8", "surrogatepass"))
    found = columns(read(home / "a.csv", columns="all"))
    kinds = {0: 0, 1: 0, 2: 1, 3: 2, 4: 3, 5: 4}
    assert found["card_id"] == [row[0] for row in rows]
    assert found["review_time"] == [row[1] for row in rows]
    assert found["rating"] == [row[2] for row in rows]
    assert found["kind"] == [kinds[row[3]] for row in rows]
    if any(row[4] is not None for row in rows):
        assert found["duration"] == [row[4] or 0 for row in rows]


@in_files
@given(
    junk=st.binary(max_size=300),
    start=st.sampled_from([b"", SHORT.encode(), HEADER.encode(), b"id;cid;ease\n"]),
)
def test_arbitrary_bytes_are_read_or_refused_in_one_line(junk: bytes, start: bytes, home: Path) -> None:
    (home / "a.csv").write_bytes(start + junk)
    read_or_refused(home / "a.csv")


@in_files
@given(
    cells=st.lists(
        st.lists(
            st.one_of(
                st.sampled_from(
                    ["", "1", "3", "1700000000000", "1e400", "nan", "inf", "2024-02-30", '"', "-0", "٣"]
                ),
                st.text(max_size=6),
                st.integers().map(str),
                st.floats().map(str),
            ),
            max_size=6,
        ),
        max_size=6,
    ),
    form=st.sampled_from(
        [SHORT, HEADER, "id,cid,ease,type,factor\n", "card_id,day_offset,rating,state,elapsed_days\n"]
    ),
)
def test_arbitrary_cells_are_read_or_refused_in_one_line(
    cells: list[list[str]], form: str, home: Path
) -> None:
    text = form + "\n".join(",".join(row) for row in cells)
    (home / "a.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    read_or_refused(home / "a.csv")


@in_files
@given(
    junk=st.binary(max_size=400),
    start=st.sampled_from(
        [b"PK\x03\x04", b"PK\x05\x06" + b"\0" * 18, b"\x28\xb5\x2f\xfd", b"SQLite format 3\0", b"PAR1"]
    ),
)
def test_arbitrary_bytes_after_any_magic_are_refused_in_one_line(
    junk: bytes, start: bytes, home: Path
) -> None:
    (home / "a.bin").write_bytes(start + junk)
    with pytest.raises(FsrsOptError) as caught:
        read(home / "a.bin")
    assert "\n" not in str(caught.value)

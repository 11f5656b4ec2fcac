"""One user of the research data set, read like a file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fsrs_opt.errors import SourceError
from fsrs_opt.sources import read
from fsrs_opt.sources.dataset import user_of, with_decks
from tests.batch.made_up import write_user


def test_parts_of_a_user_are_read_one_after_another(tmp_path: Path) -> None:
    folder = write_user(tmp_path / "several", 4, files=3)
    alone = write_user(tmp_path / "one", 4, files=1)
    pd.testing.assert_frame_equal(read(folder).log.to_pandas(), read(next(alone.iterdir())).log.to_pandas())
    assert read(folder).source.form == "research"


def test_decks_and_presets_come_from_beside_the_reviews(tmp_path: Path) -> None:
    collection = with_decks(read(write_user(tmp_path, 4, decks=(7, 8))))
    assert {deck.id: deck.preset_id for deck in collection.decks.values()} == {7: 107, 8: 108}
    assert set(collection.presets) == {107, 108}
    assert collection.cards is not None
    assert collection.cards.to_pandas()["deck_id"].value_counts().to_dict() == {7: 20, 8: 20}


def test_without_cards_beside_it_nothing_changes(tmp_path: Path, data: Path) -> None:
    sample = read(data / "sample.csv")
    assert with_decks(sample) is sample


def test_a_part_with_other_columns_is_named(tmp_path: Path) -> None:
    folder = write_user(tmp_path, 4)
    pd.DataFrame({"id": [1], "cid": [1], "ease": [3]}).to_parquet(folder / "part-9.parquet")
    with pytest.raises(SourceError, match=r"part-9\.parquet has other columns"):
        read(folder)


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    folder = write_user(tmp_path, 4)
    (folder / "part-1.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SourceError, match=r"part-1\.parquet is no readable Parquet file"):
        read(folder)


def test_a_deck_without_a_preset_is_told(tmp_path: Path) -> None:
    folder = write_user(tmp_path, 4)
    decks = tmp_path / "decks" / folder.name / "part-0.parquet"
    pd.DataFrame({"deck_id": [7, 8], "parent_id": [0, 0], "preset_id": [107, None]}).astype(
        {"preset_id": "Int64"}
    ).to_parquet(decks)
    with pytest.raises(
        SourceError, match=r"part-0\.parquet is no readable Parquet file: a number is missing"
    ):
        with_decks(read(folder))


def test_a_folder_without_parts_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "user_id=5").mkdir()
    with pytest.raises(SourceError, match="is a folder"):
        read(tmp_path / "user_id=5")


@pytest.mark.parametrize(("name", "user"), [("user_id=12", "12"), ("user_id=", None), ("users", None)])
def test_users_are_told_by_the_name_of_their_folder(name: str, user: str | None) -> None:
    assert user_of(name) == user

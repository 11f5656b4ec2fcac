"""What `apply` leaves in the collection, compared with what Anki itself leaves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.apply.carry_out import Applied, carry_out
from fsrs_opt.apply.plan import plan_apply
from fsrs_opt.apply.undo import undo
from fsrs_opt.commands.prepare import prepare
from fsrs_opt.errors import RefusedError
from fsrs_opt.evaluation.score import predict_items, score
from fsrs_opt.sources import read, select
from tests.apply.anki_collection import (
    NEW,
    change_preset,
    contents,
    differing,
    in_anki,
    preset_messages,
    result_file,
    stored,
)

OLD_LANGUAGES = (
    *(0.9, 1.6, 2.4, 7.9, 6.9, 0.7, 3.2, 0.006, 1.72, 0.14, 0.72),
    *(1.62, 0.05, 0.29, 1.74, 0.58, 1.8, 0.6, 0.12, 0.07, 0.14),
)
"""data/README.md: what the preset Languages of the sample holds."""


def write(collection: Path, result: Path, *presets: str, **options: object) -> Applied:
    backup_dir = options.pop("backup_dir", None)
    found = plan_apply(collection, presets=presets or ("Languages",), from_file=result, **options)  # type: ignore[arg-type]
    return carry_out(found, backup_dir=backup_dir)  # type: ignore[arg-type]


def opened_and_closed(collection: Path) -> Path:
    """A copy that Anki opened and closed, and did nothing else with."""
    copy = shutil.copyfile(collection, collection.parent.parent / "opened.anki2")
    with in_anki(copy):
        pass
    return copy


def test_only_the_parameters_of_the_preset_change(collection: Path, result: Path) -> None:
    before = contents(opened_and_closed(collection))
    messages = preset_messages(collection)
    write(collection, result)
    assert stored(collection, "Languages") == NEW  # Anki opens it here
    after = contents(collection)
    assert differing(before, after) == {"col": 1, "deck_config": 1}

    # col: only when it was last changed; so a full sync is not forced (scm) and a sync will look at it (mod)
    (was,), (now,) = before["col"], after["col"]
    assert [k for k in range(len(was)) if was[k] != now[k]] == [2]
    assert now[2] > was[2]
    # deck_config: id, name, mtime_secs, usn, config
    (was,) = [row for row in before["deck_config"] if row[1] == "Languages"]
    (now,) = [row for row in after["deck_config"] if row[1] == "Languages"]
    assert (now[0], now[3]) == (was[0], -1)
    assert now[2] > was[2]
    for name, message in preset_messages(collection).items():
        if name == "Languages":
            assert np.array_equal(np.float32(message.fsrs_params_6), np.float32(NEW))
            del message.fsrs_params_6[:]
            message.fsrs_params_6.extend(messages[name].fsrs_params_6)
        assert message == messages[name]


def test_sync_stays_an_ordinary_one(collection: Path, result: Path) -> None:
    with in_anki(collection) as col:
        assert col.db is not None
        col.db.execute("update col set ls = mod, usn = 7")  # as after a sync
        col.db.execute("update deck_config set usn = 7")
    write(collection, result)
    with in_anki(collection) as col:
        assert col.db is not None
        assert not col.schema_changed()
        assert col.db.list("select name from deck_config where usn = -1") == ["Languages"]
        mod, last_sync = col.db.first("select mod, ls from col")
        assert mod > last_sync


def test_anki_gives_our_log_loss_for_what_was_written(collection: Path, result: Path) -> None:
    write(collection, result)
    mine = select(read(collection), preset="Languages")
    written = mine.presets[next(id_ for id_, each in mine.presets.items() if each.name == "Languages")]
    data = prepare(mine).data
    ours = score(data, predict_items(data, np.array(written.parameters)))
    with in_anki(collection) as col:
        theirs = col._backend.evaluate_params_legacy(
            params=written.parameters,
            search='preset:"Languages" -is:suspended',
            ignore_revlogs_before_ms=0,
        )
    assert len(data) == 2318  # by Anki's own count: data/README.md
    # Anki's own figures let recent items weigh more
    assert ours.log_loss_recency == pytest.approx(theirs.log_loss, abs=1e-6)
    assert ours.rmse_bins_recency == pytest.approx(theirs.rmse_bins, abs=1e-6)


def test_several_presets_at_once(collection: Path, result: Path) -> None:
    done = write(collection, result, "Languages", "Medicine")
    assert [each.preset for each in done.backup.written] == ["Languages", "Medicine"]
    assert stored(collection, "Languages") == stored(collection, "Medicine") == NEW
    assert stored(collection, "Default") == ()


def test_older_parameters_stay_where_they_are(collection: Path, result: Path) -> None:
    """Medicine holds 19 numbers of FSRS-5, in a field of their own."""
    before = preset_messages(collection)["Medicine"]
    write(collection, result, "Medicine")
    after = preset_messages(collection)["Medicine"]
    assert len(after.fsrs_params_5) == 19
    assert after.fsrs_params_5 == before.fsrs_params_5


def test_the_backup_is_the_collection_byte_for_byte(collection: Path, result: Path) -> None:
    original = collection.read_bytes()
    collection.chmod(0o600)
    done = write(collection, result)
    assert done.backup.file.parent == collection.parent / "fsrs-opt-backups"
    assert done.backup.file.read_bytes() == original
    assert done.backup.file.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(collection.parent)) == ["collection.anki2", "fsrs-opt-backups"]
    assert len(os.listdir(done.backup.file.parent)) == 2
    assert stored(done.backup.file, "Languages") == OLD_LANGUAGES


def test_reviews_that_are_only_in_the_wal_are_kept(
    shared_fixtures: Path, tmp_path: Path, result: Path
) -> None:
    folder = tmp_path / "crashed"
    folder.mkdir()
    for suffix in ("", "-wal"):
        shutil.copyfile(shared_fixtures / f"open_wal.anki2{suffix}", folder / f"c.anki2{suffix}")
    before = contents(folder / "c.anki2")
    done = write(folder / "c.anki2", result, "Default")
    assert differing(before, contents(done.backup.file)) == {}
    assert differing(before, contents(folder / "c.anki2")) == {"col": 1, "deck_config": 1}
    assert sorted(os.listdir(folder)) == ["c.anki2", "fsrs-opt-backups"]


def test_a_collection_that_is_not_in_wal_mode(collection: Path, result: Path) -> None:
    with in_anki(collection) as col:
        assert col.db is not None
        assert col.db.scalar("pragma journal_mode = delete") == "delete"
    before = contents(collection)
    write(collection, result)
    assert differing(before, contents(collection)) == {"col": 1, "deck_config": 1}
    undo(collection)
    assert differing(before, contents(collection)) == {}


def test_a_link_stays_a_link(collection: Path, result: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.anki2"
    link.parent.mkdir()
    link.symlink_to(collection)
    inode = collection.stat().st_ino
    write(link, result)
    assert link.is_symlink()
    assert collection.stat().st_ino == inode
    assert stored(collection, "Languages") == NEW
    assert os.listdir(link.parent) == ["link.anki2"]
    undo(link)
    assert stored(collection, "Languages") == OLD_LANGUAGES


def test_media_beside_the_collection_is_not_touched(collection: Path, result: Path) -> None:
    media = collection.with_name("collection.media")
    media.mkdir()
    (media / "a.jpg").write_bytes(b"picture")
    write(collection, result)
    assert os.listdir(media) == ["a.jpg"]


def save_deck_options(collection: Path, parameters: Sequence[float], *, reschedule: bool = False) -> None:
    """Languages' options in Anki, saved with these parameters."""
    with in_anki(collection) as col:
        deck = next(id_ for id_ in map(int, col.decks.all_ids()) if col.decks.name(id_) == "Languages")
        page = col.decks.get_deck_configs_for_update(deck)
        (config,) = [each.config for each in page.all_config if each.config.name == "Languages"]
        del config.config.fsrs_params_6[:]
        config.config.fsrs_params_6.extend(parameters)
        col._backend.update_deck_configs(
            target_deck_id=deck,
            configs=[config],
            removed_config_ids=[],
            mode=0,
            card_state_customizer=page.card_state_customizer,
            limits=page.current_deck.limits,
            new_cards_ignore_review_limit=page.new_cards_ignore_review_limit,
            fsrs=page.fsrs,
            apply_all_parent_limits=page.apply_all_parent_limits,
            fsrs_reschedule=reschedule,
            fsrs_health_check=page.fsrs_health_check,
        )


def test_anki_leaves_the_memory_states_alone_afterwards(collection: Path, result: Path) -> None:
    """docs/apply.md: until the parameters change once more, saving the deck options recomputes no card."""
    write(collection, result)
    before = contents(collection)
    save_deck_options(collection, NEW)
    assert "cards" not in differing(before, contents(collection))
    save_deck_options(collection, (0.41, *NEW[1:]))
    assert differing(before, contents(collection))["cards"] > 250


@pytest.mark.parametrize("memory", ["recompute", "reschedule"])
def test_cards_become_what_ankis_deck_options_make_of_them(
    collection: Path, result: Path, memory: str
) -> None:
    """The same change, saved on Anki's page of deck options."""
    theirs = shutil.copyfile(collection, collection.parent.parent / "theirs.anki2")
    save_deck_options(theirs, NEW, reschedule=memory == "reschedule")
    before = contents(collection)
    done = write(collection, result, memory=memory)
    ours, anki = contents(collection), contents(theirs)
    keep = {
        "cards": (4,),
        "revlog": (0,),
        "col": (2,),
        "deck_config": (2,),
        "config": (2,),
    }  # times of writing
    for name, rows in ours.items():
        left = keep.get(name, ())
        cut = [
            sorted(repr([v for k, v in enumerate(row) if k not in left]) for row in t)
            for t in (rows, anki[name])
        ]
        assert cut[0] == cut[1], name
    changed = differing(before, ours)
    assert changed["cards"] == done.cards > 250
    assert ("revlog" in changed) == (memory == "reschedule")


def test_what_anki_would_change_beside_is_refused(collection: Path, result: Path) -> None:
    """Anki's call rounds the starting ease to three decimals, which only a program can have set finer."""
    change_preset(collection, "Languages", lambda message: setattr(message, "initial_ease", 2.50049))
    original = collection.read_bytes()
    with pytest.raises(RefusedError, match="initial_ease"):
        write(collection, result)
    assert collection.read_bytes() == original
    assert os.listdir(collection.parent) == ["collection.anki2"]


def test_undo_restores_every_row(collection: Path, result: Path) -> None:
    before = contents(collection)
    write(collection, result, memory="reschedule")
    assert undo(collection).changed
    assert differing(before, contents(collection)) == {}
    assert stored(collection, "Languages") == OLD_LANGUAGES


def test_apply_again_after_undo_and_undo_in_steps(collection: Path, result: Path, tmp_path: Path) -> None:
    other = tuple(value * 1.01 for value in NEW)
    write(collection, result)
    write(collection, result_file(tmp_path, other, preset="Languages"))
    undo(collection)
    assert stored(collection, "Languages") == NEW
    undo(collection)
    assert stored(collection, "Languages") == OLD_LANGUAGES
    write(collection, result)
    assert stored(collection, "Languages") == NEW

"""What is asked of the `anki` package, Anki's own code. It only ever opens copies in private folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fsrs_opt.errors import RefusedError
from fsrs_opt.sources.database import temporary_folder
from fsrs_opt.sources.detect import reason

if TYPE_CHECKING:
    from anki.collection import Collection as AnkiCollection
    from anki.decks import DeckConfigId, DeckId

MemoryStates = Literal["keep", "recompute", "reschedule"]
"""What becomes of the cards: nothing, new memory states, or those and new due dates."""

JSON_NAME: Final = "fsrsParams6"
FIELD: Final = "fsrs_params_6"
"""The parameters of FSRS-6 in a preset, in Anki's two forms of it."""

_INSTALL: Final = 'pip install "fsrs-opt[anki]"'
_CHECK: Final = "in Anki choose Tools > Check Database, close Anki and try again"


def version() -> str:
    """Of the installed package; RefusedError where there is none, or one from before FSRS-6."""
    try:
        from anki.collection import Collection  # noqa: F401
        from anki.deck_config_pb2 import DeckConfig
    except ImportError:
        raise RefusedError(
            f"Writing into a collection needs Anki's own code, which is not installed: {_INSTALL}"
        ) from None
    found = metadata.version("anki")
    if FIELD not in DeckConfig.Config.DESCRIPTOR.fields_by_name:
        raise RefusedError(f"The installed anki package {found} is from before FSRS-6: {_INSTALL}")
    return found


def schema() -> int:
    """The schema that the installed package brings every collection to which it opens."""
    with temporary_folder() as folder, opened(folder / "empty.anki2") as col:
        return int(_scalar(col, "select ver from col"))


@contextmanager
def opened(copy: Path) -> Iterator[AnkiCollection]:
    """A copy of a collection, open in Anki's backend. RefusedError for whatever Anki says against it."""
    from anki.collection import Collection
    from anki.errors import AnkiException

    try:
        col = Collection(str(copy))
        try:
            yield col
        finally:
            col.close()
    except AnkiException as error:
        raise RefusedError(
            f"Anki's own code could not write a copy of the collection: {reason(error)}."
        ) from None


def check(col: AnkiCollection, named: Path) -> None:
    """SQLite's check of the whole file, with Anki's own collation; RefusedError if it finds anything."""
    found = [str(row[0]) for row in _rows(col, "pragma integrity_check")]
    if found != ["ok"]:
        raise RefusedError(f"{named} is damaged ({reason(Exception(found[0]))}); {_CHECK}.")


def write(
    col: AnkiCollection,
    parameters: Mapping[int, Sequence[float]],
    memory: MemoryStates,
    decks: Mapping[int, int],
) -> None:
    """Set the FSRS-6 parameters of presets, by id.

    decks: a deck of each preset, where it has one. "keep" makes the call that touches the presets alone;
    else it is the one of Anki's deck options, which recomputes the memory states of all cards whose preset
    changes.
    """
    together = [preset for preset in parameters if preset in decks] if memory != "keep" else []
    for preset, values in parameters.items():
        if preset in together:
            continue
        config = col.decks.get_config(_preset(preset))
        if config is None:
            raise RefusedError(f"The collection no longer has the preset with the id {preset}.")
        config[JSON_NAME] = list(values)
        col.decks.update_config(config)
    if together:
        _save_deck_options(col, {each: parameters[each] for each in together}, decks, memory == "reschedule")


def _save_deck_options(
    col: AnkiCollection, parameters: Mapping[int, Sequence[float]], decks: Mapping[int, int], reschedule: bool
) -> None:
    """What a click on Save in Anki's deck options does, with nothing else changed on that page."""
    from anki.deck_config_pb2 import UpdateDeckConfigsRequest

    deck = decks[list(parameters)[-1]]  # that deck gets the last of the presets, which is its own
    page = col.decks.get_deck_configs_for_update(_deck(deck))
    by_id = {each.config.id: each.config for each in page.all_config}
    for preset, values in parameters.items():
        field = getattr(by_id[preset].config, FIELD)
        del field[:]
        field.extend(values)
    col.decks.update_deck_configs(
        UpdateDeckConfigsRequest(
            target_deck_id=deck,
            configs=[by_id[preset] for preset in parameters],
            card_state_customizer=page.card_state_customizer,
            limits=page.current_deck.limits,
            new_cards_ignore_review_limit=page.new_cards_ignore_review_limit,
            fsrs=page.fsrs,
            apply_all_parent_limits=page.apply_all_parent_limits,
            fsrs_reschedule=reschedule,
            fsrs_health_check=page.fsrs_health_check,
        )
    )


def read_back(col: AnkiCollection, presets: Iterable[int]) -> dict[int, tuple[float, ...]]:
    """The FSRS-6 parameters of presets, by id, as Anki reads them (float32)."""
    found = {}
    for preset in presets:
        config = col.decks.get_config(_preset(preset))
        found[preset] = tuple(config.get(JSON_NAME, ())) if config is not None else ()
    return found


def preset_message(raw: bytes) -> Any:
    """A preset as Anki stores it: Anki's own message, DeckConfig.Config."""
    from anki.deck_config_pb2 import DeckConfig

    return DeckConfig.Config.FromString(raw)


def knows_all_of(raw: bytes) -> bool:
    """Whether the installed package knows every field of a stored preset. It would drop those it does not."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    return len(UnknownFieldSet(preset_message(raw))) == 0


def _scalar(col: AnkiCollection, sql: str) -> Any:
    assert col.db is not None
    return col.db.scalar(sql)


def _rows(col: AnkiCollection, sql: str) -> Sequence[Sequence[Any]]:
    assert col.db is not None
    return col.db.all(sql)


def _preset(preset_id: int) -> DeckConfigId:
    from anki.decks import DeckConfigId

    return DeckConfigId(preset_id)


def _deck(deck_id: int) -> DeckId:
    from anki.decks import DeckId

    return DeckId(deck_id)

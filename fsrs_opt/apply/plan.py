"""What would be written: which presets, which parameters, and why some are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fsrs_opt.apply import live, preflight, proposals
from fsrs_opt.apply.anki_package import MemoryStates
from fsrs_opt.apply.proposals import Proposal
from fsrs_opt.commands.from_file import FileVerdict, read_parameters
from fsrs_opt.commands.paste import rounded
from fsrs_opt.errors import RefusedError, UsageError
from fsrs_opt.model import parameters
from fsrs_opt.model.parameters import FloatArray
from fsrs_opt.sources import names, read

if TYPE_CHECKING:
    from fsrs_opt.evaluation.time_series import Fraction
    from fsrs_opt.sources.collection import Collection, Preset
    from fsrs_opt.training.recipes import ProgressCallback


@dataclass(frozen=True)
class Change:
    """What is to become of one preset.

    old: its parameters as stored, may be none (Anki's defaults). new [21]: as they will be written, with the
    four decimals that Anki shows; None where there are none. decks: names of the decks that use the preset,
    cards: how many cards they hold. why_not: why it is left as it is, "" where it is to be changed;
    already_there: because it has these parameters. messages: what else a user should be told about them.
    """

    preset_id: int
    preset: str
    old: tuple[float, ...]
    new: tuple[float, ...] | None
    decks: tuple[str, ...]
    cards: int
    verdict: FileVerdict
    why_not: str = ""
    already_there: bool = False
    messages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What `carry_out` would do. seen: the collection's `live.snapshot` when it was read. card_ids: the cards
    of the presets to change. deck_ids: a deck of each preset that has one. anki: version of the package."""

    collection: Path
    schema: int
    seen: str
    changes: tuple[Change, ...]
    memory: MemoryStates
    card_ids: frozenset[int]
    deck_ids: dict[int, int]
    anki: str
    notes: tuple[str, ...] = ()

    @property
    def to_write(self) -> tuple[Change, ...]:
        """The changes that are not left out."""
        return tuple(change for change in self.changes if not change.why_not)


def plan_apply(
    path: Path,
    *,
    presets: Sequence[str] = (),
    all_presets: bool = False,
    optimize: bool = False,
    from_file: Path | None = None,
    numbers: Sequence[float] | None = None,
    force: bool = False,
    memory: MemoryStates = "keep",
    workers: int | None = None,
    progress: ProgressCallback | None = None,
    held_out_progress: Fraction | None = None,
) -> Plan:
    """Find out what there is to write into the collection at `path`. Nothing is written.

    presets: names (patterns with * and ? too); all_presets: every preset with cards; without both the only
    preset that has cards. New parameters are fitted (optimize), or those of a file, or `numbers` (17, 19 or
    21); exactly one of the three. What brings no verdict of its own is judged on the preset's reviews. force:
    change presets whose verdict is not "change" too. Raises RefusedError, SourceError and UsageError.
    """
    if [optimize, from_file is not None, numbers is not None].count(True) != 1:
        raise UsageError(
            "say where the new parameters come from: one of --optimize, --from FILE, --parameters"
        )
    if presets and all_presets:
        raise UsageError("give either --preset or --all-presets")
    anki = preflight.check_collection(path)
    found = None if from_file is None else read_parameters(from_file, of=path)
    seen = live.snapshot(path)
    collection = read(path)
    fsrs_on = preflight.check_layout(path, collection, anki)
    if not fsrs_on and memory != "keep":
        raise RefusedError(
            f"FSRS is switched off in {path}, so that its cards have no memory states to recompute: switch"
            " it on in"
            " Anki, or leave --memory-states and --reschedule away."
        )
    chosen = _chosen(collection, presets, all_presets)
    changes = []
    for preset in chosen:
        proposal = None if found is None else proposals.of_file(found, preset)
        if optimize:
            proposal = proposals.fitted(
                collection, preset, workers=workers, progress=progress, held_out_progress=held_out_progress
            )
        elif proposal is None:
            if found is not None:
                numbers = proposals.numbers_of(found, preset).tolist()
            assert numbers is not None
            proposal = proposals.given(
                collection, preset, numbers, workers=workers, held_out_progress=held_out_progress
            )
        changes.append(_change(collection, preset, proposal, force))
    notes = () if found is None else found.notes
    if not fsrs_on:
        notes += ("FSRS is switched off in this collection: the parameters are used once you switch it on.",)
    return Plan(
        collection=path,
        schema=collection.schema or 0,
        seen=seen,
        changes=tuple(changes),
        memory=memory,
        card_ids=_cards_of(collection, [each.preset_id for each in changes if not each.why_not]),
        deck_ids={
            deck.preset_id: deck.id for deck in collection.decks.values() if deck.preset_id is not None
        },
        anki=anki,
        notes=notes,
    )


def _chosen(collection: Collection, asked: Sequence[str], all_presets: bool) -> list[Preset]:
    """The presets to look at; RefusedError where it is not clear which."""
    known = {id_: preset.name for id_, preset in collection.presets.items()}
    if asked:
        return [collection.presets[each] for each in names.find("preset", asked, known)]
    used = {id_: len(_cards_of(collection, [id_])) for id_ in known}
    with_cards = [collection.presets[each] for each, n_cards in used.items() if n_cards]
    if not with_cards:
        raise RefusedError(f"{collection.source.path} has no cards: there is no preset to change.")
    if len(with_cards) > 1 and not all_presets:
        listed = ", ".join(
            f"“{preset.name}” ({used[preset.id]:,} cards)"
            for preset in sorted(with_cards, key=lambda each: -used[each.id])
        )
        raise RefusedError(
            f"The collection has {len(with_cards)} presets in use: {listed}; say which to change with"
            " --preset NAME,"
            " or --all-presets."
        )
    return with_cards


def _change(collection: Collection, preset: Preset, proposal: Proposal, force: bool) -> Change:
    steps = preset.same_day_relearning_steps
    messages = list(proposal.messages)
    new: FloatArray | None = None
    if proposal.parameters is not None:
        within = parameters.clip(proposal.parameters, relearning_steps=steps, given=True)
        moved = np.flatnonzero(np.abs(within - proposal.parameters) > 1e-6)
        if len(moved):
            listed = ", ".join(f"w{k}" for k in moved)
            messages.append(f"Brought to the limits of FSRS-6: {listed}.")
        new = rounded(within, relearning_steps=steps)
    why_not = ""
    already_there = new is not None and _same(preset.parameters, new)
    if new is None:
        why_not = proposal.verdict.sentence
    elif already_there:
        why_not = "It has these parameters already."
    elif proposal.verdict.decision != "change" and not force:
        why_not = proposal.verdict.sentence or f"The verdict is “{proposal.verdict.decision}”."
    decks = tuple(deck.name for deck in collection.decks.values() if deck.preset_id == preset.id)
    return Change(
        preset_id=preset.id,
        preset=preset.name,
        old=preset.parameters,
        new=None if new is None else tuple(new.tolist()),
        decks=decks,
        cards=len(_cards_of(collection, [preset.id])),
        verdict=proposal.verdict,
        why_not=why_not,
        already_there=already_there,
        messages=tuple(dict.fromkeys(messages)),
    )


def _same(old: Sequence[float], new: FloatArray) -> bool:
    """Whether the stored parameters (float32) are these."""
    return len(old) == len(new) and np.array_equal(np.array(old, dtype=np.float32), new.astype(np.float32))


def _cards_of(collection: Collection, preset_ids: Sequence[int]) -> frozenset[int]:
    """Ids of the cards whose home deck uses one of these presets."""
    cards = collection.cards
    if cards is None:
        return frozenset()
    decks = [deck.id for deck in collection.decks.values() if deck.preset_id in preset_ids]
    mine = np.isin(cards["deck_id"], decks)
    return frozenset(cards["card_id"][mine].tolist())

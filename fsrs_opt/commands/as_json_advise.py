"""The object of `advise --json`. What each key means: docs/json.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsrs_opt import __version__
from fsrs_opt.commands import as_json
from fsrs_opt.commands.advice_words import paste, steps
from fsrs_opt.commands.selected import selected

if TYPE_CHECKING:
    from fsrs_opt.commands.advise import Advised
    from fsrs_opt.commands.as_json import Json
    from fsrs_opt.evaluation.group_fits import Group

ADVISE_FORMAT = "fsrs-opt.advise/1"


def advised(found: Advised) -> Json:
    """The object of `advise --json`."""
    grouping = found.grouping
    return {
        "format": ADVISE_FORMAT,
        "version": __version__,
        "source": as_json.source(found.collection),
        "day": as_json.day(found.collection),
        "selection": as_json.selection(selected(found.collection, found.data.histories, found.data.items)),
        "counts": as_json.counts(found.histories, len(found.data)),
        "by": found.by,
        "min_items": found.min_items,
        "relearning_steps": found.relearning_steps,
        "advice": list(found.sentences),
        "split": len(found.groups) > 1,
        "as_now": found.as_now,
        "gain": as_json.difference(found.gain),
        "against": found.against,
        "gain_over_current": as_json.difference(found.over_current),
        "gain_on_later_reviews": as_json.difference(grouping.later),
        "units": [
            {
                "name": one.unit.name,
                "preset_id": one.unit.preset_id,
                "preset": one.unit.preset,
                "decks": list(one.unit.decks),
                "cards": one.unit.n_cards,
                "items": one.unit.n_items,
                "group": one.group,
                "gain": as_json.difference(one.gain),
            }
            for one in found.units
        ],
        "groups": [
            {
                "units": list(group.units),
                "items": group.n_items,
                "parameters": group.fit.parameters.tolist(),
                "paste": paste(found, group),
                "rung": group.fit.rung,
                "gain": as_json.difference(group.gain),
                "gain_over_current": as_json.difference(group.over_current),
                "presets": list(group.presets),
                "new_presets": [
                    {"decks": list(decks), "preset_now": preset} for decks, preset in group.new_preset_for
                ],
                "steps": steps(found, group),
            }
            for group in found.groups
        ],
        "judged_items": int(grouping.judged.sum()),
        "log_loss": {name.replace(" ", "_"): loss for name, loss in found.log_loss.items()},
        "candidates": [
            {
                "groups": _units(one.groups),
                "level": one.level,
                "gain": as_json.difference(one.gain),
                "supported": one.supported,
            }
            for one in grouping.candidates
        ],
        "rejected": _units(grouping.rejected),
        "current_parameters": as_json.current(found.current),
        "messages": list(found.messages),
        "seconds": {name: round(seconds, 4) for name, seconds in found.seconds.items()},
    }


def _units(groups: tuple[Group, ...]) -> list[list[int]]:
    return [sorted(group) for group in groups]

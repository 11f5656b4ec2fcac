"""Results of `apply` and `undo` as JSON objects. What each key means: docs/apply.md."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsrs_opt import __version__
from fsrs_opt.commands.as_json import Json, finite

if TYPE_CHECKING:
    from fsrs_opt.apply.backups import Backup
    from fsrs_opt.apply.carry_out import Applied
    from fsrs_opt.apply.plan import Change, Plan
    from fsrs_opt.apply.undo import Undone

APPLY_FORMAT = "fsrs-opt.apply/1"
UNDO_FORMAT = "fsrs-opt.undo/1"
BACKUPS_FORMAT = "fsrs-opt.backups/1"


def planned(plan: Plan, done: Applied | None = None) -> Json:
    """The object of `apply --json`; `done` is None where nothing was written."""
    return {
        "format": APPLY_FORMAT,
        "version": __version__,
        "anki": plan.anki,
        "collection": str(plan.collection),
        "schema": plan.schema,
        "written": done is not None,
        "memory_states": plan.memory,
        "cards_changed": 0 if done is None else done.cards,
        "backup": None if done is None else str(done.backup.file),
        "presets": [_change(each, written=done is not None) for each in plan.changes],
        "messages": list(plan.notes),
    }


def undone(done: Undone) -> Json:
    """The object of `undo --json`."""
    return {
        "format": UNDO_FORMAT,
        "version": __version__,
        "collection": str(done.collection),
        "changed": done.changed,
        "restored": _backup(done.restored),
        "kept": None if done.kept is None else _backup(done.kept),
    }


def listed(found: Sequence[Backup]) -> Json:
    """The object of `undo --list --json`."""
    return {"format": BACKUPS_FORMAT, "version": __version__, "backups": [_backup(each) for each in found]}


def _change(change: Change, *, written: bool) -> Json:
    return {
        "preset": change.preset,
        "id": change.preset_id,
        "old_parameters": [finite(value) for value in change.old],  # what is stored may be nonsense
        "new_parameters": None if change.new is None else list(change.new),
        "decks": list(change.decks),
        "cards": change.cards,
        "verdict": {
            name: finite(value) if isinstance(value, float) else value
            for name, value in dataclasses.asdict(change.verdict).items()
        },
        "written": written and not change.why_not,
        "why_not": change.why_not or None,
        "messages": list(change.messages),
    }


def _backup(backup: Backup) -> Json:
    return {
        "file": str(backup.file),
        "made": backup.made,
        "kind": backup.kind,
        "bytes": backup.size,
        "sha256": backup.sha256,
        "presets": [
            {
                "preset": each.preset,
                "id": each.preset_id,
                "old_parameters": [finite(value) for value in each.old],
                "new_parameters": list(each.new),
            }
            for each in backup.written
        ],
        "undone": backup.undone or None,
    }

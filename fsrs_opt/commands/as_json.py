"""Results as strict JSON objects. What each key means: docs/json.md; any change there is a new version."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fsrs_opt import __version__
from fsrs_opt.commands.paste import paste_line
from fsrs_opt.commands.selected import LEFT_OUT, selected
from fsrs_opt.sources.collection import Selection

if TYPE_CHECKING:
    from fsrs_opt.commands.current import CurrentSet
    from fsrs_opt.commands.export import Exported
    from fsrs_opt.commands.inspect_file import Inspection, Part
    from fsrs_opt.commands.optimize import Optimized
    from fsrs_opt.commands.selected import Selected
    from fsrs_opt.evaluation.paired import PairedDifference
    from fsrs_opt.evaluation.verdict import Verdict
    from fsrs_opt.reviews.history import Histories
    from fsrs_opt.sources.collection import Collection

OPTIMIZE_FORMAT = "fsrs-opt.optimize/1"
PRESETS_FORMAT = "fsrs-opt.optimize-presets/1"
INSPECT_FORMAT = "fsrs-opt.inspect/1"
EXPORT_FORMAT = "fsrs-opt.export/1"

FSRS_VERSION = {21: "FSRS-6", 19: "FSRS-5", 17: "FSRS-4.5"}
NOTHING_IN_USE = "no parameters are stored in the file and none were given"
ONE_OUTCOME = "undefined: the items are all recalled or all forgotten"

Json = dict[str, Any]


def optimized(result: Optimized) -> Json:
    """The object of `optimize --json`."""
    change = result.verdict.decision == "change"
    return {
        "format": OPTIMIZE_FORMAT,
        "version": __version__,
        "source": source(result.collection),
        "day": day(result.collection),
        "selection": selection(selected(result.collection, result.histories, result.data.items)),
        "counts": counts(result.histories, len(result.data)),
        "recipe": result.fit.recipe,
        "kernel": result.fit.kernel,
        "rung": result.fit.rung,
        "relearning_steps": result.relearning_steps,
        "stages": [dataclasses.asdict(stage) for stage in result.fit.stages],
        "parameters": result.parameters.tolist(),
        "new_parameters": result.fit.parameters.tolist(),
        "current_parameters": current(result.current),
        "parameter_notes": list(result.fit.parameter_notes),
        "paste": paste_line(result.parameters, relearning_steps=result.relearning_steps) if change else None,
        "objective": result.fit.objective,
        "metrics": {
            name: None if scores is None else dataclasses.asdict(scores)
            for name, scores in result.scores.items()
        },
        "metric_notes": metric_notes(result),
        "verdict": verdict(result.verdict),
        "messages": list(result.messages),
        "seconds": {name: round(seconds, 4) for name, seconds in result.seconds.items()},
    }


def current(in_use: Sequence[CurrentSet]) -> list[Json]:
    """The sets of parameters in use."""
    return [
        {
            "name": one.name,
            "given": one.given,
            "stored": one.stored,
            "cards": int(one.cards.sum()),
            "parameters": one.parameters.tolist(),
        }
        for one in in_use
    ]


def metric_notes(result: Optimized) -> dict[str, str]:
    """Why figures are null, by the name of the column or of the figure."""
    notes = {}
    if result.scores["current"] is None:
        notes["current"] = NOTHING_IN_USE
    if any(scores is not None and scores.auc is None for scores in result.scores.values()):
        notes["auc"] = ONE_OUTCOME
    return notes


def verdict(found: Verdict) -> Json:
    """A verdict; figures that are not known are null."""
    work = found.workload
    return {
        "decision": found.decision,
        "sentence": found.sentence,
        "basis": found.basis,
        "against": found.against,
        "gain": difference(found.gain),
        "gain_over_constant": difference(found.gain_over_constant),
        "fewer_surprises": found.fewer_surprises,
        "fewer_surprises_low": found.fewer_surprises_low,
        "fewer_surprises_high": found.fewer_surprises_high,
        "workload": None
        if work is None
        else {**dataclasses.asdict(work), "change_percent": work.change_percent},
        "advice": list(found.advice),
    }


def difference(found: PairedDifference | None) -> Json | None:
    if found is None:
        return None
    return {name: finite(value) for name, value in dataclasses.asdict(found).items()}


def inspected(seen: Inspection) -> Json:
    """The object of `inspect --json`."""
    return {
        "format": INSPECT_FORMAT,
        "version": __version__,
        "source": source(seen.collection),
        "day": day(seen.collection),
        "counts": {**counts(seen.histories, seen.items), "reviews": seen.reviews},
        "kinds": seen.kinds,
        "first_day": None if seen.first is None else seen.first.isoformat(),
        "last_day": None if seen.last is None else seen.last.isoformat(),
        "months": seen.months,
        "decks": [
            {
                "id": deck.id,
                "name": deck.name,
                "preset_id": deck.preset_id,
                "filtered": deck.filtered,
                "desired_retention": deck.desired_retention,
                **_part(part),
            }
            for deck, part in seen.decks
        ],
        "presets": [
            {
                "id": preset.id,
                "name": preset.name,
                # what is stored may be nonsense, and JSON knows no NaN
                "parameters": [finite(value) for value in preset.parameters],
                "fsrs_version": FSRS_VERSION.get(len(preset.parameters)),
                "relearning_steps": [finite(value) for value in preset.relearning_steps],
                "desired_retention": finite(preset.desired_retention),
                "historical_retention": finite(preset.historical_retention),
                "search": preset.search,
                "ignore_before": preset.ignore_before,
                **_part(part),
            }
            for preset, part in seen.presets
        ],
        "deleted_cards": None if seen.deleted is None else _part(seen.deleted),
        "rung": seen.rung,
        "messages": list(seen.messages),
    }


def exported(done: Exported) -> Json:
    """The object of `export --json`."""
    return {
        "format": EXPORT_FORMAT,
        "version": __version__,
        "path": str(done.path),
        "rows": done.rows,
        "columns": list(done.columns),
        "selection": None if done.selected is None else selection(done.selected),
        "messages": list(done.messages),
    }


def source(collection: Collection) -> Json:
    """Where the reviews came from."""
    origin = collection.source
    return {
        "path": str(origin.path),
        "kind": origin.kind,
        "member": origin.member,
        "form": origin.form,
        "schema": collection.schema,
        "notes": list(origin.notes),
    }


def day(collection: Collection) -> Json:
    """The day boundary in force."""
    boundary = collection.day
    return {
        "description": boundary.describe(),
        "from_file": "day" in collection.log,
        "next_day_at": getattr(boundary, "next_day_at", None),
        "timezone": getattr(boundary, "zone", None),
        "day_start": getattr(boundary, "rollover", None),
    }


def selection(seen: Selected) -> Json:
    """What was selected, and by which rules."""
    chosen = seen.selection or Selection()
    asked = {"include": "include", "exclude": "exclude"}.get(chosen.suspended)
    return {
        "whole": seen.selection is None,
        "asked": {
            "decks": list(chosen.deck_names),
            "presets": list(chosen.preset_names.values()),
            "tags": list(chosen.tags),
            "exclude_flags": list(chosen.flags),
            "suspended": asked,
        },
        "decks": [{"id": deck.id, "name": deck.name, **_part(part)} for deck, part in seen.decks],
        "presets": [{"id": preset.id, "name": preset.name, **_part(part)} for preset, part in seen.presets],
        **_part(seen.total),
        "left_out": {reason: chosen.left_out.get(reason, 0) for reason in LEFT_OUT},
        "suspended": {
            "rule": seen.suspended or None,
            "kept": seen.suspended_kept,
            "left_out": chosen.left_out.get("suspended", 0),
        },
        "searches": [
            {
                "preset": chosen.preset_names[id_],
                "search": search,
                "evaluated_by": "anki" if id_ in chosen.by_anki else "fsrs-opt",
            }
            for id_, search in chosen.searches.items()
        ],
        "ignore_before": {chosen.preset_names[id_]: date for id_, date in chosen.cut_offs.items()},
    }


def counts(past: Histories, n_items: int) -> Json:
    """What became of the rows and cards of the review log."""
    return {
        "revlog_rows": past.rows,
        "cards": past.cards_in_log,
        "cards_used": past.n_cards,
        "reviews_used": past.n_reviews,
        "items": n_items,
        "left_out": dict(past.left_out),
        "cards_left_out": dict(past.cards_left_out),
        "negative_delta_t": past.negative_delta_t,
    }


def dumps(value: Json) -> bytes:
    """Strict JSON in UTF-8, one top-level key a line. ValueError for a number that JSON does not have."""
    lines = (
        f" {json.dumps(key)}: {json.dumps(entry, ensure_ascii=False, allow_nan=False)}"
        for key, entry in value.items()
    )
    # a path can hold bytes that are no text; they become question marks
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8", "replace")


def finite(value: float) -> float | None:
    """The number, None where JSON has none for it."""
    return value if abs(value) < float("inf") else None


def _part(part: Part) -> Json:
    return dataclasses.asdict(part)

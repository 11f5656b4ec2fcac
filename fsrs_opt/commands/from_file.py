"""Parameters from a file: what the commands write as JSON, and what people write."""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fsrs_opt.errors import SourceError
from fsrs_opt.model import parameters
from fsrs_opt.model.parameters import N_PARAMETERS, FloatArray
from fsrs_opt.sources.detect import reason
from fsrs_opt.sources.names import key

MAX_BYTES = 256 << 20
"""A larger file holds no parameters."""

_FORMS = "give what optimize --json or batch wrote, or 21 (or 19 or 17) numbers as Anki shows them"
_LABEL = re.compile(r"^\W*(?:w|weights|param\w*|fsrs[\w -]*?)\W{0,2}[:=]", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class FileVerdict:
    """What a file says of its parameters: decision ("change", "keep" or "not enough data"), its sentence, and
    the gain in log loss, nats per review, with its 95 % interval; None where that is not told. held_out:
    whether the parameters had surely not seen the reviews that the gain is of."""

    decision: str
    sentence: str
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    held_out: bool = True


@dataclass(frozen=True)
class ParametersFile:
    """single: the one set of parameters [21] in the file, None where it holds those of several presets.
    by_preset: parameters [21] by the name of the preset that they were fitted for, empty where the file names
    none. They are the fitted ones, whatever the verdict. verdict, verdicts: on them, where the file has one.
    notes: sentences that a user should be told.
    """

    path: Path
    single: FloatArray | None = None
    by_preset: dict[str, FloatArray] = field(default_factory=dict)
    verdict: FileVerdict | None = None
    verdicts: dict[str, FileVerdict] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Entry:
    """Numbers as they stand in the file, and what it says of them. preset, collection, deck: "" where it
    names none."""

    values: Sequence[Any]
    preset: str = ""
    verdict: FileVerdict | None = None
    collection: str = ""
    deck: str = ""


def read_parameters(path: str | Path, *, of: str | Path | None = None) -> ParametersFile:
    """The parameters in a file: the JSON of `optimize` (of one preset, several or all), of `evaluate` or of
    `batch` (results.jsonl), or 17, 19 or 21 numbers as a person writes them.

    of: the collection that they are for, which says what to take from a file that holds those of several.
    Older lengths are converted, and values beyond a limit brought to it, with a note. Raises SourceError for
    a file that cannot be read, holds no parameters, or holds those of several collections.
    """
    path = Path(path)
    text = _text(path)
    try:
        entries, notes = _entries(path, text)
    except RecursionError:
        raise SourceError(f"{path} is no readable JSON: it is nested too deeply; {_FORMS}.") from None
    if not entries:
        raise SourceError(f"{path} holds no parameters{_because(notes)}; {_FORMS}.")
    entries = _of_collection(path, entries, of)
    named = [entry.preset for entry in entries]
    if len(entries) > 1 and all(entry.deck for entry in entries):
        raise SourceError(
            f"{path} holds the parameters of {len(entries)} decks, and Anki keeps them by preset: fit with"
            " --split preset, or put the line to use into a file of its own."
        )
    if len(entries) > 1 and "" in named:
        raise SourceError(
            f"{path} holds {len(entries)} sets of parameters and does not say which preset each is for:"
            " put the one to use into a file of its own."
        )
    for name in named:
        if [key(each) for each in named].count(key(name)) > 1:
            raise SourceError(
                f"{path} holds several sets of parameters for the preset “{name}”:"
                " put the one to use into a file of its own."
            )
    made = [_made(path, entry, notes) for entry in entries]
    return ParametersFile(
        path=path,
        single=made[0] if len(made) == 1 else None,
        by_preset={entry.preset: w for entry, w in zip(entries, made, strict=True) if entry.preset},
        verdict=entries[0].verdict if len(entries) == 1 else None,
        verdicts={entry.preset: entry.verdict for entry in entries if entry.preset and entry.verdict},
        notes=tuple(notes),
    )


def _of_collection(path: Path, entries: list[_Entry], of: str | Path | None) -> list[_Entry]:
    """The entries of one collection, where the file holds those of several."""
    several = {entry.collection for entry in entries}
    if len(several) == 1:
        return entries
    mine = [one for one in entries if of is not None and one.collection and _same(one.collection, of)]
    if not mine:
        not_it = "" if of is None else f", and {of} is none of them"
        raise SourceError(
            f"{path} holds the parameters of {len(several)} collections{not_it}: put the line to use into a"
            " file of its own."
        )
    return mine


def _same(a: str, b: str | Path) -> bool:
    return os.path.realpath(a) == os.path.realpath(b)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SourceError(f"{path} is too large for a file of parameters; {_FORMS}.")
        raw = path.read_bytes()
    except FileNotFoundError:
        raise SourceError(f"{path} does not exist; check the name.") from None
    except IsADirectoryError:
        raise SourceError(f"{path} is a folder; give a file of parameters.") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be opened: {reason(error)}.") from None
    # PowerShell's > writes UTF-16
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise SourceError(f"{path} is no text file; {_FORMS}.") from None


def _entries(path: Path, text: str) -> tuple[list[_Entry], list[str]]:
    notes: list[str] = []
    if text.lstrip().startswith("{") and '"' in text:
        return [entry for one in _objects(path, text) for entry in _of_object(one, notes)], notes
    lines = [line.split("#", 1)[0] for line in text.splitlines()]
    sets = [_numbers(path, line) for line in lines if line.strip()]
    if len(sets) > 1 and all(len(each) in (17, 19, N_PARAMETERS) for each in sets):
        return [_Entry(each) for each in sets], notes
    together = [value for each in sets for value in each]
    return ([_Entry(together)] if together else []), notes


def _numbers(path: Path, line: str) -> list[float]:
    line = _LABEL.sub("", line)
    words = [word for word in re.split(r"[\s,;\[\](){}\"']+", line) if word]
    for word in words:
        if not _NUMBER.fullmatch(word):
            raise SourceError(f"{path}: “{word[:40]}” is no number; {_FORMS}.")
    return [float(word) for word in words]


def _objects(path: Path, text: str) -> Iterator[dict[str, Any]]:
    """One JSON object, or one on each line."""
    try:
        whole = json.loads(text)
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            several = [json.loads(line) for line in lines]
        except ValueError:
            raise SourceError(f"{path} is no readable JSON: {reason(error)}; {_FORMS}.") from None
        yield from (one for one in several if isinstance(one, dict))
        return
    yield whole


def _of_object(one: dict[str, Any], notes: list[str]) -> Iterator[_Entry]:
    """The sets of parameters in an object of `optimize`, `optimize --all-presets`, `evaluate` or `batch`.
    A verdict on some decks or tags, or on several presets together, is none on a preset."""
    presets = one.get("presets")
    if str(one.get("format", "")).startswith("fsrs-opt.optimize-presets/") and isinstance(presets, list):
        for each in presets:
            if isinstance(each, dict) and isinstance(each.get("result"), dict):
                yield from _of_object({**each["result"], "preset": each.get("preset")}, notes)
            elif isinstance(each, dict):
                notes.append(f"The preset “{each.get('preset')}” has no parameters: {each.get('error')}")
        return
    asked = _dict(_dict(one.get("selection")).get("asked"))
    options = _dict(one.get("options"))  # of batch
    presets = asked.get("presets") or options.get("preset")
    preset = one.get("preset")
    if not isinstance(preset, str):
        preset = str(presets[0]) if isinstance(presets, list) and len(presets) == 1 else ""
    held_out = one.get("held_out") is not False  # batch without --evaluate: a verdict on what was fitted to
    parts = (one.get("deck"), *map(asked.get, ("decks", "tags")), *map(options.get, ("deck", "tag")))
    elsewhere = any(parts) or (isinstance(presets, list) and len(presets) > 1)  # no verdict on a preset
    verdict = _verdict(one.get("verdict")) if held_out and not elsewhere else None
    collection = str(one.get("path", ""))
    values = one.get("new_parameters", one.get("parameters"))
    if isinstance(values, list):
        yield _Entry(values, preset, verdict, collection)
    elif isinstance(values, dict):  # the field's benchmark: by part of the collection, "0" for all of it
        deck = str(one.get("deck") or "")
        for name, part in values.items():
            if isinstance(part, list):
                yield _Entry(part, preset if len(values) == 1 else str(name), verdict, collection, deck)
    elif "format" not in one and one and all(isinstance(each, list) for each in one.values()):
        yield from (_Entry(part, str(name)) for name, part in one.items())


def _verdict(found: Any) -> FileVerdict | None:
    """A verdict on held-out reviews; one on the reviews that were fitted to is none to act on."""
    if isinstance(found, str):
        return FileVerdict(found, "")
    if not isinstance(found, dict) or not isinstance(found.get("decision"), str):
        return None
    if found.get("basis") == "in-sample":
        return None
    gain = _dict(found.get("gain"))
    mean, low, high = (_number(gain.get(name)) for name in ("mean", "low", "high"))
    return FileVerdict(found["decision"], str(found.get("sentence", "")), mean, low, high)


def _made(path: Path, entry: _Entry, notes: list[str]) -> FloatArray:
    where = f" for the preset “{entry.preset}”" if entry.preset else ""
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in entry.values):
        raise SourceError(f"{path}: the parameters{where} are not all numbers; {_FORMS}.")
    try:
        converted = parameters.convert(entry.values)
    except (ValueError, OverflowError) as error:
        raise SourceError(f"{path}: the parameters{where} cannot be used: {reason(error)}.") from None
    if len(entry.values) != N_PARAMETERS:
        notes.append(f"The {len(entry.values)} parameters{where} were converted to the 21 of FSRS-6.")
    made = parameters.clip(converted, given=True)
    if (beyond := [f"w{k}" for k in range(N_PARAMETERS) if made[k] != converted[k]]) != []:
        notes.append(f"Parameters{where} beyond their limits were brought to them: {', '.join(beyond)}.")
    return made


def _because(notes: Sequence[str]) -> str:
    return f" ({notes[0].rstrip('.')})" if notes else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

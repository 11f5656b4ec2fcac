"""A collection made with the real `anki` package: every state that a search can ask for."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest

DAY = 86_400
DECKS = (
    *("Medizin", "Medizin::Anatomie", "Medizin::Anatomie::Knochen", "Medizin 2", "Sprachen::Français"),
    *("a_b", "axb", "Why?", "star*deck", "Whyx", 'quo"te', "par(en)", "a-b", "back\\slash"),
    unicodedata.normalize("NFD", "Übung é"),
)
TAGS = ("a", "a::b", "a::b::c", "ab", "Ärger", "x_y", "xzy", "leech", "a::bx")
SECOND = "Zwei Übung"
"""The preset of Medizin (not of its subdecks) and Sprachen::Français."""


def anki_collection(path: Path, *, searches: dict[str, str] | None = None, seed: int = 1) -> dict[str, Any]:
    """Write a collection to `path`; searches: stored ones, by the name of the preset.

    About 200 cards with up to 12 answers each, of three note types, new, learning, in review and relearning;
    suspended, buried, flagged, tagged, and 12 of them in the filtered deck Filter::F1. Returns the ids of the
    decks and presets by name.
    """
    collections = pytest.importorskip("anki.collection")
    col = collections.Collection(str(path))
    rng = random.Random(seed)
    decks = {name: col.decks.id(name) for name in DECKS}
    preset = col.decks.add_config(SECOND)
    for name in ("Medizin", "Sprachen::Français", "a_b"):
        deck = col.decks.get(decks[name])
        deck["conf"] = preset["id"]
        col.decks.save(deck)
    for name, search in (searches or {}).items():
        config = next(one for one in col.decks.all_config() if one["name"] == name)
        config["weightSearch"] = search
        col.decks.save(config)
    _notes(col, rng, list(decks.values()))
    cards = sorted(col.find_cards(""))
    rng.shuffle(cards)
    col.sched.suspend_cards(cards[:25])
    col.sched.bury_cards(cards[25:30], manual=True)
    col.sched.bury_cards(cards[30:35], manual=False)
    for flag in range(1, 8):
        col.set_user_flag_for_cards(flag, cards[20 + flag * 4 : 24 + flag * 4])
    _states(col, cards)
    filtered = col.decks.get(col.decks.new_filtered("Filter::F1"))
    filtered["terms"] = [["is:review -is:suspended", 12, 0]]
    filtered["resched"] = True
    col.decks.save(filtered)
    col.sched.rebuild_filtered_deck(filtered["id"])
    found = {one.name: one.id for one in col.decks.all_names_and_ids(include_filtered=True)}
    presets = {one["name"]: one["id"] for one in col.decks.all_config()}
    col.close()
    return {"decks": found, "presets": presets}


def _notes(col: Any, rng: random.Random, decks: list[int]) -> None:
    for number in range(120):
        name = ("Basic", "Basic (and reversed card)", "Cloze")[number % 3]
        note = col.new_note(col.models.by_name(name))
        note.fields[0] = f"{{{{c1::x{number}}}}} {{{{c2::y}}}}" if name == "Cloze" else f"front{number}"
        note.fields[1] = "back"
        note.tags = rng.sample(TAGS, rng.randint(0, 2))
        col.add_note(note, rng.choice([*decks, 1]))


def _states(col: Any, cards: list[int]) -> None:
    """States, due dates and a review log over the last 40 days, written as Anki would have left them."""
    today, end = col.sched.today, col.sched.day_cutoff
    of_kind = {
        1: ("type=1, queue=1, due={soon}", 0),
        2: ("type=2, queue=2, due={day}, ivl={k}, factor=1300+{k}*10, reps={k}%9, lapses={k}%4", 1),
        3: ("type=2, queue=2, due={day}, ivl={k}, factor=2500, reps={k}%9, lapses={k}%4", 1),
        4: ("type=3, queue=1, due={soon}, ivl=3, factor=2500, reps=5, lapses=1", 1),
        5: ("type=3, queue=3, due={day}, ivl=3, factor=2500, reps=5, lapses=1", 1),
        6: ("type=1, queue=3, due={day}", 0),
    }
    for k, card in enumerate(cards):
        kind = k % 8
        if kind in of_kind:
            change = of_kind[kind][0].format(day=today + k % 7 - 3, soon=end - 5000 + k % 3 * 5 * DAY, k=k)
            queue = " and queue >= 0" if kind != 3 else ""
            if queue or k >= 35:  # suspended and buried cards keep their queue
                col.db.execute(f"update cards set {change} where id = {card}{queue}")
        born = (end - 3600 - (k % 40) * DAY) * 1000 + 100 * k
        col.db.execute(f"update cards set id = {born} where id = {card}")
        for n in range(kind and 1 + k % 12):
            at = born + n * (2 + k % 3) * DAY * 1000
            if at < end * 1000:
                ease, row = (1 + (k + n) % 4, 0 if n == 0 else 1) if n != 5 else (0, 4)
                col.db.execute(
                    f"insert into revlog values ({at + n}, {born}, -1, {ease}, 1, 1, 2500, 1000, {row})"
                )
        if k % 9 == 0:
            col.db.execute(
                f"update notes set mod = {end - 60 - (k % 12) * DAY}"
                f" where id = (select nid from cards where id = {born})"
            )

#!/usr/bin/env python3
"""Make data/sample.colpkg, data/sample.csv and the table of facts in data/README.md.

Anki's own backend (package `anki`) writes every row, card and setting; a simulated learner studies for 420
days of simulated time. Runs with the same version of Anki write the same reviews; only what Anki draws at
random differs (ids of note fields, the order of the rows that the switch to FSRS wrote). Linux only (the
simulated clock needs LD_PRELOAD and gcc). Takes about a minute:

    .venv/bin/python scripts/make_sample.py
"""

from __future__ import annotations

import datetime
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from anki import deck_config_pb2
from anki.collection import Collection
from anki.scheduler_pb2 import CardAnswer, QueuedCards
from sample_files import write_csv, write_facts
from sample_plan import (
    DECKS,
    FIRST_DATE,
    FSRS_FROM_DAY,
    N_DAYS,
    OWN_RETENTION,
    OWN_RETENTION_DECK,
    PRESETS,
    TIMEZONE,
    TIMEZONE_NAME,
    TOP_DECKS,
)
from simulated_clock import SimulatedClock, run_under_simulated_clock
from simulated_learner import AGAIN, EASY, GOOD, HARD, Learner

DATA = Path(__file__).resolve().parent.parent / "data"
SEED = 6
MINUTE = 60_000
BUTTONS = {AGAIN: CardAnswer.AGAIN, HARD: CardAnswer.HARD, GOOD: CardAnswer.GOOD, EASY: CardAnswer.EASY}
HOLIDAYS = (range(95, 105), range(228, 246), range(348, 352))
"""Days without any study; cards come back late after them."""


def local_time(day: int, hour: int, minute: int = 0) -> int:
    """Milliseconds since 1970 UTC at a wall-clock time, `day` days after the first."""
    date = FIRST_DATE + datetime.timedelta(days=day)
    moment = datetime.datetime.combine(date, datetime.time(hour, minute), TIMEZONE)
    return int(moment.timestamp() * 1000)


class Study:
    """The collection, the clock and the learner, and what the learner does with Anki."""

    def __init__(self, path: Path) -> None:
        self.clock = SimulatedClock(local_time(0, 7))
        self.col = Collection(str(path))
        self.learner = Learner(SEED)
        self.random = self.learner.random
        self.deck_ids: dict[str, int] = {}
        self.true_parameters: dict[int, tuple[float, ...]] = {}  # by card id
        self.n_notes = 0

    def make_presets_and_decks(self) -> None:
        preset_ids = {"Default": 1}
        for preset in PRESETS:
            self.clock.advance(1000)
            if preset.name == "Default":
                config = self.col.decks.get_config(1)
            else:
                config = self.col.decks.add_config(preset.name)
                preset_ids[preset.name] = config["id"]
            config["new"]["perDay"] = 4
            config["lapse"]["delays"] = list(preset.relearning_steps)
            config["desiredRetention"] = preset.desired_retention
            field = "fsrsParams5" if len(preset.current_parameters) == 19 else "fsrsParams6"
            config[field] = list(preset.current_parameters)
            self.col.decks.update_config(config)
        for plan in DECKS:
            self.clock.advance(1000)
            self.deck_ids[plan.name] = self.col.decks.id(plan.name)
            deck = self.col.decks.get(self.deck_ids[plan.name])
            self.col.decks.set_config_id_for_deck_dict(deck, preset_ids[plan.preset])

    def add_notes(self) -> None:
        """Add a month's new notes to every deck that still exists."""
        truth = {preset.name: preset.true_parameters for preset in PRESETS}
        for plan in DECKS:
            if self.col.decks.by_name(plan.name) is None:
                continue
            note_type = self.col.models.by_name("Basic (and reversed card)" if plan.reversed else "Basic")
            for _ in range(plan.notes_a_month):
                self.clock.advance(1000)
                self.n_notes += 1
                note = self.col.new_note(note_type)
                note.guid = f"sample{self.n_notes:04}"  # Anki's own are random
                note["Front"] = f"{plan.name.split('::')[-1]} question {self.n_notes}"
                note["Back"] = f"answer {self.n_notes}"
                self.col.add_note(note, self.deck_ids[plan.name])
                for card_id in note.card_ids():
                    self.true_parameters[card_id] = truth[plan.preset]

    def answer(self, queued: QueuedCards.QueuedCard) -> None:
        """Look at a card for a while, then press the button that the learner's memory leads to."""
        card = self.col.get_card(queued.card.id)
        card.start_timer()
        long_pause = self.random.random() < 0.02
        self.clock.advance(75_000 if long_pause else self.random.randint(1500, 22_000))
        rating = self.learner.answer(card.id, self.true_parameters[card.id], self.col.sched.today)
        answer = self.col.sched.build_answer(card=card, states=queued.states, rating=BUTTONS[rating])
        self.col.sched.answer_card(answer)
        self.clock.advance(350)

    def study_deck(self, deck_id: int, at_most: int = 300) -> None:
        self.col.decks.select(deck_id)
        for _ in range(at_most):
            queued = self.col.sched.get_queued_cards(fetch_limit=1).cards
            if not queued:
                break
            self.answer(queued[0])

    def study_all(self) -> None:
        """Study each top deck, mostly twice, so that cards in learning steps come back on the same day."""
        for name in TOP_DECKS:
            if self.col.decks.by_name(name) is None:
                continue
            self.study_deck(self.deck_ids[name])
            if self.random.random() < 0.75:
                self.clock.advance(16 * MINUTE)
                self.study_deck(self.deck_ids[name])

    def find(self, search: str, at_most: int) -> list[int]:
        """Up to `at_most` cards of a search, spread over all of its cards."""
        found = list(self.col.find_cards(search, order="c.id"))
        step = max(1, len(found) // at_most)
        return found[::step][:at_most]

    def filtered_deck(self, name: str, search: str, limit: int, reschedule: bool) -> int:
        deck = self.col.sched.get_or_create_filtered_deck(0)
        deck.name = name
        deck.config.reschedule = reschedule
        del deck.config.search_terms[:]
        deck.config.search_terms.add(search=search, limit=limit, order=5)  # 5: order added
        return int(self.col.sched.add_or_update_filtered_deck(deck).id)

    def forget(self, cards: Iterable[int]) -> None:
        """Make cards new again ("Reset" in Anki)."""
        cards = list(cards)
        self.clock.advance(50)
        self.col.sched.schedule_cards_as_new(cards, restore_position=True)
        for card_id in cards:
            self.learner.start_over(card_id)

    def switch_to_fsrs(self) -> None:
        """Turn FSRS on, and reschedule all cards with the parameters that their presets hold."""
        updates = self.col.decks.get_deck_configs_for_update(self.deck_ids["Languages"])
        configs = {extra.config.name: extra.config for extra in updates.all_config}
        self._update_deck("Geography", configs["Default"])
        self._update_deck("Languages", configs["Languages"])
        self._update_deck("Medicine", configs["Medicine"])
        self._update_deck(OWN_RETENTION_DECK, configs["Medicine"], OWN_RETENTION)

    def _update_deck(
        self, name: str, config: deck_config_pb2.DeckConfig, own_retention: float | None = None
    ) -> None:
        """Give a deck a preset and, if given, its own desired retention."""
        self.clock.advance(1000)
        deck_id = self.deck_ids[name]
        limits = self.col.decks.get_deck_configs_for_update(deck_id).current_deck.limits
        if own_retention is not None:
            limits.desired_retention = own_retention
        request = deck_config_pb2.UpdateDeckConfigsRequest(
            target_deck_id=deck_id, configs=[config], limits=limits, fsrs=True, fsrs_reschedule=True
        )
        self.col.decks.update_deck_configs(request)


def suspend_and_flag(study: Study) -> None:
    study.col.sched.suspend_cards(study.find("deck:Languages is:review", 8))
    for flag in range(1, 8):
        study.col.set_user_flag_for_cards(flag, study.find("deck:Geography flag:0", 3)[-1:])


def cram_early(study: Study) -> None:
    """Review cards before they are due, in a filtered deck that reschedules: these reviews count."""
    deck = study.filtered_deck("Before the exam", "deck:Medicine is:review -is:due", 25, reschedule=True)
    study.study_deck(deck)
    study.col.sched.empty_filtered_deck(deck)


def preview(study: Study) -> None:
    """Look at cards in a filtered deck that does not reschedule: these rows are cramming and do not count."""
    deck = study.filtered_deck("Preview", "deck:Languages is:review", 30, reschedule=False)
    study.study_deck(deck, at_most=60)
    study.col.decks.remove([deck])


def reset_some(study: Study) -> None:
    study.forget(study.find("deck:Geography is:review -is:suspended", 12))


def set_due_dates(study: Study) -> None:
    study.col.sched.set_due_date(
        study.find("deck:Medicine is:review -is:suspended", 15), "9"
    )  # a range of days would draw at random


def delete_some(study: Study) -> None:
    """Delete a deck and a few notes; Anki keeps the rows of their cards in the review log."""
    study.col.decks.remove([study.deck_ids["Old exam"]])
    notes = {study.col.get_card(card).nid for card in study.find("deck:Languages::Español is:review", 6)}
    study.col.remove_notes(sorted(notes))


EVENTS = {
    60: suspend_and_flag,
    110: preview,
    130: set_due_dates,
    FSRS_FROM_DAY: Study.switch_to_fsrs,
    190: reset_some,
    250: delete_some,
    300: cram_early,
    370: set_due_dates,
    400: preview,
}
"""What happens besides studying, on the first study day at or after the key."""


def simulate(study: Study) -> None:
    """Study from the first day to the last, then leave a few loose ends as real collections have them."""
    study.make_presets_and_decks()
    waiting = sorted(EVENTS)
    for day in range(N_DAYS):
        if day % 30 == 0:
            study.clock.set(local_time(day, 6))
            study.add_notes()
        if any(day in holiday for holiday in HOLIDAYS) or study.random.random() < 0.1:
            continue
        if study.random.random() < 0.08:  # after midnight, which still belongs to the day before
            study.clock.set(local_time(day + 1, 0, 40))
        else:
            hour, minute = study.random.choice((7, 12, 18, 20)), study.random.randint(0, 59)
            study.clock.set(local_time(day, hour, minute))
        while waiting and waiting[0] <= day:
            EVENTS[waiting.pop(0)](study)
        study.study_all()
    study.clock.set(local_time(N_DAYS, 18))
    study.forget(study.find("deck:Medicine is:review -is:suspended", 5))
    study.col.sched.bury_cards(study.find("deck:Geography is:review", 2))
    study.filtered_deck("Still open", "deck:Medicine is:review", 6, reschedule=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "collection.anki2")
        study = Study(path)
        simulate(study)
        write_csv(study.col, DATA / "sample.csv")
        write_facts(study.col, DATA / "README.md")
        package = DATA / "sample.colpkg"
        study.col.export_collection_package(str(package), include_media=False, legacy=False)
        package.chmod(0o644)


if __name__ == "__main__":
    status = run_under_simulated_clock({"TZ": TIMEZONE_NAME, "PYTHONHASHSEED": "0", "RAYON_NUM_THREADS": "1"})
    if status is None:
        main()
    else:
        sys.exit(status)

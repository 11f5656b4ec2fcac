"""The verdict in plain words, and the few figures that stand beside it."""

from __future__ import annotations

from dataclasses import dataclass

from fsrs_opt.commands.paste import paste_line
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Fact
from fsrs_opt.report.wording import MINUS, NB, counted, number, percent


@dataclass(frozen=True)
class Headline:
    """decision: "change", "keep" or "not enough data". title: the same as advice. paste: the line for Anki,
    None unless the decision is to change; where: it goes. advice: more sentences."""

    decision: str
    title: str
    sentence: str
    facts: tuple[Fact, ...]
    paste: str | None
    where: str
    advice: tuple[str, ...]


def headline(findings: Findings) -> Headline:
    """What to do, and why one may believe it."""
    verdict, run = findings.evaluation.verdict, findings.run
    yours = "your current parameters" if run.current else "the default parameters"
    title = {
        "change": "Use the new parameters",
        "keep": f"Keep {yours}",
        "not enough data": "Study on: there is too little to decide by yet",
    }[verdict.decision]
    paste = None
    if verdict.decision == "change":
        paste = paste_line(findings.new, relearning_steps=run.relearning_steps)
    decided = verdict.decision != "not enough data"
    again = findings.evaluation.learning.advice
    several = len(run.current) > 1 and not run.current[0].given
    return Headline(
        decision=verdict.decision,
        title=title,
        sentence=_without_decision(verdict.sentence).replace(" %", f"{NB}%"),
        facts=tuple(_facts(findings)),
        paste=paste,
        where="each of the presets" if several else "your preset",
        advice=(*verdict.advice, *((again,) if again and decided else ())),
    )


def _without_decision(sentence: str) -> str:
    """The sentence less its first words, which the title says already."""
    decision, colon, rest = sentence.partition(": ")
    if colon and decision.startswith(("Change", "Keep", "Not enough data")):
        return rest[0].upper() + rest[1:]
    return sentence


def _facts(findings: Findings) -> list[Fact]:
    said, run = findings.evaluation, findings.run
    verdict = said.verdict
    cards = len(set(run.data.items.card.tolist()))
    facts = [
        Fact(
            "Reviews to learn from",
            f"{len(run.data):,}",
            f"of {counted(cards, 'card')}, each on a later day than the card's review before",
        )
    ]
    if verdict.decision == "not enough data":
        return facts  # what cannot be told from chance is no fact
    if verdict.fewer_surprises is not None:
        facts.append(
            _surprises(verdict.fewer_surprises, verdict.fewer_surprises_low, verdict.fewer_surprises_high)
        )
    if verdict.workload is not None:
        change = round(verdict.workload.change_percent)
        sign = "+" if change > 0 else MINUS if change < 0 else "±"
        facts.append(
            Fact(
                "Reviews a day",
                f"{sign}{abs(change)}{NB}%",
                f"an estimate, for {counted(verdict.workload.cards, 'card')} at your desired retention"
                f" ({percent(verdict.workload.desired_retention)})",
            )
        )
    health = said.health
    if health.healthy is not None:
        facts.append(
            Fact(
                "Can FSRS follow your memory?",
                "Yes" if health.healthy else "Poorly",
                "Anki's health check: the misses are usual for this recall and this many reviews"
                if health.healthy
                else "Anki's health check: the misses are unusually large; look for cards answered Hard when"
                " they were forgotten",
            )
        )
    return facts


def _surprises(mean: float, low: float | None, high: float | None) -> Fact:
    digits = 0 if abs(mean) >= 10 else 1
    name = "Fewer surprises in 1,000 reviews" if mean >= 0 else "More surprises in 1,000 reviews"
    sign = 1 if mean >= 0 else -1
    about = "one surprise: as unexpected as a coin toss"
    if low is not None and high is not None:
        least, most = sorted((sign * low, sign * high))
        about = f"between {number(least, digits)} and {number(most, digits)} with 95{NB}% certainty; {about}"
    return Fact(name, number(abs(mean), digits), about)

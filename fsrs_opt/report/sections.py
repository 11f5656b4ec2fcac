"""The report as sections: the questions that people ask, in the order in which they ask them."""

from __future__ import annotations

from collections.abc import Iterator

from fsrs_opt.evaluation.evaluation import Evaluation, Judged
from fsrs_opt.report.findings import Findings
from fsrs_opt.report.parts import Picture, Section, Table
from fsrs_opt.report.pictures.calibration import calibration
from fsrs_opt.report.pictures.forgetting import forgetting
from fsrs_opt.report.pictures.growth import growth
from fsrs_opt.report.pictures.intervals import intervals
from fsrs_opt.report.pictures.learning import learning
from fsrs_opt.report.pictures.parameters import parameters
from fsrs_opt.report.pictures.recall import by_interval, by_number
from fsrs_opt.report.pictures.reviews import reviews
from fsrs_opt.report.wording import NONE, counted, number, percent

LEFT_OUT = {
    "cramming": ("previews", "shown in a filtered deck that does not reschedule; they do not count"),
    "not_rated": ("no answer", "a due date was set, the card was reset or rescheduled"),
    "unknown_kind": ("unknown kind", "Anki knows no such row"),
    "unknown_rating": ("unknown button", "Anki has no such button"),
    "before_learning_start": ("before the start", "before the card was last learned from new"),
    "no_learning_start": ("start missing", "the card's first learning step is not in the file"),
    "before_cutoff": ("before the cut-off", "the card was learned before the date you gave"),
    "not_selected": ("not selected", "the card is not among those selected"),
}

_MODELS = {
    "new": "New parameters",
    "current": "Current parameters",
    "default": "Default parameters",
    "constant": "Your average recall, the same for every review",
    "sm2": "SM-2, Anki's older scheduler",
}


def sections(findings: Findings) -> tuple[Section, ...]:
    """All sections, with everything computed and nothing drawn yet."""
    return (
        Section(
            "enough",
            "Is there enough to learn from?",
            (
                "Anki keeps a *review log*: a row for every answer you gave, and for every due date that you"
                " set by hand. FSRS learns from your answers, and it is judged by those on a later day than"
                " the card's answer before: those it has to predict.",
            ),
            (reviews(findings), left_out(findings)),
        ),
        Section(
            "better",
            "Do the new parameters predict better?",
            _how_judged(findings),
            (*_scores(findings), calibration(findings), by_interval(findings), by_number(findings)),
        ),
        Section(
            "memory",
            "What do they say about your memory, and how sure is that?",
            (
                "*Recall* is the chance that you know a card today. FSRS keeps two numbers for a card:"
                " *stability*, the days until recall has fallen to 90 %, and *difficulty*, from 1 (easy) to"
                " 10 (hard). 21 parameters say how your answers change them.",
                "A *90 % band* (or interval) is where the truth lies 9 times in 10, as far as your reviews"
                " tell.",
            ),
            (forgetting(findings), growth(findings), parameters(findings)),
        ),
        Section("again", "When should you optimize again?", (), (learning(findings),)),
        Section(
            "means",
            "What does it mean for your reviews?",
            (
                "The *desired retention* of a preset is the recall at which Anki shows a card again. From it"
                " and the parameters follows the *interval*, the days until then. The intervals here are"
                " those before Anki's small random shift, and without the minutes of learning steps.",
                *_workload(findings),
            ),
            tuple(intervals(findings)),
        ),
    )


def pictures(parts: tuple[Section, ...]) -> Iterator[Picture]:
    """All pictures, also those that cannot be drawn."""
    for section in parts:
        yield from (each for each in section.contents if isinstance(each, Picture))


def left_out(findings: Findings) -> Table:
    """What became of the rows of the review log: used, and left out by reason."""
    past = findings.run.histories
    rows = [
        (*LEFT_OUT.get(reason, (reason, "")), f"{count:,}", percent(count / max(1, past.rows), 1))
        for reason, count in past.left_out.items()
        if count
    ]
    if not rows:
        rows.append(("nothing", "every row counts", "0", percent(0.0, 1)))
    share = percent(past.n_reviews / max(1, past.rows), 1)
    rows.append(("used", f"answers of {counted(past.n_cards, 'card')}", f"{past.n_reviews:,}", share))
    rows.append(("all", "rows of the review log", f"{past.rows:,}", percent(1.0, 1)))
    caption = "What was left out, and why"
    return Table(caption, ("", "Why", "Rows", "Share"), tuple(rows), text=("Why",))


def _how_judged(findings: Findings) -> tuple[str, ...]:
    said = []
    if findings.predicted.held_out:
        said.append(
            "Your reviews are cut into six parts by time. Parameters are fitted to the first part and have to"
            " predict the second, then to the first two to predict the third, and so on. So they are judged"
            f" only by reviews that they had not seen: the *held-out* ones, {len(findings.predicted.items):,}"
            " in all."
        )
    else:
        why = findings.evaluation.reasons.get("held_out", "")
        said.append(
            "There are no held-out reviews, which the parameters would not have seen"
            f"{f' ({why})' if why else ''}: all figures are of the reviews that they were fitted to, which"
            " flatters them."
        )
    said.append(
        "*Log loss* is the mean surprise of a review, lower is better: it punishes a prediction the more, the"
        " surer it was and wrong. *RMSE(bins)* is how far predicted and actual recall lie apart in groups of"
        " similar reviews. *AUC* is how often, of a card that you knew and one that you did not, the first"
        " had the higher prediction: 0.5 is guessing. *Typical miss* is how far a prediction lies from what"
        " happened to reviews with about the same prediction."
    )
    return tuple(said)


def _scores(findings: Findings) -> Iterator[Table]:
    said = findings.evaluation
    if said.time_series.n_held_out:
        caption = "How well each predicts reviews that it had not seen (held-out)"
        yield _score_table(said, said.held_out, caption)
    caption = "How well each predicts all reviews, those it was fitted to (in-sample)"
    yield _score_table(said, said.in_sample, caption)


def _score_table(said: Evaluation, judged: dict[str, Judged | None], caption: str) -> Table:
    rows = []
    for name, words in _MODELS.items():
        one = judged.get(name)
        if one is None:
            continue
        scores = one.scores
        figures = (scores.log_loss, scores.rmse_bins, scores.auc, one.calibration.ici)
        rows.append((words, *(NONE if value is None else number(value, 4) for value in figures)))
    note = ""
    if any(NONE in row for row in rows) and "auc" in said.reasons:
        note = f"{NONE} There is no AUC: {said.reasons['auc']}."
    return Table(caption, ("", "Log loss", "RMSE(bins)", "AUC", "Typical miss"), tuple(rows), note=note)


def _workload(findings: Findings) -> tuple[str, ...]:
    workload = findings.evaluation.verdict.workload
    if workload is None:
        return ()
    if workload.new < 1 and workload.current < 1:
        return ()
    new, other = (number(each, 0 if each >= 10 else 1) for each in (workload.new, workload.current))
    return (
        f"From what you remember today, the new parameters ask for about {new} reviews a day for"
        f" {counted(workload.cards, 'card')}, {findings.other_words} for about {other} (an estimate).",
    )

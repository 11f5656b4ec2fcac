"""The advice on decks and presets in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsrs_opt.commands.paste import paste_line
from fsrs_opt.evaluation.advice import MIN_HELD_OUT
from fsrs_opt.evaluation.paired import SURPRISES_PER_NAT
from fsrs_opt.evaluation.verdict import between, fewer

if TYPE_CHECKING:
    from fsrs_opt.commands.advise import Advised, GroupAdvice

_MOST_NAMES = 3


def sentences(found: Advised) -> tuple[str, ...]:
    """What to do, and what it brings against the parameters in use; that comes first where it is a loss."""
    said = (_division(found), _against_current(found))
    loses = found.over_current is not None and found.over_current.high < 0
    return said[::-1] if loses else said


def group_title(found: Advised, k: int) -> str:
    """Its number and size, and what its own parameters bring with an interval of either sign."""
    group = found.groups[k]
    title = f"Group {k + 1}: {'1 item' if group.n_items == 1 else f'{group.n_items:,} items'}"
    if group.gain is None:
        return title
    mean, low, high = (x * SURPRISES_PER_NAT for x in (group.gain.mean, group.gain.low, group.gain.high))
    return (
        f"{title}; fewer surprises in 1,000 reviews than with one set for all: {mean:.1f}"
        f" ({low:.1f} to {high:.1f})"
    )


def paste(found: Advised, group: GroupAdvice) -> str | None:
    """The line to paste, None where there are too few reviews to fit all parameters."""
    if group.fit.rung != "all":
        return None
    return paste_line(group.fit.parameters, relearning_steps=found.relearning_steps)


def steps(found: Advised, group: GroupAdvice) -> list[str]:
    """Where in Anki the parameters of a group belong."""
    if group.fit.rung != "all":
        return ["There are too few reviews to fit all parameters: keep what these decks have."]
    said = []
    if len(found.groups) > 1 and group.over_current is not None and group.over_current.low <= 0:
        said.append("There is no hurry: what these decks use now predicts them about as well.")
    if group.presets:
        many = "presets" if len(group.presets) > 1 else "preset"
        said.append(f"Paste the line into the {many} {listed(quoted(group.presets), len(group.presets))}.")
    for decks, preset in group.new_preset_for:
        said.append(
            f"Make a new preset for {listed(quoted(decks))}, whose preset “{preset}” stays with another"
            " group, and paste the line there."
        )
    return said


def quoted(names: Sequence[str]) -> list[str]:
    return [f"“{name}”" for name in names]


def listed(words: Sequence[str], most: int = _MOST_NAMES) -> str:
    """Names in a row, the first few of many."""
    if len(words) > most + 1:  # "and 1 more" is no shorter than its name
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _division(found: Advised) -> str:
    what = "deck" if found.by == "deck" else "preset"
    if len(found.units) == 1:
        only = found.units[0].unit
        if found.by == "deck" and len(only.decks) > 1:
            return (
                f"Use one set of parameters for all decks: no two of them have {found.min_items:,} items"
                " each, so that they cannot be told apart."
            )
        return f"There is only one {what} with items to predict, “{only.name}”: nothing to divide."
    later = found.grouping.later
    if found.grouping.rejected and later is not None:
        return (
            f"Use one set of parameters for all {what}s: {len(found.grouping.rejected)} sets would predict"
            f" cards that they had not seen better, but reviews that came later worse ({between(later)} in"
            " 1,000 reviews)."
        )
    if found.gain is None:
        if not found.grouping.candidates:
            return f"Use one set of parameters for all {what}s: there are too few reviews to tell them apart."
        return (
            f"Use one set of parameters for all {what}s: no division of them clearly predicts better"
            " the cards that it was not fitted to."
        )
    brings = (
        "on cards that the parameters had not seen, of 1,000 reviews expect about"
        f" {fewer(found.gain)} than with one set for all"
    )
    if found.as_now:
        return f"Leave the decks divided as they are, with a set of parameters for each preset: {brings}."
    small = [name for k in found.groups[1:] for name in (found.units[unit].unit.name for unit in k.units)]
    if len(found.groups) == 2 and len(small) <= _MOST_NAMES + 1:
        head = f"Give {listed(quoted(small))} parameters of their own" + (
            " (one set for them all)" if len(small) > 1 else ""
        )
        if len(small) == 1:
            head = f"Give {quoted(small)[0]} parameters of its own"
    else:
        head = f"Use {len(found.groups)} sets of parameters, one for each of the groups below"
    return f"{head}: {brings}."


def _against_current(found: Advised) -> str:
    gain = found.over_current
    yours = "the parameters that you use now" if found.against == "current" else "the defaults"
    if gain is None or gain.n_items < MIN_HELD_OUT:
        return f"There are too few reviews to say whether anything beats {yours}: keep them."
    if gain.low > 0:
        return f"Against {yours}: about {fewer(gain)} in 1,000 reviews."
    if gain.high < 0:
        return f"Keep {yours}: the new ones predict these reviews worse ({between(gain)} in 1,000 reviews)."
    return (
        f"Against {yours} nothing is clearly gained ({between(gain)} in 1,000 reviews): you may leave all as"
        " it is."
    )

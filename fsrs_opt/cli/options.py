"""Arguments and options that several commands share, and values that need more than click's own types."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

Command = TypeVar("Command", bound=Callable[..., Any])

RECIPES = ("map", "classic")
KERNELS = ("auto", "native", "torch")
STAGES = ("pretrain", "train", "finetune")
"""As in `fsrs_opt.training.fit`, which is too heavy to load for a help text."""

path_argument = click.argument("path", type=click.Path(path_type=Path))


def day_options(command: Command) -> Command:
    """--timezone and --day-start."""
    command = click.option(
        "--day-start",
        metavar="HOUR",
        help="Hour at which the next day starts, 0 to 23 (Anki's “Next day starts at”).",
    )(command)
    return click.option(
        "--timezone",
        metavar="ZONE",
        help="Time zone in which days are counted, e.g. Europe/Berlin. [default: as the file says]",
    )(command)


def fit_options(command: Command) -> Command:
    """--relearning-steps, --no-short-term and --ignore-before."""
    command = ignore_before_option(command)
    command = click.option(
        "--no-short-term", is_flag=True, help="Fit without same-day reviews (w17 to w19 stay 0)."
    )(command)
    return click.option(
        "--relearning-steps",
        metavar="N",
        type=click.IntRange(min=0),
        help="Number of relearning steps. [default: of the preset; of several, of that with most reviews]",
    )(command)


def ignore_before_option(command: Command) -> Command:
    """--ignore-before."""
    return click.option(
        "--ignore-before",
        metavar="DATE",
        callback=date,
        help="Leave out cards learned before YYYY-MM-DD. [default: with --preset its own date]",
    )(command)


def selection_options(command: Command) -> Command:
    """--deck, --preset, --tag, --exclude-flag and --suspended.

    The command gets them together as `selection`, the arguments of `fsrs_opt.sources.select`.
    """

    @wraps(command)
    def selecting(
        *positional: Any,
        decks: tuple[str, ...],
        presets: tuple[str, ...],
        tags: tuple[str, ...],
        exclude_flags: tuple[int, ...],
        suspended: str | None,
        **named: Any,
    ) -> Any:
        named["selection"] = {
            "deck": decks,
            "preset": presets,
            "tag": tags,
            "exclude_flag": exclude_flags,
            "suspended": None if suspended is None else suspended == "include",
        }
        return command(*positional, **named)

    for option in reversed(
        (
            click.option(
                "--deck",
                "decks",
                metavar="NAME",
                multiple=True,
                help="Only this deck and its subdecks; * and ? stand for any letters. Can be repeated.",
            ),
            click.option(
                "--preset",
                "presets",
                metavar="NAME",
                multiple=True,
                help="Only the cards of this preset, with its own settings. Can be repeated.",
            ),
            click.option(
                "--tag",
                "tags",
                metavar="TAG",
                multiple=True,
                help="Only cards whose note has this tag or one below it. Can be repeated.",
            ),
            click.option(
                "--exclude-flag",
                "exclude_flags",
                metavar="N",
                type=click.IntRange(1, 7),
                multiple=True,
                help="Leave out cards with this flag, 1 to 7. Can be repeated.",
            ),
            click.option(
                "--suspended",
                type=click.Choice(("include", "exclude")),
                help="Suspended cards. [default: as Anki: out for a preset without a search of its own]",
            ),
        )
    ):
        selecting = option(selecting)
    return cast(Command, selecting)


def recipe_option(command: Command) -> Command:
    """--recipe."""
    return click.option(
        "--recipe",
        type=click.Choice(RECIPES),
        default=RECIPES[0],
        show_default=True,
        help="map: to the definite best fit. classic: the field's usual mini-batches, for comparison.",
    )(command)


def stages_option(command: Command) -> Command:
    """--stages."""
    return click.option(
        "--stages",
        metavar="LIST",
        default="all",
        show_default=True,
        callback=stages,
        help=f"Which of {', '.join(STAGES)} to run.",
    )(command)


def current_option(command: Command) -> Command:
    """--current."""
    return click.option(
        "--current",
        metavar='"w0,w1,…"',
        callback=parameters,
        help="Parameters in use, to compare with. [default: what the collection holds]",
    )(command)


def device_options(command: Command) -> Command:
    """--device and --kernel."""
    command = click.option(
        "--kernel",
        type=click.Choice(KERNELS),
        help="What runs the passes: compiled code or torch. [default: auto, or FSRS_OPT_KERNEL]",
    )(command)
    return click.option(
        "--device", default="cpu", show_default=True, help="Where torch computes: cpu, cuda, …"
    )(command)


def from_option(command: Command) -> Command:
    """--from, as `from_file`."""
    return click.option(
        "--from",
        "from_file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Parameters from what optimize --json or batch wrote, or from a line of 21 (19, 17) numbers.",
    )(command)


def workers_option(command: Command) -> Command:
    """--workers."""
    return click.option(
        "--workers",
        metavar="N",
        type=click.IntRange(1, 64),
        help="Processes for the fits of the splits. [default: several where it pays]",
    )(command)


def backup_dir_option(command: Command) -> Command:
    """--backup-dir."""
    return click.option(
        "--backup-dir",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Folder of the backups. [default: fsrs-opt-backups beside the collection]",
    )(command)


def json_option(command: Command) -> Command:
    """--json."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else (see docs/json.md)."
    )(command)


def parameters(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> tuple[float, ...] | None:
    """17, 19 or 21 numbers separated by commas or spaces, as Anki shows them."""
    if text is None:
        return None
    words = [word for word in re.split(r"[,;\s]+", text.strip().strip("[]()")) if word]
    try:
        values = tuple(float(word) for word in words)
    except ValueError:
        raise click.BadParameter("these are not numbers: give 21 (or 19 or 17), as Anki shows them") from None
    from fsrs_opt.commands.current import parse  # so that a slip is told before the file is read

    parse(values)
    return values


def date(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """A date YYYY-MM-DD."""
    if text is not None:
        from fsrs_opt.commands.dates import parse_date

        parse_date(text)
    return text


def deck_level(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    """A number of parts of a deck's name, 1 at least; None for all of them ("leaf")."""
    if text is None or text.strip().lower() == "leaf":
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise click.BadParameter("give a whole number from 1 on, or leaf")
    return int(text)


def shard(_context: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[int, int] | None:
    """ "2/4" -> (2, 4)."""
    number, slash, of = (text or "").partition("/")
    if text is None:
        return None
    if slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return int(number), int(of)
    raise click.BadParameter(f"“{text}” is no part: write I/N, such as 1/4 for the first of four")


def stages(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[str, ...]:
    """Names of stages separated by commas, or "all"."""
    names = tuple(name for name in re.split(r"[,\s]+", text.strip().lower()) if name)
    if names == ("all",):
        return STAGES
    for name in names:
        if name not in STAGES:
            raise click.BadParameter(f"there is no stage “{name}”: choose among {', '.join(STAGES)}, or all")
    if not names:
        raise click.BadParameter(f"name at least one of {', '.join(STAGES)}, or all")
    return names

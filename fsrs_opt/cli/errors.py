"""Every way a command can fail, as one sentence on stderr and an exit code."""

from __future__ import annotations

import os
import sys
import traceback

import click

from fsrs_opt import __version__
from fsrs_opt.cli.interrupts import Stopped
from fsrs_opt.errors import FsrsOptError, Interrupted, UsageError

FAILED, USAGE, INTERRUPTED = 1, 2, 130
DEBUG = "FSRS_OPT_DEBUG"


def exit_code_of(error: BaseException) -> int:
    """Say what went wrong and return the exit code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        _let_go_of_stdout()
        return FAILED  # as click does; nobody is there to be told
    if isinstance(error, Stopped | Interrupted | KeyboardInterrupt | click.Abort):
        click.echo("Interrupted.", err=True)
        return error.exit_code if isinstance(error, Stopped) else INTERRUPTED
    if os.environ.get(DEBUG, "") not in ("", "0"):
        traceback.print_exception(error)
    click.echo(f"Error: {sentence(error)}", err=True)
    if isinstance(error, OSError):
        _let_go_of_stdout()
    return USAGE if isinstance(error, UsageError) else FAILED


def sentence(error: BaseException) -> str:
    """What went wrong, for somebody who does not know the program's insides."""
    if isinstance(error, FsrsOptError):
        return str(error)
    if isinstance(error, MemoryError) or _out_of_memory(error):
        return "There is not enough memory for this file: close other programs and try again."
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{(error.strerror or str(error) or type(error).__name__).lower()}."
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"This is a bug in fsrs-opt {__version__} ({what}); please report it to the project's issue tracker"
        f" ({DEBUG}=1 shows where it happened)."
    )


def _out_of_memory(error: BaseException) -> bool:
    """torch and Arrow have their own ways of saying so."""
    if type(error).__name__ in ("ArrowMemoryError", "OutOfMemoryError"):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def _let_go_of_stdout() -> None:
    """Nothing more can be written there: the interpreter must not try again when it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
        except (OSError, ValueError):
            pass

"""Every way a command can fail, as one sentence on stderr and an exit code."""

from __future__ import annotations

import os
import sys
import traceback

import click

from fsrs_opt.cli.interrupts import Stopped
from fsrs_opt.errors import DEBUG, Interrupted, UsageError, sentence

FAILED, USAGE, INTERRUPTED = 1, 2, 130


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

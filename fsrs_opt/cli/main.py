"""`fsrs-opt`: the commands, and how the program ends."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from fsrs_opt import __version__
from fsrs_opt.cli.advise import advise
from fsrs_opt.cli.apply import apply
from fsrs_opt.cli.batch import batch
from fsrs_opt.cli.batch_results import results
from fsrs_opt.cli.errors import exit_code_of
from fsrs_opt.cli.evaluate import evaluate
from fsrs_opt.cli.export import export
from fsrs_opt.cli.inspect import inspect
from fsrs_opt.cli.interrupts import interruptible, stopping
from fsrs_opt.cli.optimize import optimize
from fsrs_opt.cli.report import report
from fsrs_opt.cli.undo import undo


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 bad file or nothing to train on, 2 wrong usage, 130 interrupted.",
    invoke_without_command=True,
    no_args_is_help=True,
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("-v", "--verbose", is_flag=True, help="With --version: also which kernel runs the passes.")
@click.pass_context
def fsrs_opt(context: click.Context, version: bool, verbose: bool) -> None:
    """Fit the parameters of FSRS to your own Anki reviews.

    \b
    Examples:
      fsrs-opt optimize collection.colpkg
      fsrs-opt evaluate collection.colpkg
      fsrs-opt report collection.colpkg -o report.html
      fsrs-opt advise collection.colpkg
      fsrs-opt batch decks/ --out results
      fsrs-opt inspect collection.colpkg
      fsrs-opt export collection.colpkg -o reviews.csv
      fsrs-opt apply collection.anki2 --optimize
    """
    if version:
        click.echo(f"fsrs-opt {__version__}")
        if verbose:
            from fsrs_opt.model.kernel import describe

            click.echo(f"kernel: {describe()}")
        context.exit()
    if context.invoked_subcommand is None:
        raise click.UsageError("Name a command: optimize, inspect or export.", context)


fsrs_opt.add_command(optimize)
fsrs_opt.add_command(evaluate)
fsrs_opt.add_command(report)
fsrs_opt.add_command(advise)
fsrs_opt.add_command(batch)
fsrs_opt.add_command(results)
fsrs_opt.add_command(inspect)
fsrs_opt.add_command(export)
fsrs_opt.add_command(apply)
fsrs_opt.add_command(undo)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; arguments: None takes the process's. Returns the exit code, whatever happened."""
    for stream in (sys.stdout, sys.stderr):
        # a character that the terminal does not have must never end the program
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        with interruptible():
            # click gives back what --help and --version exit with, and else what the command returned
            code = fsrs_opt.main(arguments, prog_name="fsrs-opt", standalone_mode=False)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
    except BaseException as error:
        return exit_code_of(error)


def main() -> None:
    """The program."""
    code = run()
    if stopping():
        # Threads may be in the middle of anything: leave without waiting for them, but leave nothing behind.
        with suppress(BaseException):
            atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)

"""Errors that a user can cause. Each message is one plain sentence: what is wrong, where, and what to do."""

from __future__ import annotations

DEBUG = "FSRS_OPT_DEBUG"
"""The environment variable that shows where an unexpected error happened."""


class FsrsOptError(Exception):
    """Base of all errors that the command line turns into one sentence and exit code 1."""


class SourceError(FsrsOptError):
    """A file that cannot be read as a review log; the message names the file."""


class UsageError(FsrsOptError):
    """An option or argument with a value that means nothing; the command line exits with code 2."""


class NothingToTrainError(FsrsOptError):
    """The log is readable but holds no item to train on; the message says why."""


class RefusedError(FsrsOptError):
    """A collection that must not be written to as things are; the message says why. Nothing was changed."""


class Interrupted(FsrsOptError):  # noqa: N818  (it is a request of the user, not a fault)
    """The user asked to stop; nothing was written. The command line exits with code 130."""


def sentence(error: BaseException) -> str:
    """What went wrong, for somebody who does not know the program's insides."""
    if isinstance(error, FsrsOptError):
        return str(error)
    if isinstance(error, MemoryError) or _out_of_memory(error):
        return "There is not enough memory for this file: close other programs and try again."
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{(error.strerror or str(error) or type(error).__name__).lower()}."
    from fsrs_opt import __version__

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

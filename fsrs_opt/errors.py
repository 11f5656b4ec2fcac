"""Errors that a user can cause. Each message is one plain sentence: what is wrong, where, and what to do."""

from __future__ import annotations


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

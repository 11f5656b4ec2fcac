"""Ctrl-C and termination: the program ends within a second, whatever it does, and leaves no file behind."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

GRACE_SECONDS = 0.7
"""So long the program may take to unwind by itself once it was asked to stop."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """Raised in the main thread by a signal. Not an Exception, so that nobody takes it for a fault."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.exit_code = 128 + signal_number


_asked_to_stop = threading.Event()
_unwound = threading.Event()


def stopping() -> bool:
    """Whether a signal asked the program to stop."""
    return _asked_to_stop.is_set()


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, SIGINT and SIGTERM raise `Stopped` in the main thread.

    Python delivers that only between two of its own steps. Where one of them (a sort, a query, loading a
    library) takes longer than `GRACE_SECONDS`, a watching thread removes temporary files and ends all.
    Does nothing outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    _asked_to_stop.clear()
    _unwound.clear()
    watcher = threading.Thread(target=_watch, args=(readable,), name="interrupts", daemon=True)
    before = {number: signal.signal(number, _stop) for number in _SIGNALS}
    woken = signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    watcher.start()
    try:
        yield
    finally:
        _unwound.set()
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writable)  # ends the watching thread


@contextmanager
def ending_at_once(first: Callable[[], None]) -> Iterator[None]:
    """Inside, a signal ends the program on the spot, after `first`: for the loading of a library whose own
    code does not survive an exception (torch's aborts the process)."""
    _first.append(first)
    try:
        yield
    finally:
        _first.remove(first)


_first: list[Callable[[], None]] = []


def _stop(number: int, _frame: FrameType | None) -> None:
    _asked_to_stop.set()
    if _first:
        with suppress(BaseException):
            _first[-1]()
        _end(number)
    raise Stopped(number)


def _watch(readable: int) -> None:
    """Wait for a signal's number on the pipe; then give the main thread its time, and end the process."""
    while number := os.read(readable, 1):
        if number[0] not in _SIGNALS:
            continue
        _asked_to_stop.set()
        if not _unwound.wait(GRACE_SECONDS):
            _end(number[0])
    os.close(readable)


def _end(number: int) -> NoReturn:
    """End the process without unwinding it."""
    with suppress(BaseException):
        atexit._run_exitfuncs()  # among them the removal of temporary files
    with suppress(OSError):
        os.write(2, b"Interrupted.\n")
    os._exit(128 + number)

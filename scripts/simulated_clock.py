"""A clock that a script can set, for code that asks the operating system for the time (Anki's backend does).

Linux only. A small C library, compiled with gcc and loaded through LD_PRELOAD, answers CLOCK_REALTIME,
gettimeofday and time with the moment that was last set. The monotonic clock goes on as usual, so that waiting
still works.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

LIBRARY_VARIABLE = "SIMULATED_CLOCK_LIBRARY"

C_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

static volatile long long simulated_ms = 0; /* 0: the real time */
static int (*real_clock_gettime)(clockid_t, struct timespec *);

void simulated_clock_set(long long ms) { simulated_ms = ms; }

int clock_gettime(clockid_t id, struct timespec *ts) {
  if (simulated_ms && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    ts->tv_sec = simulated_ms / 1000;
    ts->tv_nsec = (simulated_ms % 1000) * 1000000;
    return 0;
  }
  if (!real_clock_gettime)
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  return real_clock_gettime(id, ts);
}

int gettimeofday(struct timeval *tv, void *tz) {
  struct timespec ts;
  (void)tz;
  clock_gettime(CLOCK_REALTIME, &ts);
  if (tv) {
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
  }
  return 0;
}

time_t time(time_t *result) {
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  if (result) *result = ts.tv_sec;
  return ts.tv_sec;
}
"""


def run_under_simulated_clock(environment: Mapping[str, str]) -> int | None:
    """Run this same command again with the library loaded and `environment` added; return its exit status.

    Returns None in the process where the library is already loaded: that one does the work.
    """
    if LIBRARY_VARIABLE in os.environ:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "clock.c")
        library = Path(folder, "clock.so")
        source.write_text(C_SOURCE)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        loaded = {LIBRARY_VARIABLE: str(library), "LD_PRELOAD": str(library)}
        return subprocess.run([sys.executable, *sys.argv], env=os.environ | environment | loaded).returncode


class SimulatedClock:
    """The time of day that this process sees, in milliseconds since 1970 UTC."""

    def __init__(self, now: int) -> None:
        self._library = ctypes.CDLL(os.environ[LIBRARY_VARIABLE])
        self._library.simulated_clock_set.argtypes = [ctypes.c_longlong]
        self.set(now)

    def set(self, now: int) -> None:
        self.now = now
        self._library.simulated_clock_set(now)

    def advance(self, milliseconds: int) -> None:
        self.set(self.now + milliseconds)

"""Run a command and print its wall time, processor time and peak memory as JSON.

Usage: run_measured.py OUTPUT COMMAND [ARGUMENT…]

The command's standard input is ours; what it says goes to OUTPUT. A process of its own, because Linux counts
the peak of whoever starts a command as the command's own: this one is small. Where a command starts processes
of its own, the peak is that of all of them together, memory that they share counted once (looked at 20 times
a second, Linux only; elsewhere it is the largest of them).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

POLL_SECONDS = 0.05


def tree(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:  # it has ended
                continue
    return found


def together_kib(pids: list[int]) -> int:
    """Memory of several processes, KiB: each page divided among those that share it."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


class Watch(threading.Thread):
    """Remembers in `peak_kib` the most that a process and its children used together."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak_kib = 0
        self._pid = pid

    def run(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            pids = tree(self._pid)
            if len(pids) > 1:  # of one process the system itself keeps the peak
                self.peak_kib = max(self.peak_kib, together_kib(pids))


def main() -> None:
    with open(sys.argv[1], "wb") as output:
        start = time.perf_counter()
        process = subprocess.Popen(sys.argv[2:], stdout=output, stderr=subprocess.STDOUT)
        watch = Watch(process.pid)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    # Linux counts in KiB, macOS in bytes
    peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    peak = max(peak, watch.peak_kib / (1 << 10))
    cpu = usage.ru_utime + usage.ru_stime
    print(json.dumps({"code": process.returncode, "seconds": seconds, "cpu": cpu, "peak_mib": peak}))


if __name__ == "__main__":
    main()

"""Run a command and print its wall time, processor time and peak memory as JSON.

Usage: run_measured.py OUTPUT COMMAND [ARGUMENT…]

The command's standard input is ours; what it says goes to OUTPUT. A process of its own, because Linux counts
the peak of whoever starts a command as the command's own: this one is small.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def main() -> None:
    with open(sys.argv[1], "wb") as output:
        start = time.perf_counter()
        process = subprocess.Popen(sys.argv[2:], stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    # Linux counts in KiB, macOS in bytes
    peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    cpu = usage.ru_utime + usage.ru_stime
    print(json.dumps({"code": process.returncode, "seconds": seconds, "cpu": cpu, "peak_mib": peak}))


if __name__ == "__main__":
    main()

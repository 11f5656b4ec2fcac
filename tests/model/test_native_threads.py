"""The threads of the native passes: the same sums on any number, in a child process, and at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fsrs_opt.model import native
from fsrs_opt.model.parameters import DEFAULTS
from tests.model.cases import random_batch

if not native.available():
    pytest.skip("installed without the native kernels", allow_module_level=True)

from fsrs_opt import _native


@pytest.fixture(scope="module")
def packed() -> _native.Pack:
    batch = random_batch(20_000)
    return native.pack(batch.offsets, batch.rating, batch.delta_t, batch.weight)


@pytest.mark.parametrize("isa", _native.isas())
def test_sums_do_not_depend_on_the_number_of_threads(packed: _native.Pack, isa: str) -> None:
    one, three = (packed.loss_gradient_fisher(DEFAULTS, threads, isa) for threads in (1, 3))
    for a, b in zip(one, three, strict=True):
        assert np.array_equal(a, b)
    assert packed.loss(DEFAULTS, 1, isa) == packed.loss(DEFAULTS, 3, isa)
    one, three = (packed.forward(DEFAULTS, threads, isa) for threads in (1, 3))
    for a, b in zip(one, three, strict=True):
        assert np.array_equal(a, b, equal_nan=True)


def test_several_callers_at_once_get_the_same_sums(packed: _native.Pack) -> None:
    alone = packed.loss(DEFAULTS, 1)

    def passes(threads: int) -> bool:
        return all(packed.loss(DEFAULTS, threads) == alone for _ in range(50))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(passes, (1, 2, 3, 4)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_process_made_by_fork_has_threads_of_its_own(packed: _native.Pack) -> None:
    alone = packed.loss(DEFAULTS, 3)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            same = all(packed.loss(DEFAULTS, 3) == alone for _ in range(5))
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert packed.loss(DEFAULTS, 3) == alone


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted as on Linux")
def test_threads_are_started_once_take_no_signals_and_are_started_anew_in_a_child() -> None:
    script = (
        "import os, numpy as np; from fsrs_opt import _native\n"
        "n = 60000; rng = np.random.default_rng(0)\n"
        "days = rng.integers(1, 900, n).astype(np.int32)\n"
        "rating = rng.integers(1, 5, n).astype(np.int8)\n"
        "packed = _native.Pack(np.arange(0, n + 1, 6), rating, days, np.ones(n))\n"
        "def threads():\n"
        "    return set(os.listdir('/proc/self/task'))\n"
        "def passes():\n"
        "    before = threads(); packed.loss(rng.uniform(0.5, 0.6, 21), 3); return threads() - before\n"
        "started = passes()\n"
        "assert len(started) == 2 and not passes()\n"
        "for one in started:\n"
        "    lines = open(f'/proc/self/task/{one}/status').read().splitlines()\n"
        "    blocked = next(int(line.split()[1], 16) for line in lines if line.startswith('SigBlk'))\n"
        "    assert blocked & 1 << 1, 'SIGINT'\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(len(passes()))\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_do_not_keep_the_interpreter_from_ending() -> None:
    script = (
        "import numpy as np; from fsrs_opt import _native\n"
        "n = 60000; rng = np.random.default_rng(0)\n"
        "days = rng.integers(1, 900, n).astype(np.int32)\n"
        "rating = rng.integers(1, 5, n).astype(np.int8)\n"
        "packed = _native.Pack(np.arange(0, n + 1, 6), rating, days, np.ones(n))\n"
        "print(packed.loss(rng.uniform(0.5, 0.6, 21), 3))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert float(done.stdout) > 0

"""Which code runs the passes: the compiled kernels, or torch.

`native` is many times faster and runs on the processor, in float32 with float64 sums; `torch` is the
reference, runs on any device and in float64. `auto` takes native where it is installed and the device
is the processor.
"""

from __future__ import annotations

import os
from functools import lru_cache

from fsrs_opt.errors import UsageError

try:
    from fsrs_opt import _native as _native
except ImportError:  # installed without a compiler
    _native = None  # type: ignore[assignment]

KERNELS = ("auto", "native", "torch")
ENVIRONMENT = "FSRS_OPT_KERNEL"
ISA_ENVIRONMENT = "FSRS_OPT_ISA"


def available() -> bool:
    """Whether the compiled kernels are installed."""
    return _native is not None


def choose(asked: str | None, device: str = "cpu") -> str:
    """ "native" or "torch".

    asked: one of `KERNELS`; None takes the environment variable FSRS_OPT_KERNEL, else auto. Raises UsageError
    for another name, for native where it is not installed or the device is not the processor, and for an
    instruction set in FSRS_OPT_ISA that is not there.
    """
    name = asked or os.environ.get(ENVIRONMENT) or "auto"
    if name not in KERNELS:
        raise UsageError(f"there is no kernel “{name}”: choose {', '.join(KERNELS)}")
    on_processor = device.partition(":")[0] == "cpu"
    if name == "torch" or (name == "auto" and not on_processor):
        return "torch"
    if name == "native" and not on_processor:
        raise UsageError(f"the native kernel runs on the cpu, not on “{device}”: choose the torch kernel")
    if name == "native" and not available():
        raise UsageError(
            "the native kernel is not installed: install fsrs-opt with a C++ compiler, or choose torch"
        )
    if not available():
        return "torch"
    if isa := os.environ.get(ISA_ENVIRONMENT):
        _check_isa(isa)
    return "native"


@lru_cache
def _check_isa(name: str) -> None:
    try:
        _native.isa(name)
    except ValueError as error:
        raise UsageError(f"{error} (see the environment variable {ISA_ENVIRONMENT})") from None


def describe() -> str:
    """The kernel that auto takes here, in a few words."""
    if choose(None) == "torch":
        return "torch (the native kernels are not installed, or switched off)"
    return f"native ({_native.isa()})"

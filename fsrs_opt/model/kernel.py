"""Which code runs the passes: the compiled kernels, or torch.

`native` is many times faster and runs on the processor, in float32 with float64 sums; `torch` is the
reference, runs on any device and in float64. `auto` takes native where it is installed and the device
is the processor.
"""

from __future__ import annotations

import os

from fsrs_opt.errors import UsageError

try:
    from fsrs_opt import _native as _native
except ImportError:  # installed without a compiler
    _native = None  # type: ignore[assignment]

KERNELS = ("auto", "native", "torch")
ENVIRONMENT = "FSRS_OPT_KERNEL"


def available() -> bool:
    """Whether the compiled kernels are installed."""
    return _native is not None


def choose(asked: str | None, device: str = "cpu") -> str:
    """ "native" or "torch".

    asked: one of `KERNELS`; None takes the environment variable FSRS_OPT_KERNEL, else auto. Raises UsageError
    for another name, and for native where it is not installed or the device is not the processor.
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
    return "native" if available() else "torch"


def describe() -> str:
    """The kernel that auto takes here, in a few words."""
    if choose(None) == "torch":
        return "torch (the native kernels are not installed, or switched off)"
    return f"native ({_native.isa()})"

"""Where a job ran: versions, machine, and how much memory it took."""

import os
import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]  # Windows: the peak of memory stays unknown

__all__ = ["describe_environment", "forget_peak_memory", "peak_memory_mb"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")
_PEAK = "VmHWM:"


def describe_environment() -> dict[str, Any]:
    """Return versions and machine as plain values."""
    return {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "cuda": _cuda_card(),
    }


def forget_peak_memory() -> None:
    """Let the peak start from what is held now, where the system can do that."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return  # then the peak is that of the whole life of the process


def peak_memory_mb() -> float | None:
    """Return the most memory the process held since the peak was forgotten, if that is known."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(_PEAK))
    except (OSError, StopIteration):
        if resource is None:
            return None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 1024


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cuda_card() -> str | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return str(torch.cuda.get_device_name())

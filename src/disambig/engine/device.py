"""Where to compute, and how numbers behave there."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from shutil import which
from typing import Any

import torch

from disambig._core.errors import ParameterError

# On an idle machine two threads gained from a hundredth of this on, when that was tried. But every
# operation ends with threads waiting for each other, and where other processes want the same cores,
# each wait lasts until the system lets the last thread run: below this, steps took several times as
# long on two threads as on one (benchmarks/busy_machine.py).
_MULTIPLICATIONS_PER_THREAD = 4_000_000_000


def choose_device(device: Any) -> torch.device:
    """Return the device called ``device``; ``"auto"`` is a CUDA card where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ParameterError(
            f"'device' must be 'auto' or a device of torch such as 'cpu' or 'cuda:0'. "
            f"Got {device!r} instead."
        ) from error
    try:
        torch.ones(1, dtype=torch.float64, device=chosen).cpu()
    # In this order: torch was built without it, it holds no numbers, it is not there, it has no
    # double precision.
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        raise ParameterError(
            f"device={device!r} is nothing that torch can compute on here ({error}). "
            "Use device='auto', which takes a CUDA card where there is one, else the CPU."
        ) from error
    return chosen


@contextmanager
def denormals_flushed() -> Iterator[None]:
    """Read and write numbers too small for full precision as zero while the block runs.

    Late in training gradients of settled rows become that small, and a CPU handles each of them
    many times slower than any other number. This holds for the thread that calls; others that
    torch shares large steps with keep their own setting.
    """
    before = torch.tensor(1e-310, dtype=torch.float64, device="cpu").mul(1.0).item() == 0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


@contextmanager
def threads_for(multiplications: float) -> Iterator[None]:
    """Use no more threads than pay for steps of this size, while the block runs.

    That is one for all but huge steps, whatever else the machine does: results must not depend on
    how busy it is. Other cores are better used by other trainings. The size of a step is the number
    of multiplications in its matrix products, in one direction.

    Torch keeps the number for the calling thread: blocks in several Python threads do not disturb
    each other. To threads that begin later it gives the last number set anywhere, so that one that
    begins during a block has the number of the block, and keeps it.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(int(min(before, 1 + multiplications / _MULTIPLICATIONS_PER_THREAD)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def quiet_surroundings(device: torch.device, multiplications: float) -> Iterator[None]:
    """Train in the same way whatever the settings of torch are, and leave them as they were.

    ``multiplications`` as in ``threads_for``.
    """
    with (
        torch.inference_mode(False),
        torch.no_grad(),
        torch.autocast(device.type, enabled=False),
        torch.cuda.device(device) if device.type == "cuda" else nullcontext(),
        denormals_flushed(),
        threads_for(multiplications),
    ):
        yield


@contextmanager
def ordinary_tensors() -> Iterator[None]:
    """Make tensors that can be learned, on the CPU, whatever the settings of torch are.

    Not for training itself: the second of these makes every operation slower.
    """
    with torch.inference_mode(False), torch.device("cpu"):
        yield


@functools.cache
def runs_kernels(device: torch.device) -> bool:
    """Return whether our kernels are to be used on a device, and can be.

    They are on the cards that they were measured on, Hopper's, unless the environment says
    ``DISAMBIG_KERNELS=0``. With ``DISAMBIG_KERNELS=1`` they are on all cards with TF32: some have
    too little memory close to their cores. Triton, which comes with torch, and a C compiler must be
    there: the first call of a kernel compiles it, which takes seconds, and Triton keeps the result.
    """
    switch = os.environ.get("DISAMBIG_KERNELS")
    if device.type != "cuda" or switch == "0" or torch.version.hip is not None:
        return False
    generation = torch.cuda.get_device_capability(device)[0]
    return (
        (generation == 9 or (switch == "1" and generation >= 8))
        and find_spec("triton") is not None
        and bool(os.environ.get("CC") or which("gcc") or which("clang"))
    )

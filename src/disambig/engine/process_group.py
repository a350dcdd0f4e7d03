"""The process group of torch.distributed that this process belongs to; torch is never loaded."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from disambig._core.errors import ParameterError, TrainingError


def rank_and_size() -> tuple[int, int]:
    """Return the number of this process, from 0, and how many there are: 0 and 1 where it is alone.

    Whoever has begun a group has loaded torch.
    """
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def is_first_process() -> bool:
    """Return whether this process is the one that writes files and speaks."""
    return rank_and_size()[0] == 0


def wait_for_other_processes() -> None:
    """Go on when all processes have come here."""
    if rank_and_size()[1] > 1:
        with others_answer():
            sys.modules["torch.distributed"].barrier()


@contextmanager
def others_answer() -> Iterator[None]:
    """Say in clear words why an exchange inside the block fails: mostly, a process is missing."""
    try:
        yield
    except RuntimeError as error:
        # "[file of gloo] Connection closed by peer [address]. This is typically ..."
        reason = re.sub(r"^\[.*?\] |\. .*", "", str(error).partition("\n")[0])
        if "No backend type associated" in reason:
            raise ParameterError(
                f"The process group cannot exchange what lies on this device ({reason}). Begin it "
                "by init_process_group() without a backend, which serves CPUs and cards, or choose "
                "another 'device'."
            ) from error
        raise TrainingError(
            f"Another process of this training has ended, or does not answer any more ({reason}). "
            "Look at what it said last. Where there is a checkpoint, the same call goes on from "
            "there, in as many processes as you like."
        ) from error

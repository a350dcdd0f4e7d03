"""Several processes that torchrun or a cluster has started for one command, and train together."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from disambig._core.errors import ParameterError

# A process that dies is noticed at once, by its connection; this is for one that hangs.
_LONGEST_SILENCE = 600  # seconds
# What torchrun, and whatever else starts processes for torch, puts into the environment.
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def launched_rank_and_size() -> tuple[int, int]:
    """Return the number of this process and how many were started: 0 and 1 for a usual command."""
    given = [os.environ.get(name, "") for name in _VARIABLES]
    if not all(given) or not (given[0].isdecimal() and given[1].isdecimal()):
        return 0, 1
    return int(given[0]), int(given[1])


@contextmanager
def training_together() -> Iterator[int]:
    """Let the processes that were started for this command take every step of a training together.

    Gives their number. Only the first one is heard, but for errors.
    """
    _, size = launched_rank_and_size()
    if size == 1:
        yield 1
        return
    from datetime import timedelta

    import torch  # takes a second
    from torch import distributed

    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if torch.cuda.is_available():
        if local_rank >= torch.cuda.device_count():
            raise ParameterError(
                f"Every process needs a card of its own. Got {torch.cuda.device_count()} cards, "
                f"and process {local_rank} (they count from 0). Start fewer processes, or hide "
                "the cards: CUDA_VISIBLE_DEVICES= trains on the CPU."
            )
        torch.cuda.set_device(local_rank)
    # Without a name: gloo for what lies on the CPU, nccl for what lies on cards.
    distributed.init_process_group(timeout=timedelta(seconds=_LONGEST_SILENCE))
    yield size
    distributed.destroy_process_group()


def takes_no_part(words: Sequence[str]) -> bool:
    """Return whether this process is one too many for the command: most are the work of one."""
    return launched_rank_and_size()[0] > 0 and not {"clean", "fit"} & set(words[:1])


def process_name() -> str:
    """Return how this process calls itself in its last words."""
    rank, size = launched_rank_and_size()
    return "disambig" if rank == 0 else f"disambig (process {rank} of {size}, counted from 0)"

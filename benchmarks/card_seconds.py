"""How long many fits take on a CUDA card."""

import time
from collections.abc import Iterable
from typing import Any

import torch

from disambig.methods import PartialLabelClassifier, fit_many


def card_seconds(method: PartialLabelClassifier, tasks: Iterable[Any]) -> float:
    """Return the seconds from tasks in memory to fitted copies of a method."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in fit_many(method, tasks):
        pass
    torch.cuda.synchronize()
    return time.perf_counter() - begin

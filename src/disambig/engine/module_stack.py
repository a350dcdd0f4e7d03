"""Networks that the user brings: any ``torch.nn.Module``, one after the other."""

import copy
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from disambig._core.errors import ParameterError
from disambig.engine.fast.layers import Prepared
from disambig.engine.fast.random import random_words, streams_of
from disambig.engine.fast.stack import Stack
from disambig.engine.fast.step import RowsInBatch
from disambig.engine.ranks import Ranks

_ONE_AT_A_TIME = threading.Lock()


class ModuleStack(Stack):
    """Modules of the user, for images, text or anything that a perceptron does not suit.

    Parameters
    ----------
    factory : callable
        Called once for every network as ``factory(n_inputs, n_outputs)``; returns a module that
        takes a tensor of shape (rows, n_inputs) and returns logits of shape (rows, n_outputs).
    n_inputs : int or tuple of int
        Number of features; or the shape of a row, such as (1, 8, 8): modules then take a tensor of
        shape (rows, 1, 8, 8).
    n_outputs : int
        Number of classes.
    seeds : sequence of int
        One for every network: what its module draws from torch's global generators, when it is
        made and when it is trained, follows from it. Their own state is left as it was.
    """

    capturable: ClassVar[bool] = False

    def __init__(
        self,
        factory: Callable[[Any, int], Any],
        n_inputs: int | tuple[int, ...],
        n_outputs: int,
        *,
        seeds: Sequence[int],
    ) -> None:
        super().__init__()
        self._row_shape = n_inputs if isinstance(n_inputs, tuple) else (n_inputs,)
        self._n_outputs = n_outputs
        self._streams = streams_of(seeds)
        self._outputs: list[Tensor] = []
        self.members = nn.ModuleList()
        for seed in seeds:
            with _drawing_from(seed, torch.device("cpu")):
                module = factory(n_inputs, n_outputs)
            self.members.append(self._checked_module(module))

    def __len__(self) -> int:
        return len(self.members)

    def forward(self, inputs: Prepared, rows: RowsInBatch, step: int | Tensor) -> Tensor:
        """Return the logits of a training batch; see ``Stack``."""
        (features,) = inputs
        seeds = random_words(self._streams, int(step))
        logits = features.new_zeros(*features.shape[:2], self._n_outputs)
        self._outputs = []
        for network, module in enumerate(self.members):
            # A module may normalise over its rows, so it never sees those that only fill up.
            n_rows = int(rows.counts[network])
            of_network = features[network, :n_rows].reshape(n_rows, *self._row_shape)
            with torch.enable_grad(), _drawing_from(int(seeds[network]), features.device):
                output = self._checked(module.train()(of_network), n_rows)
            if not output.requires_grad:
                raise ParameterError(
                    "'network' must return modules whose logits can be learned from. "
                    "Got logits without a gradient: do not detach them."
                )
            self._outputs.append(output)
            logits[network, :n_rows] = output.detach()
        return logits

    def backward(self, gradient: Tensor) -> None:
        """Take the gradient of the logits, leave that of every parameter in its ``.grad``."""
        self.zero_grad()
        for output, of_logits in zip(self._outputs, gradient, strict=True):
            # torch has no types for it.
            output.backward(of_logits[: len(output)])  # type: ignore[no-untyped-call]

    def expect_share(self, ranks: Ranks, first_row: int) -> None:  # noqa: ARG002
        """Refuse: a module may look at all rows of a batch, to normalise for example."""
        if ranks.size > 1:
            raise ParameterError(
                "Networks of your own ('network') are trained by one process. Got "
                f"{ranks.size} processes. Leave 'network' out, or fit in one process: put "
                "'with disambig.engine.ranks.alone():' around fit."
            )

    def infer(self, features: Tensor) -> Tensor:
        """Return the logits of every network; see ``Stack``."""
        n_rows = features.shape[-2]
        of_networks = features.expand(len(self), -1, -1).unbind()
        logits = [
            module.eval()(rows.reshape(n_rows, *self._row_shape))
            for module, rows in zip(self.members, of_networks, strict=True)
        ]
        return torch.stack([self._checked(output, n_rows) for output in logits])

    def multiplications_per_row(self) -> float:
        """Unknown for user modules: return infinity."""
        return math.inf

    def part(self, first: int, count: int, *, whole: bool = False) -> Self:  # noqa: ARG002
        """Return a stack of its own with some of the networks; see ``Stack``."""
        part = copy.copy(self)
        part._modules = {"members": copy.deepcopy(self.members[first : first + count])}
        part._streams = self._streams[first : first + count]
        part._outputs = []
        return part

    def _checked_module(self, module: Any) -> nn.Module:
        needed = (
            "'network' must return a new torch.nn.Module with something to learn whenever it is "
            "called with the number of features and of classes."
        )
        if not isinstance(module, nn.Module):
            raise ParameterError(f"{needed} Got {module!r}.")
        parameters = list(module.parameters())
        known = {id(parameter) for parameter in self.members.parameters()}
        if known & {id(parameter) for parameter in parameters}:
            raise ParameterError(f"{needed} Got the same one twice: make it inside the function.")
        if any(is_lazy(parameter) for parameter in parameters):
            raise ParameterError(f"{needed} Got lazy layers: give them their sizes.")
        if not any(parameter.requires_grad for parameter in parameters):
            raise ParameterError(f"{needed} Got one without any parameter that can be learned.")
        return module

    def _checked(self, output: Any, n_rows: int) -> Tensor:
        expected = (n_rows, self._n_outputs)
        if not isinstance(output, Tensor) or tuple(output.shape) != expected:
            came = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
            raise ParameterError(
                f"'network' must return modules that give logits of shape {expected} for "
                f"{n_rows} rows and {self._n_outputs} classes. Got {came}. End the module with one "
                "number for every class."
            )
        return output


@contextmanager
def _drawing_from(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global generators while the block runs, then put them back as they were."""
    cuda = [device] if device.type == "cuda" else []
    # They are the same ones for all threads.
    with _ONE_AT_A_TIME, torch.random.fork_rng(devices=cuda):
        torch.default_generator.manual_seed(seed)
        if cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield

"""What a graph on a card does, done on the CPU: the same operations in the same memory."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from disambig.engine.fast.step import Clock, ReplayedStep


class Recording(TorchDispatchMode):
    """Operations with the tensors that they read and write, as a graph keeps them."""

    def __init__(self):
        super().__init__()
        self._operations = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func is not torch.ops.aten._local_scalar_dense.default, "a graph knows no numbers"
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        read = {
            value.untyped_storage().data_ptr()
            for value in tree_leaves((args, kwargs))
            if isinstance(value, torch.Tensor)
        }
        # What is new must be written again; views and what was written in place are there.
        new = [
            (number, value)
            for number, value in enumerate(tree_leaves(result))
            if isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() not in read
        ]
        self._operations.append((func, args, kwargs, new))
        return result

    def replay(self):
        for func, args, kwargs, new in self._operations:
            results = tree_leaves(func(*args, **kwargs))
            for number, value in new:
                value.copy_(results[number])


class RecordedStep(ReplayedStep):
    """Record as on a card, where a step that is recorded is not done."""

    def _record(self, step, kind):
        before = [tensor.clone() for tensor in self._state]
        recording = Recording()
        for attempt in range(2):
            if attempt:
                with recording:
                    step(kind)
            else:
                step(kind)
            for tensor, value in zip(self._state, before, strict=True):
                tensor.copy_(value)
        return recording


def recorded(training):
    """Return the same training as it would be on a card, before it has begun."""
    training._adam.learning_rate = torch.tensor(training.settings.learning_rate)
    training._clock = Clock(torch.device("cpu"))
    if training._loss_step is not None:
        training._loss_step._clock = training._clock
    state = [*training.state().values(), *training._clock.on_device()]
    training._replayed = RecordedStep(state)
    return training

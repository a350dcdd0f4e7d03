"""Adam, with its memory in the open: to be recorded in a graph, kept in a file and put back."""

from collections.abc import Iterable

import torch
from torch import Tensor


class Adam:
    """Adam with its usual rates of forgetting, for parameters whose gradients lie in ``.grad``.

    Calls torch's own arithmetic without the bookkeeping of ``torch.optim``, which on the CPU takes
    as long as the arithmetic.

    Parameters
    ----------
    parameters : iterable of Tensor
        What is to be learned.
    learning_rate : float
        Size of the steps, until ``set_learning_rate`` changes it.

    Attributes
    ----------
    learning_rate : float or Tensor of one number
        Size of the steps; on a card a tensor, which a recorded step reads anew every time.
    steps : Tensor of shape (parameters,)
        Steps done, the same number for all that were learned.
    """

    def __init__(self, parameters: Iterable[Tensor], learning_rate: float) -> None:
        self._parameters = list(parameters)
        self._is_padded = False
        self._means = [torch.zeros_like(parameter) for parameter in self._parameters]
        for parameter, mean in zip(self._parameters, self._means, strict=True):
            # A view with gaps: torch's arithmetic would write into them.
            if parameter.stride() != mean.stride():
                parameter.data = parameter.data.clone()
        self._is_turned = [
            p.ndim > 1 and not p.is_contiguous() and p.mT.is_contiguous() for p in self._parameters
        ]
        # A card takes parameters of one type at a time; modules of the user may have several.
        self._by_type: dict[torch.dtype, list[int]] = {}
        for number, parameter in enumerate(self._parameters):
            self._by_type.setdefault(parameter.dtype, []).append(number)
        self._squares = [torch.zeros_like(parameter) for parameter in self._parameters]
        device = self._parameters[0].device
        # One for every parameter, as torch wants it; side by side in memory.
        self.steps = torch.zeros(len(self._parameters), dtype=torch.float32, device=device)
        self._steps = list(self.steps.unbind())
        self.learning_rate: float | Tensor = learning_rate
        if device.type == "cuda":
            self.learning_rate = torch.tensor(learning_rate, dtype=torch.float32, device=device)

    def set_learning_rate(self, value: float) -> None:
        """Change the size of the steps from now on."""
        if isinstance(self.learning_rate, Tensor):
            self.learning_rate.fill_(value)
        else:
            self.learning_rate = value

    def update(self) -> None:
        """Take one step; parameters without a gradient are left alone."""
        assert not self._is_padded
        for numbers in self._by_type.values():
            learned = [n for n in numbers if self._parameters[n].grad is not None]
            steps = [self._steps[n] for n in learned]
            if len(steps) == len(self._steps):
                self.steps.add_(1)
            elif steps:
                torch._foreach_add_(steps, 1)
            else:
                continue
            torch._fused_adam_(
                [self._as_it_lies(self._parameters[n], n) for n in learned],
                [self._as_it_lies(self._parameters[n].grad, n) for n in learned],
                [self._as_it_lies(self._means[n], n) for n in learned],
                [self._as_it_lies(self._squares[n], n) for n in learned],
                [],
                steps,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self.learning_rate,
                weight_decay=0.0,
                eps=1e-8,
                maximize=False,
            )

    def _as_it_lies(self, value: Tensor | None, number: int) -> Tensor:
        """Return a view of a parameter, or of what is kept of it, in the order of its memory.

        Torch copies what lies otherwise, which takes longer than the arithmetic.
        """
        assert value is not None
        return value.mT if self._is_turned[number] else value

    def memory_of(self, parameter: Tensor) -> tuple[Tensor, Tensor]:
        """Return what is kept of a parameter's gradient and of its square; not copies."""
        number = self._number_of(parameter)
        return self._means[number], self._squares[number]

    def pad_rows(self, parameter: Tensor, length: int) -> None:
        """Let the rows of a parameter and of its memory end with zeros, up to this length.

        Only what lies in memory changes, not what anybody sees of it. For kernels of our own:
        torch's arithmetic, in ``update``, would take the zeros for numbers.
        """
        self._is_padded = True
        number = self._number_of(parameter)
        parameter.data = _padded(parameter.data, length)
        self._means[number] = _padded(self._means[number], length)
        self._squares[number] = _padded(self._squares[number], length)

    def _number_of(self, parameter: Tensor) -> int:
        return next(n for n, known in enumerate(self._parameters) if known is parameter)

    def state(self) -> dict[str, Tensor]:
        """Return what the next step depends on, by name; not copies."""
        return {
            f"{name}.{number}": value
            for name, values in (
                ("mean", self._means),
                ("square", self._squares),
                ("step", self._steps),
            )
            for number, value in enumerate(values)
        }


def _padded(value: Tensor, length: int) -> Tensor:
    memory = value.new_zeros(*value.shape[:-1], length)
    memory[..., : value.shape[-1]] = value
    return memory[..., : value.shape[-1]]

"""What callbacks must be able to hear."""

from collections.abc import Sequence
from typing import Any

from disambig._core.errors import ParameterError

# What a training calls, where a listener has it.
EVENTS = ("on_fit_start", "on_epoch_end", "on_fit_end", "on_interrupt")


def check_callbacks(callbacks: Any) -> None:
    """Refuse what is not a list, and members of it that would never be called."""
    if not isinstance(callbacks, Sequence) or isinstance(callbacks, str):
        raise ParameterError(f"'callbacks' must be a list of objects. Got {callbacks!r} instead.")
    deaf = [one for one in callbacks if not any(callable(getattr(one, e, None)) for e in EVENTS)]
    if deaf:
        raise ParameterError(
            f"A callback needs at least one of the methods {', '.join(EVENTS)}. Got {deaf[0]!r}, "
            "which has none. Write a class with on_epoch_end(self, training), and give an object "
            "of it."
        )

"""Check the parameters of a method or function, with one wording for all of them."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError

__all__ = ["check_boolean", "check_choice", "check_integer", "check_real"]


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse a ``value`` that is not one of ``choices``."""
    allowed = list(choices)
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(repr(choice) for choice in allowed)
        raise ParameterError(f"{name!r} must be one of {listed}. Got {value!r} instead.")


def check_boolean(name: str, value: Any) -> None:
    """Refuse a ``value`` that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name!r} must be True or False. Got {value!r} instead.")


def check_integer(name: str, value: Any, *, minimum: int, maximum: int | None = None) -> None:
    """Refuse a ``value`` that is not an integer from ``minimum`` to ``maximum``."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < minimum or (maximum is not None and value > maximum):
        wanted = f">= {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise ParameterError(f"{name!r} must be an integer {wanted}. Got {value!r} instead.")


def check_real(name: str, value: Any, *, minimum: float, maximum: float = math.inf) -> None:
    """Refuse a ``value`` that is not a finite number from ``minimum`` to ``maximum``."""
    is_real = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not is_real or not minimum <= value <= maximum:
        wanted = f">= {minimum}" if math.isinf(maximum) else f"from {minimum} to {maximum}"
        raise ParameterError(f"{name!r} must be a number {wanted}. Got {value!r} instead.")

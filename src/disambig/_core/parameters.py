"""Check parameters, and turn a random state into local seeds."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from disambig._core.errors import ParameterError


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse a ``value`` that is not one of ``choices``."""
    allowed = list(choices)
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(repr(choice) for choice in allowed)
        raise ParameterError(f"{name!r} must be one of {names}. Got {value!r} instead.")


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


RandomState = (
    int | np.integer | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None
)


def make_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator: the one given, or a new one seeded by ``random_state``."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(_seed_sequence(random_state))


def spawn_seeds(random_state: RandomState, count: int) -> list[int]:
    """Return ``count`` independent seeds; the first ones do not depend on ``count``."""
    children = _seed_sequence(random_state).spawn(count)
    # 31 bits, so that every library takes them, scikit-learn's random_state included.
    return [int(child.generate_state(1)[0] >> 1) for child in children]


def _seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.SeedSequence):
        # A sequence counts what it spawns: work on a copy, so that the caller's object gives the
        # same seeds again.
        return np.random.SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31)))
    raise ParameterError(
        "'random_state' must be None, an integer >= 0, or a NumPy generator. "
        f"Got {random_state!r} instead."
    )


def check_same_length(**lengths: int) -> None:
    """Refuse arguments of different lengths, and empty ones."""
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        got = ", ".join(f"{length} {name.replace('_', ' ')}" for name, length in lengths.items())
        raise ParameterError(f"Arguments need the same length, and at least one row. Got {got}.")

"""From one ``random_state`` to as many independent local generators as needed.

NumPy's global state is never read and never changed.
"""

import numpy as np

from disambig._core.errors import ParameterError

__all__ = ["RandomState", "make_generator", "spawn_seeds"]

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
    # 31 bits, so that every library takes them, scikit-learn's own random_state included.
    return [int(child.generate_state(1)[0] >> 1) for child in children]


def _seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.SeedSequence):
        # Spawning counts inside the sequence it is called on: work on a copy, so that the
        # caller's object gives the same seeds again.
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

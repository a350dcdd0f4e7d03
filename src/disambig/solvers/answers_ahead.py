"""What the next answers will change, by doubt and by what the answers so far have changed."""

from typing import NamedTuple

import numpy as np
from scipy.special import nbdtr

from disambig._core.typing import FloatArray

# Changes that are as good as seen where nobody has answered yet, and as many foreseen.
_BEFOREHAND = 5.0
_LOW, _HIGH = 0.05, 0.95


class Ahead(NamedTuple):
    """How many labels the next answers are expected to change.

    Attributes
    ----------
    n_answers : int
        How many answers that is about.
    changes : float
        How many labels of the rows asked about they change, expected.
    low, high : int
        Where that number lies in nine of ten cases.
    ratio : float
        Changes per change that doubt alone foresees, as the answers so far have it.
    """

    n_answers: int
    changes: float
    low: int
    high: int
    ratio: float


def foresee_changes(doubts: FloatArray, *, changed: int = 0, foreseen: float = 0.0) -> Ahead:
    """Say what the answers on some rows will change, from the doubt in each of them.

    Parameters
    ----------
    doubts : ndarray
        One minus the confidence of the chosen label, of the rows that are asked about next.
    changed : int
        How many answers so far were another label than the chosen one.
    foreseen : float
        How many should have been, by the doubts in those rows.

    Notes
    -----
    A model may be too sure, or too modest. Changes are taken to be Poisson with the doubt times a
    ratio, which has a gamma distribution of mean one before there are answers, worth five changes.
    The changes to come are then negative binomial.
    """
    seen = _BEFOREHAND + changed
    of_seen = _BEFOREHAND + foreseen
    ratio = seen / of_seen
    mean = float(np.sum(doubts))
    stays = of_seen / (of_seen + mean)
    counts = np.arange(len(doubts) + 1)
    below = nbdtr(counts, round(seen), stays)
    low, high = (int(np.searchsorted(below, share)) for share in (_LOW, _HIGH))
    n_answers = len(doubts)
    return Ahead(n_answers, min(ratio * mean, n_answers), low, min(high, n_answers), ratio)

"""How to ask about a row: about one label or several, whichever is answered sooner.

A person reads the labels of a question and, if the right one is not among them, looks through the
other candidates too. How long that takes is assumed, not measured: a question of two labels takes
one answer's time, one label 4/5 of it (nothing is compared), and every further label adds a tenth.
"""

import numpy as np

from disambig._core.typing import FloatArray, IntArray

# Nobody compares more labels than these at once.
MOST_LABELS = 4
_ONE_LABEL, _FURTHER_LABEL = 0.8, 0.1


def reading_time(n_labels: IntArray) -> FloatArray:
    """Return how long it takes to decide among so many labels, relative to two."""
    time: FloatArray = np.where(n_labels < 2, _ONE_LABEL, 1 + _FURTHER_LABEL * (n_labels - 2))
    return time


def quickest_forms(falling: FloatArray, sizes: IntArray) -> tuple[IntArray, FloatArray]:
    """Return for every row how many labels to ask about, and how long the answer will take.

    ``falling`` has the probabilities of the likeliest labels of every row, falling, zeros behind
    the last candidate; ``sizes`` says how many candidates rows have. Times are relative to that of
    a question of two labels.
    """
    held = np.cumsum(falling[:, :MOST_LABELS], axis=1)
    counts = np.arange(1, held.shape[1] + 1)
    others = np.maximum(sizes[:, np.newaxis] - counts, 1)
    times = reading_time(counts) + np.maximum(1 - held, 0) * reading_time(others)
    times[counts > sizes[:, np.newaxis]] = np.inf
    best = times.argmin(axis=1)
    return counts[best], times[np.arange(len(best)), best]

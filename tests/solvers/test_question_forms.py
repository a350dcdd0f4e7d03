"""Whether one label or several are asked about, against the time of every form."""

import numpy as np
import pytest

from disambig.solvers.question_forms import quickest_forms, reading_time


def test_reading_times():
    np.testing.assert_allclose(reading_time(np.array([1, 2, 3, 6])), [0.8, 1, 1.1, 1.4])


@pytest.mark.parametrize(
    ("shares", "size", "count"),
    [
        ([0.9, 0.02, 0.02, 0.02], 6, 1),  # clearly one among many
        ([0.5, 0.45, 0.05, 0], 3, 2),
        ([0.4, 0.3, 0.25, 0.05], 4, 3),
        ([0.55, 0.45, 0, 0], 2, 2),
        ([0.8, 0, 0, 0], 1, 1),  # its set may miss the label
    ],
)
def test_the_form_that_is_answered_soonest(shares, size, count):
    counts, times = quickest_forms(np.array([shares]), np.array([size]))
    assert counts.tolist() == [count]
    every = {
        n: _reading(n) + (1 - sum(shares[:n])) * _reading(max(size - n, 1))
        for n in range(1, min(size, 4) + 1)
    }
    assert times[0] == pytest.approx(min(every.values()))
    assert every[count] == min(every.values())


def _reading(n: int) -> float:
    return 0.8 if n == 1 else 1 + 0.1 * (n - 2)

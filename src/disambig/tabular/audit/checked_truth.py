"""How many of the true labels that are known are not among the candidates of their row."""

from dataclasses import dataclass

import numpy as np

from disambig._core.messages import percent, row_list
from disambig._core.typing import AnyArray
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.estimate import wilson_interval
from disambig.tabular.true_labels import is_known

_ROWS_NAMED = 5


@dataclass(frozen=True)
class CheckedTruth:
    """Rows whose true label is known, and those of them whose set does not hold it."""

    n_rows: int  # whose true label is known
    n_outside: int
    low: float  # ends of the 95 % interval of the share outside
    high: float
    rows: tuple[int, ...]  # the first of those outside, counted from 1

    def __str__(self) -> str:
        interval = f"95 %: {100 * self.low:.1f} to {100 * self.high:.1f} %"
        if not self.n_outside:
            return (
                f"All {self.n_rows:,} true labels that are known are among the candidates of their "
                f"row. Share of sets that miss the true label: 0 % ({interval})."
            )
        one = self.n_outside == 1
        return (
            f"{self.n_outside:,} of the {self.n_rows:,} true labels that are known "
            f"{'is' if one else 'are'} not among the candidates of {'its' if one else 'their'} "
            f"row: {percent(self.n_outside / self.n_rows)} ({interval}). See "
            f"{row_list(self.rows, self.n_outside)}."
        )


def check_truth(
    candidates: CandidateLabels, truth: AnyArray, numbers: AnyArray
) -> CheckedTruth | None:
    """Compare sets with the true labels that are known; None if there are none.

    ``numbers`` are the positions of the rows in the table, from 0.
    """
    known = is_known(truth)
    if not known.any():
        return None
    outside = np.flatnonzero(known)[~candidates[known].contains(truth[known].tolist())]
    n_rows = int(known.sum())
    low, high = wilson_interval(len(outside), n_rows)
    rows = tuple(int(row) + 1 for row in numbers[outside[:_ROWS_NAMED]])
    return CheckedTruth(n_rows, len(outside), low, high, rows)

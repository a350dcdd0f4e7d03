"""Rows whose true label is known, asked among the others to see how often a reviewer is right."""

from collections.abc import Mapping

import numpy as np

from disambig._core.messages import row_count
from disambig._core.typing import FloatArray, IntArray
from disambig.candidates.groups import group_numbers
from disambig.tabular.accuracy import accuracy_of
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.labels.decisions import Answer, Decision, NotThese
from disambig.tabular.table_cells import text_of

_EVERY = 20


class KnownRows:
    """The rows of a table whose true label is known, and which look as doubtful as others.

    True labels judge here; no page and no model sees them.

    Attributes
    ----------
    unaided : mapping from row to mappings from label to share
        What the model said of them before their label was known.
    """

    def __init__(self, rows: CleanedTable) -> None:
        self.unaided = _doubtful_unaided(rows)
        truth = [] if rows.truth is None else rows.values[rows.truth].tolist()
        # Answers of earlier reviews may be about others.
        self._sets = rows.unaided_confidences
        self._truth = {row: text_of(truth[row]) for row in self._sets if row < len(truth)}

    def among(self, queue: IntArray, confidence: FloatArray) -> tuple[IntArray, list[int]]:
        """Return the queue with a known row at every twentieth place, and which rows these are.

        Each is about as doubtful as the row before it.
        """
        left = {row: max(shares.values()) for row, shares in self.unaided.items()}
        order: list[int] = []
        taken: list[int] = []
        for row in queue.tolist():
            if left and len(order) % _EVERY == _EVERY - 1:
                nearest = min(left, key=lambda one: abs(left[one] - confidence[order[-1]]))
                del left[nearest]
                taken.append(nearest)
                order.append(nearest)
            order.append(row)
        return np.array(order, dtype=np.int64), taken

    def judge(self, answers: Mapping[int, Decision]) -> str:
        """Return how often answers are right, in a sentence; empty where nothing can be said.

        Who cannot tell is neither right nor wrong.
        """
        told = {
            row: decision
            for row, decision in answers.items()
            if row in self._truth and decision not in (Answer.CANNOT_TELL, Answer.BAD_ROW)
        }
        if not told:
            return ""
        right = np.array([self._is_right(row, decision) for row, decision in told.items()])
        found, n_right = accuracy_of(right), int(right.sum())
        return (
            f"Of {row_count(len(told))} whose true label is known and was not shown, "
            f"{n_right} {'was' if n_right == 1 else 'were'} answered correctly: "
            f"{100 * found.share:.0f} % ({100 * found.low:.0f} to {100 * found.high:.0f} %, 95 %)."
        )

    def _is_right(self, row: int, decision: Decision) -> bool:
        truth = self._truth[row]
        if isinstance(decision, NotThese):
            return truth not in decision.labels
        if decision is Answer.NONE_OF_THESE:
            return truth not in self._sets[row]
        return decision == truth


def _doubtful_unaided(rows: CleanedTable) -> dict[int, Mapping[str, float]]:
    """Return the known rows that would have been marked, and that no other row tells anything."""
    if rows.truth is None or not rows.second_look.any():
        return {}
    surest = float(rows.confidence[rows.second_look].max())
    groups = rows.candidates.groups
    n_rows = len(rows.candidates)
    numbers = np.arange(n_rows) if groups is None else group_numbers(groups, n_rows)
    is_alone = np.bincount(numbers)[numbers] == 1
    classes = set(rows.candidates.classes.tolist())
    return {
        row: shares
        for row, shares in rows.unaided_confidences.items()
        if 0 <= row < n_rows
        and is_alone[row]
        and not rows.second_look[row]
        and len(shares) > 1
        and max(shares.values()) <= surest
        and classes.issuperset(shares)
    }

"""The columns that cleaning adds to a table: labels, confidences, sets that may miss the label."""

from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from disambig._core.typing import BoolArray, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest, group_maxima
from disambig.tabular.judged_rows import JudgedRows
from disambig.tabular.labels.label_cells import write_weighted_cells
from disambig.tabular.second_look import second_look
from disambig.tabular.table_cells import CLEAN_COLUMNS, DECISION_COLUMN, MISS_COLUMNS
from disambig.tabular.task import TableTask
from disambig.tabular.true_labels import is_known

_DECIMALS = 6
_ROWS_AT_A_TIME = 100_000
_MOST_UNAIDED = 2_000


class CleanedColumns:
    """What cleaning adds to a table: numbers of all rows, and texts of those that are asked for.

    Parameters
    ----------
    candidates : CandidateLabels
        The sets to choose from.
    confidences : sparse array
        How sure one is of every candidate.
    errors_to_find : float
        Share of the expected errors that the marked rows should hold.
    has_seen : ndarray of booleans
        Rows at which a person has looked in vain: they are not marked again.
    others : DataFrame, optional
        Columns that follow.
    """

    def __init__(
        self,
        candidates: CandidateLabels,
        confidences: Sparse,
        errors_to_find: float,
        has_seen: BoolArray,
        others: pd.DataFrame | None = None,
    ) -> None:
        self._candidates, self._others = candidates, others
        self._values = candidates.values_of(confidences)
        largest, second = _two_largest(self._values, candidates)
        # A person reads this column as well as another program.
        confidence = np.round(largest, _DECIMALS)
        self._numbers = {
            "confidence": confidence,
            "margin": np.round(largest - second, _DECIMALS),
            "second_look": _marked(confidence, errors_to_find, ~has_seen),
        }

    def __len__(self) -> int:
        return len(self._candidates)

    def __getitem__(self, name: str) -> Any:
        """Return a column of numbers; the cells of confidences as they are written, one by one."""
        if name in self._numbers:
            return pd.Series(self._numbers[name], name=name)
        return chain.from_iterable(
            self.rows(start, start + _ROWS_AT_A_TIME)[name]
            for start in range(0, len(self), _ROWS_AT_A_TIME)
        )

    def rows(self, start: int = 0, stop: int | None = None) -> pd.DataFrame:
        """Return all columns of some rows, by default of all."""
        rows = slice(start, stop)
        sets, starts = self._candidates[rows], self._candidates.starts
        ends = np.append(starts, len(self._values))[rows.start : None if stop is None else stop + 1]
        values = self._values[ends[0] : ends[len(sets)]]
        chosen = sets.pairs()[1][first_largest(values, sets.starts)]
        columns = {
            "chosen_label": sets.classes[chosen],
            **{name: numbers[rows] for name, numbers in self._numbers.items()},
            "candidate_confidences": write_weighted_cells(sets, np.round(values, _DECIMALS)),
        }
        frame = pd.DataFrame({name: columns[name] for name in CLEAN_COLUMNS})
        if self._others is None:
            return frame
        return pd.concat([frame, self._others.iloc[rows].reset_index(drop=True)], axis=1)


def _marked(confidence: FloatArray, errors_to_find: float, may_be: BoolArray) -> BoolArray:
    marked = np.zeros(len(confidence), dtype=bool)
    if may_be.any():
        marked[may_be] = second_look(confidence[may_be], errors_to_find)
    return marked


def decision_column(task: TableTask) -> pd.Series:
    """Return the kind of every decision that a person has made; empty where there is none."""
    kinds = np.full(len(task.candidates), "", dtype=object)
    for row, kind in task.answers.items():
        kinds[row] = kind
    return pd.Series(kinds, name=DECISION_COLUMN)


def miss_columns(task: TableTask, judged: JudgedRows) -> pd.DataFrame:
    """Return how probably the set misses the right label, and which label that would be."""
    probability = judged.miss_probability.copy()
    names = np.array([*task.candidates.classes.tolist(), ""], dtype=object)
    label = names[judged.outside]
    if task.truth is not None:
        known = is_known(task.truth)
        missed = known.copy()
        missed[known] = ~task.candidates[known].contains(task.truth[known])
        probability[known] = missed[known]
        label = np.where(missed, task.truth, label)
    columns = (np.round(probability, _DECIMALS), label)
    return pd.DataFrame(dict(zip(MISS_COLUMNS, columns, strict=True)))


def unaided_confidences(task: TableTask, confidences: Sparse) -> dict[int, str]:
    """Return what a model said of ambiguous rows whose true label is known, by row.

    A review shows some of them as they would look if it were not known.
    """
    if task.truth is None:
        return {}
    rows = np.flatnonzero(is_known(task.truth) & (task.candidates.sizes > 1))[:_MOST_UNAIDED]
    sets = task.candidates[rows]
    values = sets.values_of(confidences[rows]).round(_DECIMALS).clip(0, 1)
    return dict(zip(rows.tolist(), write_weighted_cells(sets, values), strict=True))


def let_leave(
    candidates: CandidateLabels, confidences: Sparse, judged: JudgedRows, relabelled: BoolArray
) -> tuple[CandidateLabels, Sparse]:
    """Return sets with the label outside in the rows that have it now, and confidences with it."""
    rows = np.flatnonzero(relabelled)
    places = (rows, judged.outside[rows])
    shape = candidates.shape
    added = sparse.csr_array((np.ones(len(rows), dtype=bool), places), shape=shape)
    shares = sparse.csr_array((judged.outside_confidence[rows], places), shape=shape)
    mask = (candidates.to_sparse().astype(bool) + added).tocsr()
    widened = CandidateLabels(mask, candidates.classes).with_rows_of(candidates)
    return widened, (confidences + shares).tocsr()


def _two_largest(values: FloatArray, candidates: CandidateLabels) -> tuple[FloatArray, FloatArray]:
    """Return the largest and the second largest value of every row; 0 where there is one only."""
    best = first_largest(values, candidates.starts)
    rest = values.copy()
    rest[best] = 0
    return values[best], group_maxima(rest, candidates.starts)

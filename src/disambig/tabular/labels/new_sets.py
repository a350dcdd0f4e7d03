"""New rows that come with candidate sets: their sets over the labels of a model, ranked by it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from disambig._core.errors import TableError
from disambig._core.messages import describe_table_rows
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from disambig.candidates.checks import known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.labels.label_columns import (
    LabelColumns,
    Labels,
    label_column_names,
    sets_of_rows,
)
from disambig.tabular.labels.label_rows import unknown_label
from disambig.tabular.labels.row_groups import GROUPS, RowGroups


def read_new_sets(
    frame: Any, labels: Labels, classes: AnyArray, groups: RowGroups
) -> tuple[CandidateLabels, tuple[str, ...]]:
    """Return the candidate sets of new rows over the labels of a model, with their groups.

    Also returns what a person should know about how they were read. Refuses a label that the model
    does not know.
    """
    if groups.column(frame) in label_column_names(labels, frame):
        raise TableError(
            f"Column {groups.group!r} cannot be {GROUPS}: it already holds the candidate labels. "
            "Name another."
        )
    reading: tuple[str, ...] = ()
    if isinstance(labels, CandidateLabels):
        sets = _over_classes(sets_of_rows(labels, frame), classes)
    else:
        sets, reading = LabelColumns.of(labels).read_new_with_notices(frame, classes)
    sets, notices = groups.put_on(sets, frame)
    return sets, (*reading, *notices)


def _over_classes(sets: CandidateLabels, classes: AnyArray) -> CandidateLabels:
    rows, columns = sets.pairs()
    is_unknown = known_columns_of(sets.classes.tolist(), classes)[columns] < 0
    if not is_unknown.any():
        return sets.with_classes(classes)
    bad: BoolArray = np.zeros(len(sets), dtype=bool)
    bad[rows[is_unknown]] = True
    labels = list(dict.fromkeys(map(str, sets.classes[columns[is_unknown]].tolist())))
    names = [str(name) for name in classes.tolist()]
    problem = unknown_label(labels[0], names, len(labels) - 1)
    raise TableError(f"The candidate sets cannot be used in {describe_table_rows(bad)}: {problem}")


@dataclass(frozen=True, eq=False)
class RankedCandidates:
    """The candidates of every row, the most confident first; ties in the order of the classes.

    One entry for every candidate, row by row.
    """

    rows: IntArray
    places: IntArray  # in its row, from 0
    columns: IntArray  # of the class
    confidences: FloatArray  # rows sum to one
    probabilities: FloatArray  # by the model, which knows neither set nor group
    n_rows: int

    def first(self, count: int) -> tuple[IntArray, FloatArray]:
        """Return the columns of the first ``count`` candidates, and how sure they are.

        Where a row has fewer, the column is -1 and the confidence missing.
        """
        columns = np.full((self.n_rows, count), -1)
        confidences = np.full((self.n_rows, count), np.nan)
        listed = self.places < count
        cells = (self.rows[listed], self.places[listed])
        columns[cells] = self.columns[listed]
        confidences[cells] = self.confidences[listed]
        return columns, confidences

    def likely(self, threshold: float) -> list[list[int]]:
        """Return the columns of candidates that the model does not rule out, and of the first."""
        listed = (self.probabilities >= threshold) | (self.places == 0)
        likely: list[list[int]] = [[] for _ in range(self.n_rows)]
        for row, column in zip(
            self.rows[listed].tolist(), self.columns[listed].tolist(), strict=True
        ):
            likely[row].append(column)
        return likely


def rank_candidates(sets: CandidateLabels, parts: Iterable[FloatArray]) -> RankedCandidates:
    """Rank the candidates of new rows by probabilities, weights and what groups promise.

    ``parts`` are the probabilities of all classes, of some rows at a time, one after the other.
    """
    # slow to import
    from disambig.methods.base import confidence_from_scores, keep_promise

    said, start = [], 0
    for part in parts:
        said.append(sets[start : start + len(part)].values_of(part))
        start += len(part)
    probabilities = np.concatenate(said)
    # As in cleaning: what features say, times what was known before.
    scores = sparse.csr_array((sets.prior().data * probabilities, sets.pairs()), shape=sets.shape)
    kept = sets.values_of(keep_promise(sets, confidence_from_scores(sets, scores)))
    rows, columns = sets.pairs()
    order = np.lexsort((columns, -kept, rows))
    return RankedCandidates(
        rows=rows,
        places=np.arange(len(rows)) - sets.starts[rows],
        columns=columns[order],
        confidences=kept[order],
        probabilities=probabilities[order],
        n_rows=len(sets),
    )

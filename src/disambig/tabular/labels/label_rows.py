"""From the labels in the cells of a row to its candidate set."""

import math
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy import sparse

from disambig._core.messages import did_you_mean, join_names, quote_value
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.labels.label_cells import LITERAL_OPTION, CellLabels, LabelProblem

_NO_WEIGHTS: Mapping[str, float] = {}


class RowLabels(NamedTuple):
    """The candidate set of a row, before all classes are known."""

    labels: Mapping[str, float] = _NO_WEIGHTS  # labels that are named, of weight 1 if none is given
    all_but: tuple[frozenset[str], ...] = ()  # each one adds 1 to the weight of all other classes
    excluded: Collection[str] = ()  # labels that are ruled out, which are classes, too
    weighted: bool = False  # whether there are weights, given or counted
    others: float = 0.0  # the weight of all labels together that are neither named nor ruled out


def row_labels(cell: CellLabels) -> RowLabels:
    """Return the candidate set that the cells of a row give together."""
    if cell.plain and cell.weighted:
        raise LabelProblem(
            f"{quote_value(cell.weighted[0][0])} has a weight and "
            f"{quote_value(cell.plain[0])} has none. Give all labels of a row a weight (a number "
            f"such as 0.7, not below 0), or none of them; use {LITERAL_OPTION} if ':' belongs to "
            "your labels."
        )
    excluded = frozenset(cell.excluded)
    labels = _sum_weights(cell.weighted) if cell.weighted else dict.fromkeys(cell.plain, 1.0)
    if excluded:
        labels = {label: weight for label, weight in labels.items() if label not in excluded}
    if labels:
        if cell.weighted:
            _check_weights(labels.values())
        return RowLabels(labels, (), excluded, bool(cell.weighted), cell.others)
    if cell.plain or cell.weighted:
        raise LabelProblem(
            "All of its labels are ruled out by a '!', so none is left. Remove the label or the "
            f"'!'; use {LITERAL_OPTION} if '!' belongs to your labels."
        )
    return RowLabels(all_but=(excluded,), excluded=excluded) if excluded else RowLabels()


def _sum_weights(pairs: Sequence[tuple[str, float]]) -> dict[str, float]:
    weights = dict(pairs)
    if len(weights) < len(pairs):
        weights = dict.fromkeys(weights, 0.0)
        for label, weight in pairs:
            weights[label] += weight
    return weights


def _check_weights(weights: Collection[float]) -> None:
    largest = max(weights)
    if largest == 0:
        raise LabelProblem(
            "All of its weights are 0, so none of its labels can be right. Give at least one a "
            "weight above 0, or leave the weights out."
        )
    if math.isinf(largest):
        raise LabelProblem("Its weights add up to more than a number can hold. Scale them down.")


def count_votes(cells: Iterable[RowLabels]) -> RowLabels:
    """Return the candidate set of a row in which every cell is the vote of an annotator."""
    votes: dict[str, float] = {}
    all_but: list[frozenset[str]] = []
    excluded: set[str] = set()
    for cell in cells:
        if cell.weighted:
            raise LabelProblem(
                "An annotator has one vote for each label, and no weights. Remove the weights, or "
                "do without votes: weights of several columns add up by themselves. Use "
                f"{LITERAL_OPTION} if ':' belongs to your labels."
            )
        for label in cell.labels:
            votes[label] = votes.get(label, 0.0) + 1
        all_but.extend(cell.all_but)
        excluded.update(cell.excluded)
    return RowLabels(votes, tuple(all_but), excluded, weighted=bool(votes or all_but))


def answer_sets(cells: Sequence[RowLabels], classes: Sequence[str]) -> BoolArray:
    """Return for every answer the labels that it leaves possible; none if it says nothing."""
    column_of = {name: column for column, name in enumerate(classes)}
    sets = np.zeros((len(cells), len(classes)), dtype=bool)
    for row, cell in enumerate(cells):
        sets[row, [column_of[label] for label in cell.labels]] = True
        for excluded in cell.all_but:
            sets[row] = True
            sets[row, [column_of[label] for label in excluded]] = False
    return sets


@dataclass
class CollectedRows:
    """Candidate sets of distinct rows, collected one by one before all classes are known."""

    names: dict[str, int] = field(default_factory=dict)  # of all labels, numbered as they appear
    named_in: list[int] = field(default_factory=list)  # the row in which each first appears
    weighted: bool = False
    negative: bool = False
    _labels: "array[int]" = field(default_factory=lambda: array("q"))
    _weights: "array[float]" = field(default_factory=lambda: array("d"))
    _ends: "array[int]" = field(default_factory=lambda: array("q", [0]))
    _all_but: dict[int, tuple[frozenset[str], ...]] = field(default_factory=dict)
    # Of rows, the weight of all labels together but for some.
    _others: dict[int, tuple[float, frozenset[str]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, row: RowLabels) -> None:
        """Add the candidate set of one more row."""
        if row.excluded:
            self.negative = True
            self._number(row.excluded)
        if row.all_but:
            self._all_but[len(self)] = row.all_but
        if row.others:
            self._others[len(self)] = row.others, frozenset((*row.labels, *row.excluded))
        self.weighted = self.weighted or row.weighted
        self._labels.extend(self._number(row.labels))
        self._weights.extend(row.labels.values())
        self._ends.append(len(self._labels))

    def _number(self, labels: Iterable[str]) -> list[int]:
        try:
            return [self.names[label] for label in labels]
        except KeyError:  # seldom: most labels are known already
            for label in labels:
                if label not in self.names:
                    self.names[label] = len(self.names)
                    self.named_in.append(len(self))
            return [self.names[label] for label in labels]

    def naming(self, labels: Iterable[str]) -> list[int]:
        """Return the rows that name one of the labels, or rule one out, in order."""
        labels = frozenset(labels)
        wanted = {self.names[label] for label in labels}
        rows = {self.named_in[number] for number in wanted}
        named = np.isin(np.asarray(self._labels), list(wanted))
        rows.update(np.searchsorted(self._ends, np.flatnonzero(named), "right") - 1)
        rows.update(
            row for row, sets in self._all_but.items() if not labels.isdisjoint(chain(*sets))
        )
        return sorted(map(int, rows))

    def empty(self) -> BoolArray:
        """Tell for every row whether it says nothing about its label."""
        nothing: BoolArray = np.diff(np.asarray(self._ends)) == 0
        nothing[list(self._all_but)] = False
        return nothing

    def allow_any_label(self, rows: BoolArray) -> None:
        """Give the marked rows all classes."""
        self._all_but.update(dict.fromkeys(np.flatnonzero(rows).tolist(), (frozenset(),)))

    def excludes_all(self, classes: Sequence[str]) -> int | None:
        """Return the first row that leaves none of the classes, or None."""
        every = frozenset(classes)
        ends = np.asarray(self._ends)
        for row, sets in self._all_but.items():
            if ends[row] == ends[row + 1] and all(every <= excluded for excluded in sets):
                return row
        return None

    def implied_bytes(self, n_classes: int, codes: IntArray) -> int:
        """Return the memory that rows take that may have any label, or any but a few."""
        marked: BoolArray = np.zeros(len(self), dtype=bool)
        marked[[*self._all_but, *self._others]] = True
        # A number, its column and its row while sets are made; a mark and, if any, a weight after.
        in_the_end = (1 + 16 * self.weighted) * int(marked[codes].sum())
        return n_classes * (24 * int(marked.sum()) + in_the_end)

    def candidates(self, classes: Sequence[str], codes: IntArray) -> CandidateLabels:
        """Return the candidate sets of a table; ``codes`` are the numbers of its rows here."""
        named = np.asarray(self._ends)
        column_of = {name: column for column, name in enumerate(classes)}
        columns = np.array([column_of[name] for name in self.names], dtype=np.int64)
        shape = (len(self), len(classes))
        indices = columns[np.asarray(self._labels)]
        mask = _csr(np.ones(len(indices), dtype=bool), indices, named, shape)
        weights = _csr(np.asarray(self._weights), indices, named, shape)
        if self._all_but or self._others:
            implied = self._implied(column_of, shape)
            mask, weights = mask + implied.astype(bool), weights + implied
        if not self.weighted:
            return CandidateLabels(_rows_of(mask, codes), classes)
        return CandidateLabels(
            _rows_of(mask, codes), classes, weights=_rows_of(weights, codes, dense=False)
        )

    def _implied(self, column_of: Mapping[str, int], shape: tuple[int, int]) -> Sparse:
        """Return the weight that each class has without being named, in "all but these"."""
        rows, columns, weights = [], [], []

        def imply(row: int, of_classes: FloatArray) -> None:
            implied = np.flatnonzero(of_classes)
            rows.append(np.full(len(implied), row))
            columns.append(implied)
            weights.append(of_classes[implied])

        for row, sets in self._all_but.items():
            counts = np.full(shape[1], float(len(sets)))
            for excluded in sets:
                counts[[column_of[label] for label in excluded]] -= 1
            imply(row, counts)
        for row, (weight, named) in self._others.items():
            shares = np.ones(shape[1])
            shares[[column_of[label] for label in named]] = 0
            imply(row, shares * (weight / max(1.0, shares.sum())))
        entries = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_array((np.concatenate(weights), entries), shape=shape)


def unknown_label(label: str, classes: Sequence[str], n_others: int = 0) -> LabelProblem:
    """Return the problem that a label, and maybe others, is not one of the classes."""
    others = f" Neither are {n_others:,} other labels in these rows." if n_others > 1 else ""
    if n_others == 1:
        others = " Neither is another label in these rows."
    return LabelProblem(
        f"{quote_value(label)} is not one of the {len(classes):,} classes ({join_names(classes)})."
        f"{others}{did_you_mean(label, classes)} Correct the label{'s' if others else ''}."
    )


def _csr(values: AnyArray, indices: IntArray, ends: IntArray, shape: tuple[int, int]) -> Sparse:
    # A copy, because the mask and the weights share indices, and these are sorted in place.
    matrix = sparse.csr_array((values, indices, ends), shape=shape, copy=True)
    matrix.sort_indices()
    return matrix


def _rows_of(matrix: Sparse, codes: IntArray, *, dense: bool = True) -> Sparse:
    """Return rows by number; dense if indices of so many entries would take more memory."""
    sizes = np.diff(matrix.indptr)
    if dense and 5 * int(sizes[codes].sum()) > len(codes) * matrix.shape[1]:
        return matrix.toarray()[codes]
    return matrix[codes]

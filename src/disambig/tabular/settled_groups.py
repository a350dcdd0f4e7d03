"""What decisions on some rows of a group say of its other rows, where groups promise something."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from disambig._core.typing import FloatArray, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.solvers.group_marginals import GroupMarginals
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.labels.settled_sets import settle


class _Settled(NamedTuple):
    decided: dict[int, str]
    confidences: dict[int, FloatArray]


class SettledGroups:
    """Confidences of rows whose group has rows that a person has settled.

    A function of the table and of all decisions that stand, whatever was decided in between: the
    marginals given the promise, with every settled row as a set of one label. Cleaning again with
    these decisions would find the same if its models stayed as they are, and if no candidate had
    a weight: a cleaned table does not tell weights.

    Parameters
    ----------
    rows : CleanedTable
        A table with groups, a promise, and the confidences of rows by themselves.
    """

    def __init__(self, rows: CleanedTable) -> None:
        self._rows = rows
        self._starts, self._sizes = rows.candidates.starts, rows.candidates.sizes
        _, self._columns = rows.candidates.pairs()
        self._known: dict[int, _Settled] = {}  # by group, so that a decision costs one group
        self._order: IntArray = np.empty(0, dtype=np.int64)
        if rows.candidates.promise is not None and rows.candidates.groups is not None:
            _, self._group, sizes = np.unique(
                rows.candidates.groups, return_inverse=True, return_counts=True
            )
            self._order = np.argsort(self._group, kind="stable")
            self._ends = np.cumsum(sizes)

    def __call__(self, decisions: Mapping[int, str]) -> dict[int, FloatArray]:
        """Return the confidences of all rows that are not settled themselves but in such a group.

        Confidences are those of the row's candidates in the order of ``candidates.pairs()``, by
        row.

        Parameters
        ----------
        decisions : mapping of int to str
            Labels that a person has decided on, by row position.
        """
        decided: dict[int, dict[int, str]] = {}
        for row, label in decisions.items():
            if row < len(self._order):
                decided.setdefault(int(self._group[row]), {})[row] = label
        known = self._known
        kept = {
            group: known[group]
            for group, made in decided.items()
            if group in known and known[group].decided == made
        }
        kept |= self._settle({group: made for group, made in decided.items() if group not in kept})
        self._known = kept
        found: dict[int, FloatArray] = {}
        for settled in kept.values():
            found |= settled.confidences
        return found

    def _members(self, group: int) -> list[int]:
        start = self._ends[group - 1] if group else 0
        members: list[int] = self._order[start : self._ends[group]].tolist()
        return members

    def _settle(self, decided: dict[int, dict[int, str]]) -> dict[int, _Settled]:
        settled = {group: _Settled(made, {}) for group, made in decided.items()}
        classes = self._rows.candidates.classes.tolist()
        known = set(classes)
        of_row: list[tuple[int, int, str | None]] = []  # row, group, the label decided on
        for group, made in decided.items():
            members = self._members(group)
            if any(row not in self._rows.free_confidences for row in members):
                continue
            # A label that no row may have tells nothing about others.
            of_row += [
                (row, group, made.get(row))
                for row in members
                if row not in made or made[row] in known
            ]
        if not of_row:
            return settled
        for row, share in zip(of_row, self._marginals(of_row, classes), strict=True):
            number, group, label = row
            if label is None:
                settled[group].confidences[number] = self._confidences(number, share)
        return settled

    def _marginals(
        self, of_row: list[tuple[int, int, str | None]], classes: list[str]
    ) -> list[dict[str, float]]:
        """Return the share of every candidate of some rows, given the promise."""
        promise = self._rows.candidates.promise
        assert promise is not None
        shares = [self._rows.free_confidences[row] for row, _, _ in of_row]
        names = list(dict.fromkeys([*classes, *(label for share in shares for label in share)]))
        sets = CandidateLabels.from_sets([list(share) for share in shares], classes=names)
        labels = {place: label for place, (_, _, label) in enumerate(of_row) if label is not None}
        sets = settle(sets, labels)
        rows, columns = sets.pairs()
        free = np.array(
            [
                1.0 if row in labels else shares[row][names[column]]
                for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
            ]
        )
        groups = np.array([group for _, group, _ in of_row])
        marginals = GroupMarginals(sets.prior(), groups, promise)(free)
        found: list[dict[str, float]] = [{} for _ in of_row]
        parts = (rows.tolist(), columns.tolist(), marginals.tolist())
        for row, column, value in zip(*parts, strict=True):
            found[row][names[column]] = value
        return found

    def _confidences(self, row: int, shares: Mapping[str, float]) -> FloatArray:
        """Return confidences of the candidates in the table: what the set has, shared anew."""
        pairs = slice(self._starts[row], self._starts[row] + self._sizes[row])
        names = self._rows.candidates.classes[self._columns[pairs]].tolist()
        confidences: FloatArray = self._rows.confidences[pairs].copy()
        # A label from outside the set, which cleaning was allowed to choose, keeps its confidence.
        inside = np.array([name in shares for name in names])
        confidences[inside] = confidences[inside].sum() * np.array(
            [shares[name] for name in names if name in shares]
        )
        return confidences

"""How the rows of groups look, and in how many groups a promise is possible at all."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from disambig._core.messages import plural, row_count
from disambig._core.typing import BoolArray, IntArray
from disambig.candidates.groups import Promise, PromiseKind, group_numbers
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import row_numbers

_WHY_IMPOSSIBLE = {
    "cover": "which have more labels than rows",
    "exclusive": "which have more rows than labels",
}


@dataclass(frozen=True)
class ImpossibleGroup:
    """A group that cannot keep a promise."""

    first_row: int  # position, from 0
    n_rows: int
    n_labels: int  # in the sets of its rows


@dataclass(frozen=True)
class PromiseLimits:
    """In how many groups a promise cannot hold, whatever the labels of their rows are.

    Attributes
    ----------
    kind : {"cover", "exclusive"}
        The promise.
    n_groups, n_rows : int
        Groups in which it cannot hold, and how many rows they have.
    n_by_sets : int
        Those of these groups that would have enough rows or labels, were it not for rows whose
        sets differ.
    first : ImpossibleGroup or None
        The first of these groups.
    """

    kind: PromiseKind
    n_groups: int
    n_rows: int
    n_by_sets: int
    first: ImpossibleGroup | None

    def sentence(self, n_groups: int, say_row: Callable[[int], str]) -> str:
        """Return it in words; ``n_groups`` there are in all, ``say_row`` names a row."""
        name = self.kind.capitalize()
        if self.first is None:
            where = "the only group" if n_groups == 1 else f"all {n_groups:,} groups"
            return f"{name} is possible in {where}."
        why = _WHY_IMPOSSIBLE[self.kind]
        if self.n_by_sets:
            which = "" if self.n_by_sets == self.n_groups else f"in {self.n_by_sets:,} of them, "
            by_sets = f"{which}because the candidates of their rows differ"
            why = f"{why} or, {by_sets}" if which else by_sets
        return (
            f"{name} is impossible in {self.n_groups:,} of {plural(n_groups, 'group')} "
            f"({row_count(self.n_rows)}), {why}. These are exempt from it. The first begins at "
            f"{say_row(self.first.first_row)}, with {row_count(self.first.n_rows)} and "
            f"{plural(self.first.n_labels, 'label')}."
        )

    def at_rows(self, rows: IntArray) -> "PromiseLimits":
        """Return the same about rows of a larger table, of which these are the positions."""
        if self.first is None:
            return self
        row = int(rows[self.first.first_row])
        return replace(self, first=replace(self.first, first_row=row))


@dataclass(frozen=True)
class GroupAudit:
    """Facts about samples that come together; see ``CandidateLabels.with_groups``.

    Attributes
    ----------
    n_groups : int
        Number of groups.
    median_rows : float
        Rows of the group in the middle, by size.
    most_rows : int
        Rows of the largest group.
    n_single : int
        Groups of one row.
    n_differing : int
        Groups whose rows do not all have the same candidates.
    n_other_rows : int
        Rows that have other candidates than most rows of their group.
    promise : Promise or None
        What was promised.
    cover, exclusive : PromiseLimits
        In how many groups each promise cannot hold.

    Examples
    --------
    >>> from disambig import CandidateLabels, audit_candidates
    >>> y = CandidateLabels.from_strings(["ann|bob|eve", "ann|bob|eve", "bob|joe", "joe"])
    >>> groups = audit_candidates(y.with_groups([1, 1, 2, 2])).groups
    >>> groups.n_groups, groups.n_differing
    (2, 1)
    >>> groups.cover.n_groups, groups.exclusive.n_groups
    (1, 0)
    """

    n_groups: int
    median_rows: float
    most_rows: int
    n_single: int
    n_differing: int
    n_other_rows: int
    promise: Promise | None
    cover: PromiseLimits
    exclusive: PromiseLimits

    @property
    def limits(self) -> tuple[PromiseLimits, ...]:
        """The limits of what was promised, or of either promise if none was."""
        both = (self.cover, self.exclusive)
        return tuple(one for one in both if self.promise is None or one.kind == self.promise.kind)

    def lines(self, say_row: Callable[[int], str] = "sample {}".format) -> list[str]:
        """Return it in sentences; ``say_row`` names a row by its position from 0."""
        single = f", {self.n_single:,} of a single row" if self.n_single else ""
        lines = [
            f"{plural(self.n_groups, 'group')}{single}. The median group has "
            f"{self.median_rows:g} rows, the largest {self.most_rows:,}."
        ]
        if self.n_differing:
            have = "has" if self.n_other_rows == 1 else "have"
            lines.append(
                f"In {plural(self.n_differing, 'group')} the rows do not all have the same "
                f"candidates: {row_count(self.n_other_rows)} {have} others than most of the group."
            )
        return lines + [one.sentence(self.n_groups, say_row) for one in self.limits]

    def at_rows(self, rows: IntArray) -> "GroupAudit":
        """Return the same about rows of a larger table, of which these are the positions."""
        return replace(self, cover=self.cover.at_rows(rows), exclusive=self.exclusive.at_rows(rows))


def audit_groups(candidates: CandidateLabels) -> GroupAudit:
    """Count the groups of one sample or more, and those that cannot keep a promise.

    In a group whose sets are equal, cover needs as many rows as labels, and exclusive as many
    labels as rows. Where sets differ, every label needs a row of its own that has it among its
    candidates, or every row a label of its own: a matching.
    """
    group = group_numbers(candidates.groups, len(candidates))
    counts = _count(candidates, group)
    n_rows, n_labels = counts.n_rows, counts.n_labels
    impossible = counts.impossible
    shape = (n_rows, n_labels, np.unique(group, return_index=True)[1])
    return GroupAudit(
        n_groups=len(n_rows),
        median_rows=float(np.median(n_rows)),
        most_rows=int(n_rows.max()),
        n_single=int((n_rows == 1).sum()),
        n_differing=int(counts.differs.sum()),
        n_other_rows=_n_other_rows(candidates, group),
        promise=candidates.promise,
        cover=_limits("cover", impossible["cover"], n_rows >= n_labels, *shape),
        exclusive=_limits("exclusive", impossible["exclusive"], n_labels >= n_rows, *shape),
    )


def impossible_groups(candidates: CandidateLabels) -> dict[PromiseKind, BoolArray]:
    """Return which groups cannot keep each promise, in the order of ``group_numbers``."""
    return _count(candidates, group_numbers(candidates.groups, len(candidates))).impossible


class _Counts(NamedTuple):
    """Of every group."""

    n_rows: IntArray
    n_labels: IntArray  # in the sets of its rows
    n_matched: IntArray  # rows that can have a label of their own
    differs: BoolArray  # whether rows have different sets

    @property
    def impossible(self) -> dict[PromiseKind, BoolArray]:
        return {
            "cover": self.n_matched < self.n_labels,
            "exclusive": self.n_matched < self.n_rows,
        }


def _count(candidates: CandidateLabels, group: IntArray) -> _Counts:
    n_rows = np.bincount(group)
    rows, columns = candidates.pairs()
    cells = group[rows] * candidates.shape[1] + columns  # a number for each group and label
    distinct, cell, rows_with_label = np.unique(cells, return_inverse=True, return_counts=True)
    group_of_cell = distinct // candidates.shape[1]
    n_labels = np.bincount(group_of_cell)
    differs = np.bincount(group_of_cell, weights=rows_with_label != n_rows[group_of_cell]) > 0
    n_matched = np.minimum(n_rows, n_labels)
    n_matched[differs] = _matched(rows, cell, group, differs)[differs]
    return _Counts(n_rows, n_labels, n_matched, differs)


def _limits(
    kind: PromiseKind,
    impossible: BoolArray,
    enough: BoolArray,
    n_rows: IntArray,
    n_labels: IntArray,
    first_rows: IntArray,
) -> PromiseLimits:
    first = None
    if impossible.any():
        one = int(impossible.argmax())
        first = ImpossibleGroup(int(first_rows[one]), int(n_rows[one]), int(n_labels[one]))
    return PromiseLimits(
        kind,
        int(impossible.sum()),
        int(n_rows[impossible].sum()),
        int((impossible & enough).sum()),
        first,
    )


def _matched(rows: IntArray, cell: IntArray, group: IntArray, differs: BoolArray) -> IntArray:
    """Return for how many rows of every group whose sets differ there is a label of its own."""
    chosen = differs[group[rows]]
    shape = (len(group), int(cell.max()) + 1)
    # Groups share no label here, so that one matching of all is a matching of each.
    graph = sparse.csr_array(
        (np.ones(int(chosen.sum()), dtype=bool), (rows[chosen], cell[chosen])), shape=shape
    )
    is_matched = maximum_bipartite_matching(graph, perm_type="column") >= 0
    return np.bincount(group[is_matched], minlength=len(differs))


def _n_other_rows(candidates: CandidateLabels, group: IntArray) -> int:
    """Return how many rows have another set than the most frequent one of their group."""
    number = row_numbers(candidates.to_sparse())
    pairs, counts = np.unique(group * (number.max() + 1) + number, return_counts=True)
    most = np.zeros(int(group.max()) + 1, dtype=np.int64)
    np.maximum.at(most, pairs // (number.max() + 1), counts)
    return int(len(group) - most.sum())

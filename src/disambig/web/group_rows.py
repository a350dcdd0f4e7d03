"""Rows that come together, on a page: the rest of every group, and what decisions say of it."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from disambig._core.typing import FloatArray, IntArray
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.settled_groups import SettledGroups
from disambig.tabular.table_cells import text_of

DECIMALS = 4
# Of a group, of rows that are not to be settled themselves; the page says how many more there are.
_MOST_MATES = 24
_LONGEST_NAME = 60


class PageGroups:
    """The groups of a cleaned table, as a page shows them. A row without others is in none."""

    def __init__(self, rows: CleanedTable) -> None:
        self._rows = rows
        groups = rows.candidates.groups
        given = np.arange(len(rows.candidates)) if groups is None else groups
        _, self._group, self._sizes = np.unique(given, return_inverse=True, return_counts=True)
        self._order = np.argsort(self._group, kind="stable")
        self._ends = np.cumsum(self._sizes)
        self._has_column = rows.group is not None and rows.group in rows.values.columns

    def mates(self, shown: IntArray, most: int) -> IntArray:
        """Return the other rows of the groups of rows on a page, at most a given number.

        Groups come in the order of ``shown``; of a large one, the rows that are nearest to the
        first of its rows there.
        """
        is_shown = np.zeros(len(self._group), dtype=bool)
        is_shown[shown] = True
        found: list[int] = []
        seen: set[int] = set()
        for row in shown.tolist():
            group = int(self._group[row])
            if group in seen or len(found) >= most:
                continue
            seen.add(group)
            members = self._members(group)
            others = members[~is_shown[members]]
            nearest = np.argsort(np.abs(others - row), kind="stable")[:_MOST_MATES]
            found += np.sort(others[nearest]).tolist()
        return np.array(found[:most], dtype=np.int64)

    def name(self, row: int) -> str:
        """Return what the group of a row is called; empty for a row by itself."""
        group = int(self._group[row])
        if self._sizes[group] == 1:
            return ""
        if self._has_column:
            name = text_of(self._rows.values[self._rows.group].iloc[row]) or ""
            name = name.encode("utf-8", "backslashreplace").decode()
            return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        members = self._members(group)
        return f"rows {members[0] + 1} to {members[-1] + 1}"

    def describe(self, on_page: IntArray) -> dict[str, Any]:
        """Return names and sizes of the groups on a page, and which of them every row is in."""
        places: dict[int, int] = {}
        names: list[str] = []
        of: list[int | None] = []
        for row in on_page.tolist():
            group = int(self._group[row])
            if self._sizes[group] == 1:
                of.append(None)
                continue
            if group not in places:
                places[group] = len(places)
                names.append(self.name(row))
            of.append(places[group])
        marked = self._rows.confidence[self._rows.second_look]
        promise = self._rows.candidates.promise
        return {
            "by": self._rows.group if self._has_column else None,
            "promise": None if promise is None else promise.kind,
            "strength": None if promise is None else promise.strength,
            "names": names,
            "sizes": [int(self._sizes[group]) for group in places],
            "canKeep": [self._can_keep(group) for group in places],
            "isTold": [self._is_told(group) for group in places],
            "of": of,
            # A row that is surer than all of these needs no second look.
            "surest": round(float(marked.max()), DECIMALS) if len(marked) else 0,
        }

    def _can_keep(self, group: int) -> bool:
        """Tell whether a group has rows and labels enough for its promise."""
        promise = self._rows.candidates.promise
        if promise is None:
            return True
        members = self._members(group)
        n_labels = len(np.unique(self._rows.candidates[members].pairs()[1]))
        is_cover = promise.kind == "cover"
        return n_labels <= len(members) if is_cover else len(members) <= n_labels

    def _is_told(self, group: int) -> bool:
        """Tell whether a review knows enough to compute what decisions say of a group."""
        free = self._rows.free_confidences
        return bool(free) and all(row in free for row in self._members(group).tolist())

    def _members(self, group: int) -> IntArray:
        members: IntArray = self._order[self._ends[group] - self._sizes[group] : self._ends[group]]
        return members


class GroupAnswers:
    """What a review answers to decisions, where groups promise something: new confidences.

    Parameters
    ----------
    rows : CleanedTable
        The table.
    numbers : collection of int
        The rows on the page, counted from 1; those of others are not told.
    """

    def __init__(self, rows: CleanedTable, numbers: Collection[int]) -> None:
        self._numbers = frozenset(numbers)
        self._settled_groups = SettledGroups(rows)
        self._confidence = rows.confidence
        self._errors = rows.expected_errors
        self._starts = rows.candidates.starts
        _, self._columns = rows.candidates.pairs()

    def __call__(self, settled: Mapping[int, str]) -> dict[str, Any]:
        """Return confidences of rows whose group has settled rows, the likeliest label first.

        ``errors`` are those expected in the table before the settled rows themselves are right.
        """
        found = self._settled_groups(settled)
        errors = self._errors
        confidences = []
        for row, values in sorted(found.items()):
            errors += float(self._confidence[row] - values.max())
            if row + 1 in self._numbers:
                start = self._starts[row]
                columns = self._columns[start : start + len(values)]
                confidences.append([row + 1, *likeliest_first(columns, values)])
        return {"confidences": confidences, "errors": round(errors, DECIMALS)}


def likeliest_first(columns: IntArray, confidences: FloatArray) -> tuple[list[int], list[float]]:
    """Return the candidates of a row and how likely they are, equal ones in their order."""
    order = np.argsort(-confidences, kind="stable")
    return columns[order].tolist(), confidences[order].round(DECIMALS).tolist()

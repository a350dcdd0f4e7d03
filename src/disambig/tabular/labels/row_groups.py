"""Which rows of a table come together, and what their groups promise."""

from dataclasses import dataclass
from typing import Any, Final, get_args

import numpy as np

from disambig._core.errors import ParameterError, TableError
from disambig._core.messages import describe_table_rows, quote_value
from disambig._core.parameters import check_choice, check_real
from disambig._core.typing import AnyArray, BoolArray
from disambig.candidates.groups import PromiseKind
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.defaults import DEFAULT_PROMISE_STRENGTH
from disambig.tabular.table_cells import find_column, texts_of

# Instead of a column: neighbouring rows with equal sets come together.
RUNS: Final = "runs"
GROUPS = "the groups of rows"
_NO_GROUPS = (
    "A promise is about rows that come together. Say which rows do: name the column of their "
    "groups by --group (in Python group=), or give it the word runs if neighbouring rows with "
    "equal labels do."
)


@dataclass(frozen=True, kw_only=True)
class RowGroups:
    """What a caller says about rows that come together.

    Parameters
    ----------
    group : str, optional
        The column that names the group of every row, or "runs" for neighbouring rows with equal
        sets, if no column has that name.
    promise : {"cover", "exclusive"}, optional
        What is known of every group as a whole; see ``disambig.candidates.Promise``.
    promise_strength : float, default=0.9
        Share of the groups for which the promise is believed.
    """

    group: str | None = None
    promise: PromiseKind | None = None
    promise_strength: float = DEFAULT_PROMISE_STRENGTH

    def __post_init__(self) -> None:
        check_real("promise_strength", self.promise_strength, minimum=0, maximum=1)
        if self.promise is not None:
            check_choice("promise", self.promise, get_args(PromiseKind))
        elif self.promise_strength != DEFAULT_PROMISE_STRENGTH:
            raise ParameterError(
                "--promise-strength (in Python promise_strength=) needs a promise: --promise "
                f"cover or --promise exclusive. Got {self.promise_strength!r} and no promise."
            )

    def column(self, frame: Any) -> str | None:
        """Return the column of the groups; None where there is none to read, as for runs."""
        if self.group is None or (self.group == RUNS and RUNS not in frame.columns):
            return None
        advice = "If neighbouring rows with equal labels come together, use the word runs."
        find_column(frame, self.group, what=GROUPS, advice=advice)
        return self.group

    def put_on(
        self, candidates: CandidateLabels, frame: Any, rows: BoolArray | None = None
    ) -> tuple[CandidateLabels, list[str]]:
        """Return candidate sets with their groups, and what a person should know about these.

        Sets that were made elsewhere keep the groups that they have, unless others are named.

        Parameters
        ----------
        candidates : CandidateLabels
            The sets of the rows of the table.
        frame : DataFrame
            The table.
        rows : ndarray of booleans, optional
            Which rows of the table the sets are of. By default all.
        """
        name = self.column(frame)
        groups: Any = candidates.groups
        notices: list[str] = []
        if name is not None:
            groups, notices = _read_groups(frame[name])
            groups = groups if rows is None else groups[rows]
        elif self.group is not None:
            groups = RUNS
        if groups is None and self.promise is not None:
            raise ParameterError(_NO_GROUPS)
        if self.promise is None and self.group is None:
            return candidates, notices
        return candidates.with_groups(
            groups, promise=self.promise, strength=self.promise_strength
        ), notices


def groups_of(group: str | None) -> str:
    """Return what messages call the groups of a table, as in "held out by groups of 'photo'"."""
    if group is None:  # they came with sets that were made elsewhere
        return "groups"
    return "runs of equal sets" if group == RUNS else f"groups of {quote_value(group)}"


def _read_groups(column: Any) -> tuple[AnyArray, list[str]]:
    """Return the name of every row's group; a row without one gets one of its own."""
    names = texts_of(column, what="groups")
    blank = np.array([name is None for name in names], dtype=bool)
    if blank.all():
        raise TableError(
            f"No row has a group in column {column.name!r}. Name the column that says which rows "
            "come together, or leave --group (in Python group=) out."
        )
    names[blank] = np.flatnonzero(blank)  # no string equals a number
    if len(set(names.tolist())) == len(names):
        return names, [
            f"No two rows have the same group in column {column.name!r}, so none come together. "
            "Check that this is the column you meant."
        ]
    if not blank.any():
        return names, []
    return names, [
        f"Column {column.name!r} names no group for {describe_table_rows(blank)}. "
        f"{'It stands' if blank.sum() == 1 else 'Each of them stands'} alone."
    ]

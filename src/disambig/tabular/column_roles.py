"""What the columns of a table are for: labels, features, or nothing, because they leak labels."""

from collections.abc import Sequence

import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import join_names
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.cell_values import is_blank, text_of
from disambig.tabular.columns.plan import (
    ColumnPlan,
    check_column_names,
    chosen_columns,
    plan_columns,
)
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.table_columns import CLEAN_COLUMNS, find_column

Labels = str | Sequence[str] | LabelColumns | CandidateLabels
# Of columns.
Names = str | Sequence[str]

# A column of more values, or of a single label, is not taken for a column of labels.
_MOST_VALUES = 1000
_FEWEST_LABELS = 2


def label_column_names(labels: Labels) -> tuple[str, ...]:
    """Return the columns that labels are read from, which are therefore not features."""
    return () if isinstance(labels, CandidateLabels) else LabelColumns.of(labels).columns


def sets_of_rows(candidates: CandidateLabels, frame: pd.DataFrame) -> CandidateLabels:
    """Return sets that were made elsewhere as those of a table, whose labels are strings."""
    if len(candidates) != len(frame):
        raise TableError(
            "The table and the candidate sets need the same number of rows. "
            f"Got {len(frame):,} rows and {len(candidates):,} sets. Give one set for each row."
        )
    names = candidates.classes.tolist()
    if all(isinstance(name, str) for name in names):
        return candidates
    strings = [text_of(name) for name in names]
    return CandidateLabels.from_mask(candidates.to_sparse(), strings, weights=candidates.weights)


class FeatureColumns:
    """What was said about the columns of a table; slips are refused at once.

    Parameters
    ----------
    frame : DataFrame
        The table.
    labels : str, sequence of str, LabelColumns or CandidateLabels
        Where the candidate labels are.
    truth, id : str or None
        Columns of true labels and of names of rows, which are never features.
    features : str, sequence of str or None
        Columns to learn from, if not all.
    ignore, categories : str or sequence of str
        Columns to leave out, and columns of categories whatever they look like.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        labels: Labels,
        *,
        truth: str | None,
        id: str | None,  # noqa: A002  # as people call it
        features: Names | None,
        ignore: Names,
        categories: Names,
    ) -> None:
        check_column_names(frame)
        self._frame = frame
        reserved = list(label_column_names(labels))
        for name, what in ((truth, "the true labels"), (id, "the names of the rows")):
            if name is not None:
                find_column(frame, name, what=what)
                if name in reserved:
                    raise TableError(
                        f"Column {name!r} was to be {what}, and is also something else: the labels "
                        "to choose from, or the true ones. Name another."
                    )
                reserved.append(name)
        of_columns = not isinstance(labels, CandidateLabels)
        self._separator = (LabelColumns.of(labels) if of_columns else LabelColumns()).separator
        self._features, self._reserved, self._categories = features, reserved, categories
        self._ignore = [ignore] if isinstance(ignore, str) else list(ignore)
        self._chosen = chosen_columns(frame, features=features, ignore=ignore, reserved=reserved)

    def plan(self, candidates: CandidateLabels) -> tuple[ColumnPlan, list[str]]:
        """Return which columns are features, and what a person should know about the others.

        Unless they were chosen by hand, columns are left out that hold labels themselves.
        """
        if self._features is not None:
            return self._plan_without(())
        cleaned = set(CLEAN_COLUMNS) <= set(self._frame.columns)
        results = [name for name in CLEAN_COLUMNS if cleaned and name in self._chosen]
        plan, notices = self._plan_without(results)
        leaking = self._columns_of_labels(plan, candidates)
        if leaking:
            plan, notices = self._plan_without([*results, *leaking])
        return plan, [*_leakage_notices(leaking, results), *notices]

    def _plan_without(self, left_out: Sequence[str]) -> tuple[ColumnPlan, list[str]]:
        return plan_columns(
            self._frame,
            features=self._features,
            ignore=[*self._ignore, *left_out],
            reserved=self._reserved,
            categories=self._categories,
        )

    def _columns_of_labels(self, plan: ColumnPlan, candidates: CandidateLabels) -> list[str]:
        """Return the categories whose values are labels, or several between separators.

        Booleans and numbers are other things even where labels are called yes and no, or 0 and 1.
        """
        known = set(candidates.classes.tolist())
        return [
            column.name
            for column in plan.columns
            if column.kind == "category"
            and _are_labels(self._frame[column.name], known, self._separator)
        ]


def _are_labels(column: "pd.Series[str]", known: set[str], separator: str) -> bool:
    distinct = column.dropna().unique()[: _MOST_VALUES + 1]
    values = [str(value) for value in distinct if not is_blank(value)]  # gaps may be called NA
    pieces = {piece.strip() for value in values for piece in value.split(separator)} - {""}
    return len(values) <= _MOST_VALUES and len(pieces) >= _FEWEST_LABELS and pieces <= known


def _leakage_notices(leaking: Sequence[str], results: Sequence[str]) -> list[str]:
    notices = []
    if leaking:
        notices.append(
            f"Left out {join_names(map(repr, leaking))}, which holds labels and can give the right "
            "one away; use --features (in Python features=) to keep it. A column of true labels is "
            "named by --truth (truth=)."
        )
    if results:
        notices.append(f"Left out what an earlier cleaning has added: {join_names(results)}.")
    return notices

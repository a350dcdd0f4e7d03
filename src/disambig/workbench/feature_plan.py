"""Which columns of a table are learned from, with what is known about its labels."""

from collections.abc import Sequence

import pandas as pd

from disambig._core.errors import TableError
from disambig.candidates.labels import CandidateLabels
from disambig.tables.columns import find_column
from disambig.workbench.columns.plan import (
    ColumnPlan,
    check_column_names,
    chosen_columns,
    plan_columns,
)
from disambig.workbench.giveaways import (
    columns_with_labels,
    giveaway_notices,
    results_of_cleaning,
)
from disambig.workbench.given_labels import Labels, label_column_names, separator_of

__all__ = ["FeatureColumns", "Names"]

# Of columns.
Names = str | Sequence[str]


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
        self._separator = separator_of(labels)
        self._features, self._ignore = features, ignore
        self._reserved, self._categories = reserved, categories
        self._chosen = chosen_columns(frame, features=features, ignore=ignore, reserved=reserved)

    def plan(self, candidates: CandidateLabels) -> tuple[ColumnPlan, list[str]]:
        """Return which columns are features, and what a person should know about the others.

        Unless they were chosen by hand, columns are left out that hold labels themselves.
        """
        if self._features is not None:
            return self._planned(())
        results = [name for name in results_of_cleaning(self._frame) if name in self._chosen]
        plan, notices = self._planned(results)
        with_labels = columns_with_labels(
            self._frame, plan, candidates.classes.tolist(), self._separator
        )
        if with_labels:
            plan, notices = self._planned([*results, *with_labels])
        return plan, [*giveaway_notices(with_labels, results), *notices]

    def _planned(self, left_out: Sequence[str]) -> tuple[ColumnPlan, list[str]]:
        ignored = [self._ignore] if isinstance(self._ignore, str) else list(self._ignore)
        return plan_columns(
            self._frame,
            features=self._features,
            ignore=[*ignored, *left_out],
            reserved=self._reserved,
            categories=self._categories,
        )

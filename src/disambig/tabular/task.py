"""A table made ready to learn from: labels, features, method."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.errors import ParameterError, TableError
from disambig._core.messages import describe_table_rows, did_you_mean, join_names
from disambig._core.typing import AnyArray, BoolArray
from disambig.candidates.audit import may_have_any_label
from disambig.candidates.checks import known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.registry import get_method
from disambig.tabular.cell_values import is_blank, text_of
from disambig.tabular.columns.plan import (
    ColumnPlan,
    check_column_names,
    chosen_columns,
    plan_columns,
)
from disambig.tabular.columns.values import column_values
from disambig.tabular.labels.decisions import settle
from disambig.tabular.labels.distinct_cells import texts_of
from disambig.tabular.labels.label_columns import LabelColumns, check_labels_differ
from disambig.tabular.table_columns import CLEAN_COLUMNS, find_column

__all__ = [
    "FeatureColumns",
    "Labels",
    "Names",
    "TableTask",
    "chosen_method",
    "columns_with_labels",
    "giveaway_notices",
    "label_column_names",
    "prepare_task",
    "results_of_cleaning",
    "separator_of",
    "sets_of_rows",
]


# Models that judge the rows that they were not trained on.
# Share of the expected errors that a second look is to find.
# Doubtful rows on a page.


# These are code, files or views of a single fit: whoever trains many models sets them.
_NOT_BY_NAME = ("callbacks", "checkpoint", "checkpoint_every", "network", "verbose")


def chosen_method(
    method: str | PartialLabelClassifier, parameters: Mapping[str, Any] | None = None
) -> PartialLabelClassifier:
    """Return a method that can learn from candidate sets.

    Parameters
    ----------
    method : str or PartialLabelClassifier
        A name from ``all_methods``, or a method with its parameters.
    parameters : mapping, optional
        Parameters of a method that is given by its name.
    """
    made = _named(method, parameters or {}) if isinstance(method, str) else method
    if made.card.reads_true_labels:
        raise ParameterError(
            f"{made.card.name} is trained on true labels, and is there for comparisons alone. "
            "Choose another method; 'disambig methods' lists them."
        )
    return made


def _named(name: str, parameters: Mapping[str, Any]) -> PartialLabelClassifier:
    cls = get_method(name)
    known = [own for own in cls().get_params() if own not in _NOT_BY_NAME]
    unknown = next((own for own in parameters if own not in known), None)
    if unknown is not None:
        raise ParameterError(f"{name} has no parameter {unknown!r}. It has {', '.join(known)}.")
    return cls(**parameters)


Labels = str | Sequence[str] | LabelColumns | CandidateLabels


def label_column_names(labels: Labels) -> tuple[str, ...]:
    """Return the columns that labels are read from, and that are therefore no features."""
    return () if isinstance(labels, CandidateLabels) else LabelColumns.of(labels).columns


def separator_of(labels: Labels) -> str:
    """Return what stands between two labels of a cell."""
    of_columns = LabelColumns() if isinstance(labels, CandidateLabels) else LabelColumns.of(labels)
    return of_columns.separator


def sets_of_rows(candidates: CandidateLabels, frame: pd.DataFrame) -> CandidateLabels:
    """Return sets that were made elsewhere as those of a table, whose labels are texts."""
    if len(candidates) != len(frame):
        raise TableError(
            "The table and the candidate sets need the same number of rows. "
            f"Got {len(frame):,} rows and {len(candidates):,} sets. Give one set for each row."
        )
    names = candidates.classes.tolist()
    if all(isinstance(name, str) for name in names):
        return candidates
    texts = [text_of(name) for name in names]
    return CandidateLabels.from_mask(candidates.to_sparse(), texts, weights=candidates.weights)


_MOST_VALUES = 1000
_FEWEST_LABELS = 2


def results_of_cleaning(frame: pd.DataFrame) -> list[str]:
    """Return the columns that an earlier cleaning has added to a table."""
    return list(CLEAN_COLUMNS) if set(CLEAN_COLUMNS) <= set(frame.columns) else []


def columns_with_labels(
    frame: pd.DataFrame, plan: ColumnPlan, classes: Sequence[str], separator: str
) -> list[str]:
    """Return the categories of a plan whose values are labels, or several between separators.

    Booleans and numbers are other things even where labels are called yes and no, or 0 and 1.
    """
    known = set(classes)
    return [
        column.name
        for column in plan.columns
        if column.kind == "category" and _are_labels(frame[column.name], known, separator)
    ]


def giveaway_notices(with_labels: Iterable[str], results: Iterable[str]) -> list[str]:
    """Return what to tell about such columns that were left out."""
    notices = []
    if names := list(with_labels):
        notices.append(
            f"Left out {join_names(map(repr, names))}, which holds labels and can give the right "
            "one away; use --features (in Python features=) to keep it. A column of true labels is "
            "named by --truth (truth=)."
        )
    if names := list(results):
        notices.append(f"Left out what an earlier cleaning has added: {join_names(names)}.")
    return notices


def _are_labels(column: "pd.Series[str]", known: set[str], separator: str) -> bool:
    distinct = column.dropna().unique()[: _MOST_VALUES + 1]
    values = [str(value) for value in distinct if not is_blank(value)]  # gaps may be called NA
    pieces = {piece.strip() for value in values for piece in value.split(separator)} - {""}
    return len(values) <= _MOST_VALUES and len(pieces) >= _FEWEST_LABELS and pieces <= known


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


@dataclass(frozen=True, eq=False)
class TableTask:
    """Features, candidate sets and what else is known of the rows of a table.

    Attributes
    ----------
    plan : ColumnPlan
        Which columns are features, and what they hold.
    values : DataFrame
        Their values, ready for a transformer.
    candidates : CandidateLabels
        One set for every row.
    truth : ndarray of shape (n_samples,) or None
        True labels for the accuracy alone, None in rows where they are not known.
    notices : tuple of str
        What a person should know about what was left out.
    n_decisions : int
        How many rows a person has settled.
    """

    plan: ColumnPlan
    values: pd.DataFrame
    candidates: CandidateLabels
    truth: AnyArray | None
    notices: tuple[str, ...]
    n_decisions: int = 0

    def warn_of_notices(self) -> None:
        """Say them to whoever called from Python a function that calls this."""
        for notice in self.notices:
            warnings.warn(notice, stacklevel=3)


def prepare_task(
    frame: pd.DataFrame,
    *,
    labels: Labels = "label",
    truth: str | None = None,
    features: Names | None = None,
    ignore: Names = (),
    categories: Names = (),
    id: str | None = None,  # noqa: A002  # as people call it
    decisions: Mapping[int, str] | None = None,
) -> TableTask:
    """Read labels and features from a table.

    Parameters
    ----------
    frame : DataFrame
        The table.
    labels : str, sequence of str, LabelColumns or CandidateLabels, default="label"
        Where the candidate labels are.
    truth : str, optional
        Column of true labels, which may be mostly empty.
    features, ignore : str or sequence of str, optional
        Columns to learn from, if not all; columns to leave out.
    categories : str or sequence of str, optional
        Columns whose values are codes, even if they look like numbers.
    id : str, optional
        Column that names the rows, and is no feature.
    decisions : mapping of int to str, optional
        Label of rows that a person has settled, by their position.
    """
    columns = FeatureColumns(
        frame,
        labels,
        truth=truth,
        id=id,
        features=features,
        ignore=ignore,
        categories=categories,
    )
    candidates, notices = _read_labels(frame, labels)
    if decisions:
        candidates = settle(candidates, decisions)
        check_labels_differ(candidates)
    _check_labels_tell_something(candidates)
    true_labels = None
    if truth is not None:
        literal = isinstance(labels, LabelColumns) and labels.literal
        true_labels, truth_notices = _true_labels(frame[truth], candidates.classes, literal=literal)
        notices += truth_notices
    plan, column_notices = columns.plan(candidates)
    values = column_values(frame, plan)
    return TableTask(
        plan,
        values,
        candidates,
        true_labels,
        (*notices, *column_notices),
        n_decisions=len(decisions or ()),
    )


def _read_labels(frame: pd.DataFrame, labels: Labels) -> tuple[CandidateLabels, list[str]]:
    """Return the candidate sets, and what a person should know about how they were read."""
    if isinstance(labels, CandidateLabels):
        candidates = sets_of_rows(labels, frame)
        check_labels_differ(candidates)
        return candidates, []
    columns = LabelColumns.of(labels)
    candidates = columns.read(frame)
    if candidates.weights is None or columns.votes:
        return candidates, []
    notice = (
        "Labels were read with weights, as in cat:0.7|dog:0.3. If the number behind the colon "
        "belongs to the label, say --literal-labels (in Python literal=True)."
    )
    return candidates, [notice]


def _check_labels_tell_something(candidates: CandidateLabels) -> None:
    """Refuse sets of which each one has every label: there is nothing to learn from them."""
    _, columns = candidates.pairs()
    n_occurring = len(np.unique(columns))
    if may_have_any_label(candidates, n_occurring).all():
        raise TableError(
            f"Something is learned from labels that a row cannot have. All {len(candidates):,} "
            f"rows may have any of the {n_occurring:,} labels. Check the label columns and the "
            "separator, or settle some rows by hand (--decisions, in Python decisions=)."
        )


def _true_labels(
    column: "pd.Series[Any]", classes: AnyArray, *, literal: bool
) -> tuple[AnyArray, list[str]]:
    """Return true labels, None where there is none, and what a person should know about them."""
    labels = texts_of(column, what="a true label", literal=literal)
    known: BoolArray = np.array([label is not None for label in labels], dtype=bool)
    unknown = np.zeros(len(labels), dtype=bool)
    unknown[known] = known_columns_of(labels[known].tolist(), classes) < 0
    if not unknown.any():
        return labels, []
    label = labels[int(unknown.argmax())]
    which = f"{label!r} in {describe_table_rows(unknown)}.{did_you_mean(label, classes.tolist())}"
    if unknown[known].all():
        raise TableError(
            f"The true labels in column {column.name!r} must be among the labels that occur as "
            f"candidates. None of them is: {which} Check that this is the column you meant."
        )
    return labels, [
        f"True labels in column {column.name!r} that are nowhere a candidate cannot be met, and "
        f"count as errors: {which}"
    ]

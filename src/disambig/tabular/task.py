"""A table made ready to learn from: labels, features, method."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.errors import ParameterError, TableError, warn_caller
from disambig._core.messages import describe_table_rows, did_you_mean
from disambig._core.typing import AnyArray, BoolArray
from disambig.candidates.checks import known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.registry import get_method
from disambig.tabular.cell_values import texts_of
from disambig.tabular.column_roles import FeatureColumns, Labels, Names, sets_of_rows
from disambig.tabular.columns.plan import ColumnPlan
from disambig.tabular.columns.values import column_values
from disambig.tabular.labels.decisions import settle
from disambig.tabular.labels.label_columns import LabelColumns, check_labels_differ

_ROUNDING = 1e-9
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
    known = [parameter for parameter in cls().get_params() if parameter not in _NOT_BY_NAME]
    unknown = next((parameter for parameter in parameters if parameter not in known), None)
    if unknown is not None:
        raise ParameterError(f"{name} has no parameter {unknown!r}. It has {', '.join(known)}.")
    return cls(**parameters)


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
        """Warn of them, at the line that called this package."""
        for notice in self.notices:
            warn_caller(notice)


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
        Column that names the rows; it is not a feature.
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
    shares = candidates.prior().data
    if np.allclose(shares, 1 / n_occurring, rtol=_ROUNDING, atol=0):
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

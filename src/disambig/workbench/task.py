"""A table made ready to learn from."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.names import closest_name
from disambig._core.typing import AnyArray, BoolArray
from disambig.candidates.classes import known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.tables.columns import describe_table_rows, find_column
from disambig.tables.labels.decisions import settle
from disambig.tables.labels.distinct_cells import texts_of
from disambig.tables.labels.label_columns import LabelColumns, check_labels_differ
from disambig.workbench.audit.label_information import may_have_any_label
from disambig.workbench.columns.plan import ColumnPlan, check_column_names, plan_columns
from disambig.workbench.columns.values import column_values
from disambig.workbench.given_labels import Labels, label_column_names, sets_of_rows

__all__ = ["Labels", "Names", "TableTask", "prepare_task", "reserved_columns"]

# Of columns.
Names = str | Sequence[str]


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
    """

    plan: ColumnPlan
    values: pd.DataFrame
    candidates: CandidateLabels
    truth: AnyArray | None
    notices: tuple[str, ...]

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
    id : str, optional
        Column that names the rows, and is no feature.
    decisions : mapping of int to str, optional
        Label of rows that a person has settled, by their position.
    """
    reserved = reserved_columns(frame, labels, truth=truth, id=id)
    candidates, label_notices = _read_labels(frame, labels)
    if decisions:
        candidates = settle(candidates, decisions)
        check_labels_differ(candidates)
    _check_labels_tell_something(candidates)
    true_labels = None if truth is None else _true_labels(frame, truth, candidates.classes)
    plan, column_notices = plan_columns(frame, features=features, ignore=ignore, reserved=reserved)
    return TableTask(
        plan, column_values(frame, plan), candidates, true_labels, (*label_notices, *column_notices)
    )


def reserved_columns(
    frame: pd.DataFrame,
    labels: Labels,
    *,
    truth: str | None,
    id: str | None,  # noqa: A002  # as people call it
) -> list[str]:
    """Return the columns that are never features; refuse those that are not there."""
    check_column_names(frame)
    names = list(label_column_names(labels))
    for name, what in ((truth, "the true labels"), (id, "the names of the rows")):
        if name is not None:
            find_column(frame, name, what=what)
            names.append(name)
    return names


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


def _true_labels(frame: pd.DataFrame, name: str, classes: AnyArray) -> AnyArray:
    labels = texts_of(frame[name], what="a true label")
    known: BoolArray = np.array([label is not None for label in labels], dtype=bool)
    unknown = np.zeros(len(labels), dtype=bool)
    unknown[known] = known_columns_of(labels[known].tolist(), classes) < 0
    if unknown.any():
        label = labels[int(unknown.argmax())]
        suggestion = closest_name(label, classes.tolist())
        hint = f" Did you mean {suggestion!r}?" if suggestion else ""
        raise TableError(
            f"A true label must be one of the labels that occur as candidates. In column {name!r} "
            f"that is not so for {describe_table_rows(unknown)}: {label!r}.{hint} Correct it, or "
            "leave the cell empty."
        )
    return labels

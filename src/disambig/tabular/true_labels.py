"""True labels of some rows of a table: to judge by, and to learn from where that is asked for.

Models are trained without them unless somebody asks for it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from disambig._core.errors import ParameterError, TableError
from disambig._core.messages import (
    bare_name,
    describe_table_rows,
    did_you_mean,
    join_names,
    quote_value,
    row_count,
    row_name,
)
from disambig._core.typing import AnyArray, BoolArray, Sparse
from disambig.candidates.checks import known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.labels.decisions import Answer, NotThese, decision_word
from disambig.tabular.labels.settled_sets import settle
from disambig.tabular.table_cells import text_of, texts_of

_LABELS_NAMED = 3
_ROWS_READ = 1_000  # of other columns, in search of the one that was meant


def is_known(truth: AnyArray) -> BoolArray:
    """Return in which rows the true label is known."""
    return np.array([label is not None for label in truth], dtype=bool)


def read_truth(
    frame: pd.DataFrame, column: str, classes: AnyArray, *, literal: bool, learned: bool = False
) -> tuple[AnyArray, list[str]]:
    """Return true labels, None where there is none, and what a person should know about them.

    ``learned`` says whether models are to learn from them.
    """
    labels = texts_of(frame[column], what="a true label", literal=literal)
    known = is_known(labels)
    if learned and not known.any():
        raise TableError(
            f"--use-truth (in Python use_truth=True) needs true labels. Column {column!r} "
            "has none. Fill in some, or leave the option out."
        )
    unknown = np.zeros(len(labels), dtype=bool)
    unknown[known] = known_columns_of(labels[known].tolist(), classes) < 0
    if not unknown.any():
        return labels, []
    counts = Counter(labels[unknown].tolist())
    which = join_names(
        (f"{quote_value(label)} in {row_count(count)}" for label, count in counts.most_common()),
        most=_LABELS_NAMED,
        longest=None,
    )
    which += f". The first is {row_name(int(unknown.argmax()))}."
    names = classes.tolist()
    if unknown[known].all():
        raise TableError(
            f"No true label in column {column!r} is a candidate of any row: {which}"
            f"{_spelled_otherwise(counts, names) or _column_of_labels(frame, column, names)}"
        )
    hint = _spelled_otherwise(counts, names) or did_you_mean(next(iter(counts)), names)
    kept = " Nothing is learned from them: their rows keep their candidates." if learned else ""
    return labels, [
        f"Some true labels in column {column!r} are not a candidate of any row. No model can "
        f"predict them, so they count as errors: {which}{hint}{kept}"
    ]


def _spelled_otherwise(labels: Iterable[str], classes: list[Any]) -> str:
    """Return advice if labels differ from classes in capitals, spaces or signs only."""
    meant = {bare_name(name): name for name in classes if isinstance(name, str)}
    pair = next(
        ((label, meant[bare_name(label)]) for label in labels if bare_name(label) in meant), None
    )
    if pair is None:
        return ""
    return (
        f" {quote_value(pair[0])} looks like the candidate {quote_value(pair[1])}: spell true "
        "labels as the candidates are spelled."
    )


def _column_of_labels(frame: pd.DataFrame, column: str, classes: list[Any]) -> str:
    """Return advice that names a column which does hold such labels, if there is one."""
    known = set(classes)
    for name in frame.columns:
        values = {text_of(value) for value in frame[name].iloc[:_ROWS_READ]} - {None}
        if name != column and len(values) > 1 and values <= known:
            return f" Did you mean column {name!r}, which does hold such labels?"
    return " Check that this is the column you meant."


def contradicted_decisions(truth: AnyArray, decisions: Mapping[int, object]) -> list[str]:
    """Return a notice on the rows where a person has decided on another label than the true one."""
    differs = np.zeros(len(truth), dtype=bool)
    for row, decision in decisions.items():
        differs[row] = truth[row] is not None and _contradicts(decision, truth[row])
    if not differs.any():
        return []
    row = int(differs.argmax())
    said = decisions[row]
    if isinstance(said, NotThese):
        said = decision_word(said)
    return [
        f"The label decided on is not the true one in {describe_table_rows(differs)}: "
        f"{quote_value(said)} was decided, {quote_value(truth[row])} is true. "
        "Cleaning chooses the true label. Correct one of them."
    ]


def _contradicts(decision: object, true_label: object) -> bool:
    if isinstance(decision, Answer):
        return False  # none of the candidates: the true label need not be one
    if isinstance(decision, NotThese):
        return true_label in decision.labels
    return true_label != text_of(decision)


def choose_known(
    candidates: CandidateLabels, confidences: Sparse, truth: AnyArray
) -> tuple[CandidateLabels, Sparse]:
    """Return sets that hold every known true label, and confidences that are 1 for it.

    A true label need not be one of the row's candidates, nor of the classes. The sets have no
    weights.
    """
    known = is_known(truth)
    labels = truth[known].tolist()
    classes = list(dict.fromkeys([*candidates.classes.tolist(), *labels]))
    shape = (len(candidates), len(classes))
    columns = known_columns_of(labels, np.array(classes, dtype=object))
    true_cells = sparse.csr_array(
        (np.ones(len(labels)), (np.flatnonzero(known), columns)), shape=shape
    )
    mask, others = candidates.to_sparse().astype(float), confidences.copy()
    for matrix in (mask, others):
        matrix.resize(shape)
    others = sparse.diags_array((~known).astype(float)) @ others
    with_truth = CandidateLabels((mask + true_cells) > 0, classes).with_rows_of(candidates)
    return with_truth, (others + true_cells).tocsr()


def settle_known(candidates: CandidateLabels, truth: AnyArray | None) -> CandidateLabels:
    """Return candidate sets in which every row whose true label is known has that label alone.

    It need not have been one of the row's candidates. A row keeps its set where the true label is
    not one of the classes: a model could not predict it.
    """
    if truth is None:
        raise ParameterError(
            "--use-truth (in Python use_truth=True) needs a column of true labels. Name it by "
            "--truth (in Python truth=), or leave the option out."
        )
    rows = np.flatnonzero(is_known(truth))
    rows = rows[known_columns_of(truth[rows].tolist(), candidates.classes) >= 0]
    return settle(candidates, dict(zip(rows.tolist(), truth[rows].tolist(), strict=True)))

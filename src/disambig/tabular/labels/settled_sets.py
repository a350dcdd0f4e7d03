"""What decisions of a person make of candidate sets."""

from collections.abc import Iterable, Mapping

import numpy as np
from scipy import sparse

from disambig._core.errors import TableError
from disambig._core.messages import row_name
from disambig._core.typing import AnyArray, BoolArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.labels.decisions import Answer, Decision, NotThese, decision_word
from disambig.tabular.labels.label_rows import unknown_label
from disambig.tabular.table_cells import text_of


def settle(candidates: CandidateLabels, decisions: Mapping[int, object]) -> CandidateLabels:
    """Return candidate sets that allow for what was decided on some rows.

    A row whose label was decided has that label and no other. It need not have been among the
    candidates of the row, but must be one of the classes. Labels that are not right leave the set;
    where none is left, the row may have any other label. Sets of other rows stay, those on which
    somebody cannot tell among them.

    Decisions are by position, as from ``read_decisions``; a label may also be given as a number. If
    the sets are weighted, labels that join a set have the weight 1.
    """
    names = [text_of(name) or "" for name in candidates.classes.tolist()]
    column_of = {name: column for column, name in enumerate(names)}
    sets: dict[int, list[int]] = {}
    for row, decision in decisions.items():
        if not 0 <= row < len(candidates):
            raise TableError(
                f"A decision must be about one of the {len(candidates):,} rows. "
                f"Got {row_name(row)}."
            )
        said = text_of(decision) or "" if not isinstance(decision, NotThese | Answer) else decision
        wrong = _unknown_label(said, column_of)
        if wrong is not None:
            raise TableError(
                f"The label decided on for {row_name(row)} cannot be used. "
                f"{unknown_label(wrong, names)}"
            )
        changed = _changed_set(candidates, row, said, column_of)
        if changed is not None:
            sets[row] = changed
    if not sets:
        return candidates
    return _with_sets(candidates, sets)


def _unknown_label(decision: Decision, known: Mapping[str, int]) -> str | None:
    """Return the first label of a decision that is not one of the classes, or None."""
    if isinstance(decision, Answer):
        return None
    labels: Iterable[str] = decision.labels if isinstance(decision, NotThese) else (decision,)
    return next((label for label in sorted(labels) if label not in known), None)


def _changed_set(
    candidates: CandidateLabels, row: int, decision: Decision, column_of: Mapping[str, int]
) -> list[int] | None:
    """Return the columns that a row has after a decision, or None where its set stays."""
    if isinstance(decision, str):
        return [column_of[decision]]
    if decision in (Answer.CANNOT_TELL, Answer.BAD_ROW):
        return None
    start, size = candidates.starts[row], candidates.sizes[row]
    before = candidates.pairs()[1][start : start + size].tolist()
    excluded = (
        {column_of[each] for each in decision.labels}
        if isinstance(decision, NotThese)
        else set(before)
    )
    if excluded.isdisjoint(before):
        return None
    left = [column for column in before if column not in excluded]
    left = left or sorted(set(column_of.values()) - excluded - set(before))
    if not left:
        raise TableError(
            f"None of the {len(column_of):,} labels is left for {row_name(row)}: it was decided "
            f"that it has {decision_word(decision)}. Choose one, or call it a bad row."
        )
    return left


def take_rows(
    candidates: CandidateLabels, rows: BoolArray, source: CandidateLabels
) -> CandidateLabels:
    """Return candidate sets in which some rows have the sets that they have in another collection.

    Both have the same classes. A label that such a row does not have here gets the weight 1.
    """
    if not rows.any():
        return candidates
    _, columns = source.pairs()
    ends = (source.starts + source.sizes).tolist()
    starts = source.starts.tolist()
    sets = {row: columns[starts[row] : ends[row]].tolist() for row in np.flatnonzero(rows).tolist()}
    return _with_sets(candidates, sets)


def _with_sets(candidates: CandidateLabels, sets: Mapping[int, list[int]]) -> CandidateLabels:
    """Return candidate sets in which some rows have these columns."""
    mask, weights = _with_rows(candidates.to_sparse(), sets), candidates.weights
    if weights is not None:
        weights = _with_rows(weights, sets)
    return CandidateLabels(mask, candidates.classes, weights=weights).with_rows_of(candidates)


def _with_rows(matrix: Sparse, sets: Mapping[int, list[int]]) -> Sparse:
    """Return a matrix whose rows have entries in these columns only: the old ones, or ones."""
    rows = np.repeat(np.fromiter(sets, np.int64), [len(columns) for columns in sets.values()])
    columns = np.concatenate([np.array(each, dtype=np.int64) for each in sets.values()])
    before = np.asarray(matrix[rows, columns]).ravel()
    row_of_entry = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    changed: BoolArray = np.zeros(matrix.shape[0], dtype=bool)
    changed[rows] = True
    # A label that was decided on has the weight 1, whatever votes it had before.
    is_alone = np.repeat([len(each) == 1 for each in sets.values()], list(map(len, sets.values())))
    values: AnyArray = np.where(is_alone | (before == 0), 1, before).astype(matrix.dtype)
    kept = ~changed[row_of_entry]
    entries = (
        np.concatenate([row_of_entry[kept], rows]),
        np.concatenate([matrix.indices[kept], columns]),
    )
    data: AnyArray = np.concatenate([matrix.data[kept], values])
    return sparse.csr_array((data, entries), shape=matrix.shape)

"""A cleaned table: its rows with their chosen labels, read or taken from a model."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from disambig._core.errors import TableError, warn_caller
from disambig._core.messages import quote_value, row_count, row_name
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from disambig.candidates.checks import known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest, group_maxima
from disambig.tabular.clean_details import (
    CellsFingerprint,
    CleanDetails,
    doubtful_first,
    read_cells_of_rows,
)
from disambig.tabular.defaults import DEFAULT_ERRORS_TO_FIND
from disambig.tabular.evidence import Evidence
from disambig.tabular.files.table_on_disk import Table, TableOnDisk
from disambig.tabular.labels.decided_rows import DecidedRows
from disambig.tabular.labels.decisions import DECISION_KINDS
from disambig.tabular.labels.label_cells import read_weighted_cell
from disambig.tabular.provenance import Provenance, cleaning_provenance, model_provenance
from disambig.tabular.read_groups import read_groups
from disambig.tabular.read_misses import has_misses, listed_labels, read_misses
from disambig.tabular.second_look import second_look
from disambig.tabular.table_cells import (
    CLEAN_COLUMNS,
    DECISION_COLUMN,
    MISS_COLUMNS,
    check_columns,
    find_column,
    text_of,
)

if TYPE_CHECKING:  # whoever reads a cleaned table does without all that a model needs
    from disambig.tabular.table_model import TableModel

_ADVICE = "Clean the table first: disambig clean FILE --out CLEAN."
_MARKS = {"true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True, eq=False)
class CleanedTable:
    """The rows of a cleaned table, or of the training table of a model, with their chosen labels.

    Attributes
    ----------
    candidates : CandidateLabels
        The candidate sets, with groups and what these promise where there are any; classes are
        strings.
    confidences : ndarray of shape (n_pairs,)
        Confidence of every candidate, in the order of ``candidates.pairs()``.
    chosen : ndarray of shape (n_samples,)
        Index of the chosen class of every row.
    second_look : ndarray of bool of shape (n_samples,)
        Whether the row is marked for a second look.
    values : DataFrame or TableOnDisk
        The columns of the original table, as far as they are known.
    per_network : mapping from row to lists of numbers
        Confidences of the candidates by each network, for the most doubtful rows.
    histories : sequence of mappings
        Measures by epoch of every model trained for this; None where one was not taken.
    provenance : Provenance
        Where the labels come from.
    id : str or None
        The column of ``values`` that names the rows.
    evidence : Evidence or None
        How many labels are right, where the cleaning has said so.
    miss_probability : ndarray of shape (n_samples,) or None
        Probability that the row's set does not contain the right label; None if that was not
        estimated.
    label_if_missed : ndarray of shape (n_samples,) or None
        Index of the class that the row would then have; -1 where there is none.
    group : str or None
        Where the groups of ``candidates`` come from: a column of ``values``, or "runs" for
        neighbouring rows with equal sets.
    free_confidences : mapping from row to mappings from label to share
        What was believed of a row by itself before its group said anything; for all rows of groups
        with a doubtful row, where groups promise something.
    features : mapping from kind to names of columns
        The columns that the labels were learned from, where that is known.
    truth : str or None
        The column of ``values`` that holds true labels.
    unaided_confidences : mapping from row to mappings from label to share
        What the model said of rows whose true label is known, before that was chosen.
    labels : sequence of str
        The columns of ``values`` that held candidate labels, where that is known.
    decision : ndarray of str of shape (n_samples,) or None
        The kind of decision that a person had made before the cleaning: "label", "not this",
        "none of these", "cannot tell", "bad row", or nothing; None if there were none.

    See Also
    --------
    read_cleaned : Makes it from a cleaned table.
    disambig.web.table_page : Shows it as a page.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import clean_table, read_cleaned
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> rows = read_cleaned(cleaned)
    >>> rows.candidates.shape, rows.chosen.shape
    ((60, 4), (60,))
    """

    candidates: CandidateLabels
    confidences: FloatArray
    chosen: IntArray
    second_look: BoolArray
    values: pd.DataFrame  # or a table on disk, which is used like one
    per_network: Mapping[int, Sequence[Sequence[float]]] = field(default_factory=dict)
    histories: Sequence[Mapping[str, Sequence[float | None]]] = ()
    provenance: Provenance = field(default_factory=Provenance)
    id: str | None = None
    evidence: Evidence | None = None
    miss_probability: FloatArray | None = None
    label_if_missed: IntArray | None = None
    group: str | None = None
    free_confidences: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    features: Mapping[str, Sequence[str]] = field(default_factory=dict)
    truth: str | None = None
    unaided_confidences: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    labels: Sequence[str] = ()
    decision: AnyArray | None = None

    @property
    def confidence(self) -> FloatArray:
        """Confidence of the chosen label of every row."""
        return group_maxima(self.confidences, self.candidates.starts)

    @property
    def expected_errors(self) -> float:
        """How many of the chosen labels are wrong, going by their confidences."""
        return float((1 - self.confidence).sum())

    @property
    def set_may_miss(self) -> BoolArray:
        """Whether the set is likelier to miss the right label than another candidate is right."""
        if self.miss_probability is None or self.label_if_missed is None:
            return np.zeros(len(self.candidates), dtype=bool)
        rows, columns = self.candidates.pairs()
        # A label that was chosen from outside the set is listed beside its candidates.
        inside = np.where(columns == self.label_if_missed[rows], 0, self.confidences)
        starts = self.candidates.starts
        others = np.add.reduceat(inside, starts) - group_maxima(inside, starts)
        may_miss: BoolArray = self.miss_probability > others
        return may_miss

    def doubtful_rows(self, most: int) -> IntArray:
        """Return the rows marked for a second look, least sure first, at most a given number."""
        return doubtful_first(self.confidence, self.second_look)[:most]


def read_cleaned(
    frame: Table,
    details: CleanDetails | None = None,
    *,
    id: str | None = None,
    group: str | None = None,
) -> CleanedTable:
    """Read a cleaned table: its candidate sets, confidences and chosen labels.

    Parameters
    ----------
    frame : DataFrame or TableOnDisk
        What ``clean_table`` returned, or the file that ``disambig clean`` wrote.
    details : CleanDetails, optional
        How the table was made: the column that names the rows, that of their groups and what
        these promise, and the prefix of new columns.
    id : str, optional
        Column that names the rows.
    group : str, optional
        Column that says which rows come together, or "runs" for neighbouring rows with equal
        sets. By default as it was made.

    See Also
    --------
    clean_table : Makes the table.
    disambig.web.table_page : Shows the rows as a page.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import clean_table, read_cleaned
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> rows = read_cleaned(cleaned, id="vehicle")
    >>> rows.candidates.classes.tolist()
    ['bus', 'opel', 'saab', 'van']
    """
    prefix = _prefix_of(frame, details)
    if not any(prefix + name in frame.columns for name in CLEAN_COLUMNS):
        raise TableError(
            f"The table has not been cleaned yet: it has no column {prefix + CLEAN_COLUMNS[0]!r}. "
            f"{_ADVICE}"
        )
    new = [prefix + name for name in CLEAN_COLUMNS]
    check_columns(frame, new, "one that cleaning adds", advice=_ADVICE)
    chosen, second_look = frame[new[0]], frame[new[3]]
    candidates, values, fingerprint = _read_confidences(frame, new[-1])
    added, set_sizes = list(CLEAN_COLUMNS), candidates.sizes
    miss_probability, label_if_missed = None, None
    if has_misses(frame, prefix):
        candidates, miss_probability, label_if_missed = read_misses(frame, prefix, candidates)
        set_sizes = set_sizes - listed_labels(candidates, label_if_missed)
        added += MISS_COLUMNS
    decision = _read_decision(frame, prefix)
    if decision is not None:
        added.append(DECISION_COLUMN)
    if details is not None and not (
        details.fingerprint == fingerprint and _fit(details, set_sizes)
    ):
        warn_caller(
            "The details beside the table belong to another cleaning and were ignored: how "
            "training went, and what each network said."
        )
        details = None
    if id is not None:
        find_column(frame, id, what="the column that names the rows")
    elif details is not None and details.id in frame.columns:
        id = _id_if_unique(frame, details.id)
    grouped, group = read_groups(frame, details, candidates, group)
    cleaned = CleanedTable(
        candidates=grouped,
        group=group,
        confidences=values,
        chosen=_chosen(chosen, candidates),
        second_look=_marks(second_look),
        values=frame.drop(columns=[prefix + column for column in added]),
        id=id,
        miss_probability=miss_probability,
        label_if_missed=label_if_missed,
        decision=decision,
    )
    if details is None:
        return cleaned
    # What networks say of a set is shown where no label stands beside its candidates.
    as_given = candidates.sizes == set_sizes
    per_network = {
        row - 1: shares for row, shares in details.per_network.items() if as_given[row - 1]
    }
    return replace(
        cleaned,
        per_network=per_network,
        histories=details.histories,
        provenance=cleaning_provenance(details),
        evidence=details.evidence,
        free_confidences=read_cells_of_rows(details.free_confidences),
        features=details.features,
        truth=details.truth if details.truth in frame.columns else None,
        unaided_confidences=read_cells_of_rows(details.unaided_confidences),
        labels=[name for name in details.labels if name in frame.columns],
    )


def _read_decision(frame: Table, prefix: str) -> AnyArray | None:
    """Return the kinds of decisions; None where cleaning has added no such column."""
    name, names = prefix + DECISION_COLUMN, frame.columns.tolist()
    if name not in names or names.index(name) < names.index(prefix + CLEAN_COLUMNS[-1]):
        return None  # a column of the table may have the same name
    kinds = np.array([text_of(cell) or "" for cell in frame[name]], dtype=object)
    return kinds if set(kinds) <= {"", *DECISION_KINDS} else None


def _id_if_unique(frame: Table, id: str | None) -> str | None:
    """Return the column that cleaning left out as a name, unless it does not tell rows apart."""
    try:
        DecidedRows(frame, id).names()
    except TableError as error:
        warn_caller(f"{error} Until then rows go by their numbers.")
        return None
    return id


def _prefix_of(frame: Table, details: CleanDetails | None) -> str:
    """Return the prefix of the columns that cleaning added; empty if there is none."""
    first = CLEAN_COLUMNS[0]
    prefixes = [] if details is None else [details.prefix]
    # Of several cleanings the last one counts.
    names = [str(name) for name in reversed(frame.columns)]
    prefixes += [name.removesuffix(first) for name in names if name.endswith(first)]
    for prefix in prefixes:
        if all(prefix + name in frame.columns for name in CLEAN_COLUMNS):
            return prefix
    return ""


def _fit(details: CleanDetails, set_sizes: IntArray) -> bool:
    """Tell whether all networks speak about candidates of rows that are there."""
    sizes = set_sizes.tolist()
    return all(
        1 <= row <= len(sizes) and all(len(shares) == sizes[row - 1] for shares in per_network)
        for row, per_network in details.per_network.items()
    )


def _read_confidences(frame: Table, name: str) -> tuple[CandidateLabels, FloatArray, str]:
    """Return the sets, the confidence of every candidate in the order of its pairs, and a hash."""
    if not len(frame):
        raise TableError(f"A cleaned table needs rows. Got none. {_ADVICE}")
    blocks = frame.blocks([name]) if isinstance(frame, TableOnDisk) else [(0, frame[[name]])]
    cells = (text_of(cell) or "" for _, block in blocks for cell in block[name])
    fingerprint = CellsFingerprint()
    place_of: dict[str, int] = {}
    places, values, ends = array("i"), array("d"), array("q", [0])
    for row, cell in enumerate(cells):
        fingerprint.take([cell])
        try:
            shares = read_weighted_cell(cell)
        except ValueError as error:
            raise TableError(
                f"Column {name!r} must hold confidences, as in cat:0.9|dog:0.1. Got "
                f"{quote_value(cell)} in {row_name(row)}. {_ADVICE}"
            ) from error
        places.extend(place_of.setdefault(label, len(place_of)) for label in shares)
        values.extend(shares.values())
        ends.append(len(values))
    classes = sorted(place_of)
    column_of = np.empty(len(classes), dtype=np.int32)
    column_of[[place_of[label] for label in classes]] = np.arange(len(classes))
    entries = (np.asarray(values), column_of[np.asarray(places)], np.asarray(ends))
    found = sparse.csr_array(entries, shape=(len(frame), len(classes)))
    found.sort_indices()
    mask = sparse.csr_array(found, copy=True)
    mask.data = np.ones(len(values), dtype=bool)
    return CandidateLabels(mask, classes), found.data, fingerprint.hex()


def _chosen(column: "pd.Series[Any]", candidates: CandidateLabels) -> IntArray:
    """Return the places of the chosen labels; one that is not a candidate was edited."""
    labels = [label if isinstance(label, str) else text_of(label) or "" for label in column]
    chosen: IntArray = known_columns_of(labels, candidates.classes)
    inside = candidates.to_sparse()[np.arange(len(labels)), chosen]
    wrong = (chosen < 0) | ~np.asarray(inside).ravel().astype(bool)
    if wrong.any():
        row = int(wrong.argmax())
        raise TableError(
            f"Column {column.name!r} must hold one of the row's candidates. Got "
            f"{quote_value(labels[row])} in {row_name(row)}. Clean the table again; what people "
            "decide goes into a file of decisions."
        )
    return chosen


def _marks(column: "pd.Series[Any]") -> BoolArray:
    marks = np.zeros(len(column), dtype=bool)
    for row, cell in enumerate(column):
        text = (text_of(cell) or "").casefold()
        if text not in _MARKS:
            raise TableError(
                f"Column {column.name!r} must say True or False. Got {quote_value(cell)} in "
                f"{row_name(row)}. {_ADVICE}"
            )
        marks[row] = _MARKS[text]
    return marks


def rows_of_model(
    model: "TableModel", *, errors_to_find: float = DEFAULT_ERRORS_TO_FIND
) -> CleanedTable:
    """Return the training rows of a model; of their values it knows nothing.

    It has seen these rows, and is surer of them than of others. Raise ``TableError`` where rows
    were called bad: those that it knows are then numbered otherwise than in their table.
    """
    if model.bad_rows:
        raise TableError(
            f"The model does not know which rows of its table it was trained on: "
            f"{row_count(model.bad_rows)} had been called bad and left out. For a page about the "
            "rows, clean the table with the same decisions: disambig clean FILE --decisions "
            "DECISIONS --out CLEAN."
        )
    confidences = model.classifier.candidate_confidence_
    names = [text_of(name) or "" for name in model.classes.tolist()]
    # Every candidate has an entry, be it a zero.
    mask = confidences.copy()
    mask.data = np.ones(len(mask.data), dtype=bool)
    candidates = CandidateLabels(mask, names)
    values = candidates.values_of(confidences)
    confidence = group_maxima(values, candidates.starts)
    _, columns = candidates.pairs()
    history = getattr(model.classifier, "history_", None)
    return CleanedTable(
        candidates=candidates,
        confidences=values,
        chosen=columns[first_largest(values, candidates.starts)],
        second_look=second_look(confidence, errors_to_find),
        values=pd.DataFrame(index=range(len(candidates))),
        histories=() if history is None else (history.to_dict(),),
        provenance=model_provenance(model),
    )

"""``audit_table``: what a table with candidate labels holds, before anything is trained on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig._core.messages import option, row_count
from disambig._core.typing import BoolArray
from disambig.candidates.audit import CandidateAudit, audit_candidates
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.audit.label_information import LabelInformation, label_information
from disambig.tabular.audit.report_text import Finding, audit_text
from disambig.tabular.audit.suspicious import LabelledRows, find_suspicious
from disambig.tabular.columns.values import column_values
from disambig.tabular.labels.label_columns import LabelColumns
from disambig.tabular.task import FeatureColumns, Labels, Names, sets_of_rows

__all__ = ["TableAudit", "audit_table"]

_PAIRS_IN_JSON = 50


@dataclass(frozen=True, eq=False)  # arrays do not compare to one answer
class TableAudit:
    """What a table holds, and what looks wrong in it. ``str()`` of it is a text for people.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    n_unlabelled : int
        Rows of them that name no label.
    features : mapping from str to tuple of str
        Kinds of features, and the columns of each; empty where no features can be used.
    notices : tuple of str
        What was found out about columns.
    sets : CandidateAudit
        Facts about the candidate sets.
    weighted, negative : bool
        Whether candidates have weights, or votes; whether labels were ruled out, as in "!cat".
    information : LabelInformation
        What the ambiguity costs.
    findings : tuple of Finding
        What looks wrong, the worst first.
    """

    n_rows: int
    n_unlabelled: int
    features: Mapping[str, tuple[str, ...]]
    notices: tuple[str, ...]
    sets: CandidateAudit
    weighted: bool
    negative: bool
    information: LabelInformation
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return audit_text(self)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON knows it: texts, numbers, lists and objects."""
        sets, information = self.sets, self.information
        counts = zip(
            sets.classes, sets.candidate_counts.tolist(), sets.alone_counts.tolist(), strict=True
        )
        return {
            "rows": self.n_rows,
            "rows_without_label": self.n_unlabelled,
            "features": {kind: list(names) for kind, names in self.features.items()},
            "notices": list(self.notices),
            "weighted": self.weighted,
            "negative": self.negative,
            "set_sizes": {str(size): count for size, count in sets.size_histogram.items()},
            "average_candidates": sets.average_candidates,
            "singleton_share": sets.singleton_share,
            "labels": [
                {"label": label, "candidate_in": candidate, "alone_in": alone}
                for label, candidate, alone in counts
            ],
            "pairs": [
                {"labels": [first, second], "rows": count}
                for first, second, count in sets.most_common_pairs(_PAIRS_IN_JSON)
            ],
            "always_together": [list(group) for group in sets.inseparable],
            "cost": {
                "known_share": information.known_share,
                "equivalent_rows": information.equivalent_rows,
                "blind_guess_share": information.blind_guess_share,
            },
            "findings": [finding.to_json() for finding in self.findings],
        }


def audit_table(
    frame: pd.DataFrame,
    *,
    labels: Labels = "label",
    truth: str | None = None,
    features: Names | None = None,
    ignore: Names = (),
    categories: Names = (),
    id: str | None = None,  # noqa: A002  # as people call it
) -> TableAudit:
    """Look at a table before anything is trained on it.

    Parameters
    ----------
    frame : DataFrame
        The table, as ``read_table`` gives it.
    labels : str, sequence of str, LabelColumns or CandidateLabels, default="label"
        Where the candidate labels are.
    truth : str, optional
        Column of true labels, which is not looked at.
    features, ignore : str or sequence of str, optional
        Columns to learn from, if not all; columns to leave out.
    categories : str or sequence of str, optional
        Columns whose values are codes, even if they look like numbers.
    id : str, optional
        Column that names the rows, and is no feature.
    """
    # A slip in what was asked for is no finding about the table.
    columns = FeatureColumns(
        frame,
        labels,
        truth=truth,
        id=id,
        features=features,
        ignore=ignore,
        categories=categories,
    )
    read = _read_labels(frame, labels)
    kinds, notices, values, unusable = _read_features(frame, columns, read.candidates)
    sets = audit_candidates(read.candidates)
    findings = [*unusable, *_unlabelled(read), *find_suspicious(_labelled(read, sets, values))]
    return TableAudit(
        n_rows=len(frame),
        n_unlabelled=int(read.empty.sum()),
        features=kinds,
        notices=notices,
        sets=sets,
        weighted=read.candidates.weights is not None,
        negative=read.negative,
        information=label_information(read.candidates),
        findings=tuple(findings),
    )


class _ReadLabels(NamedTuple):
    candidates: CandidateLabels  # of the rows with a label, or of all
    empty: BoolArray  # rows of the table that name no label
    negative: bool
    n_columns: int
    note: str = ""  # on cells that were taken for empty


class _ReadFeatures(NamedTuple):
    kinds: dict[str, tuple[str, ...]]
    notices: tuple[str, ...]
    values: pd.DataFrame | None
    findings: tuple[Finding, ...]


def _read_labels(frame: pd.DataFrame, labels: Labels) -> _ReadLabels:
    if not isinstance(labels, CandidateLabels):
        columns = LabelColumns.of(labels)
        said = columns.parse(frame)
        n_columns = len(columns.columns)
        return _ReadLabels(said.candidates, said.empty, said.negative, n_columns, said.note)
    sets = sets_of_rows(labels, frame)
    return _ReadLabels(sets, np.zeros(len(frame), dtype=bool), negative=False, n_columns=1)


def _read_features(
    frame: pd.DataFrame, columns: FeatureColumns, candidates: CandidateLabels
) -> _ReadFeatures:
    try:
        plan, notices = columns.plan(candidates)
        values = column_values(frame, plan)
    except TableError as error:
        # The labels can still be looked at.
        return _ReadFeatures({}, (), None, (Finding("features", str(error)),))
    by_kind = {kind: tuple(names) for kind, names in plan.by_kind().items()}
    return _ReadFeatures(by_kind, tuple(notices), values, ())


def _unlabelled(read: _ReadLabels) -> list[Finding]:
    rows = np.flatnonzero(read.empty)
    if not len(rows):
        return []
    one = len(rows) == 1
    if len(read.candidates) == len(read.empty):
        they, them = ("It", "it") if one else ("They", "them")
        advice = f"{they} may have any, as you said: next to nothing is learned from {them}."
    else:
        fill_in = "Fill it in, drop the row," if one else "Fill them in, drop these rows,"
        advice = f"{fill_in} or say {option('empty', 'all')} if a row without one may have any."
    message = f"{row_count(len(rows))} {'has' if one else 'have'} no label.{read.note}"
    return [Finding.about(rows, "no_label", message, advice)]


def _labelled(read: _ReadLabels, sets: CandidateAudit, values: pd.DataFrame | None) -> LabelledRows:
    """Return the rows that name a label: of the others there is nothing more to say."""
    named, candidates = ~read.empty, read.candidates
    if not named.all():
        values = None if values is None else values[named]
        if len(candidates) == len(named):
            candidates = candidates[named]
            sets = audit_candidates(candidates)
    separator_unused = read.n_columns > 1 or sets.singleton_share == 1
    return LabelledRows(candidates, sets, np.flatnonzero(named), values, separator_unused)

"""Whether sets hold the right label: by true labels that are known, and by a model of the table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from disambig._core.errors import ModelFileError, TableError
from disambig._core.messages import number_and_id, percent, plural
from disambig._core.typing import AnyArray
from disambig.candidates.group_audit import impossible_groups
from disambig.candidates.groups import PromiseKind, group_numbers
from disambig.candidates.labels import CandidateLabels
from disambig.tabular.accuracy import share_interval
from disambig.tabular.audit.findings import ROWS_KEPT, Finding, ids_of
from disambig.tabular.estimate import DoubtfulSet, Estimate, MissRate, named_sets
from disambig.tabular.files.formats import one_of
from disambig.tabular.true_labels import is_known

_ROWS_SHOWN = 10


@dataclass(frozen=True)
class CheckedTruth:
    """Rows whose true label is known, and those of them whose set does not hold it."""

    n_rows: int  # whose true label is known
    n_outside: int
    low: float  # ends of the 95 % interval of the share outside
    high: float
    rows: tuple[int, ...]  # those outside, counted from 1, or the first of very many

    def __str__(self) -> str:
        number = f"{self.n_outside:,}" if self.n_outside else "none"
        verb = "is" if self.n_outside <= 1 else "are"
        return (
            f"Of {plural(self.n_rows, 'known true label')}, "
            f"{number} {verb} outside the set of the row: "
            f"{percent(self.n_outside / self.n_rows)} "
            f"(95 %: {100 * self.low:.1f} to {100 * self.high:.1f} %)."
        )

    def findings(self) -> list[Finding]:
        """Return what looks wrong: rows whose set does not hold the label that is known."""
        if not self.n_outside:
            return []
        one = self.n_outside == 1
        message = (
            f"{self.n_outside:,} of {plural(self.n_rows, 'known true label')} "
            f"{'is' if one else 'are'} not in the set of the row."
        )
        advice = (
            f"Correct {'the set, or the true label' if one else 'these sets, or the true labels'}. "
            "Other sets may miss the right label too: --miss-rate auto (in Python "
            "miss_rate='auto') allows for that when a model is trained."
        )
        return [Finding("truth_outside", message, advice, self.n_outside, self.rows)]


def check_truth(
    candidates: CandidateLabels, truth: AnyArray, numbers: AnyArray
) -> CheckedTruth | None:
    """Compare sets with the true labels that are known; None if there are none.

    ``numbers`` are the positions of the rows in the table, from 0.
    """
    known = is_known(truth)
    if not known.any():
        return None
    checked = candidates[known]
    is_outside = ~checked.contains(truth[known].tolist())
    low, high = share_interval(is_outside, checked.groups)
    outside = np.flatnonzero(known)[is_outside]
    rows = tuple(int(row) + 1 for row in numbers[outside[:ROWS_KEPT]])
    return CheckedTruth(len(checked), len(outside), low, high, rows)


@dataclass(frozen=True)
class KeptPromise:
    """In how many groups a promise holds, of those that could keep it and whose truth is known.

    Groups that cannot keep it are exempt, and a single row tells nothing, so that this share is
    the strength of the promise.
    """

    kind: PromiseKind
    n_groups: int  # of several rows, whose sets allow it and whose true labels are all known
    n_kept: int
    low: float  # ends of the 95 % interval of the share that keeps it
    high: float

    def __str__(self) -> str:
        return (
            f"Of {plural(self.n_groups, 'group')} of several rows where {self.kind} is possible "
            f"and all true labels are known, it holds in {self.n_kept:,}: "
            f"{percent(self.n_kept / self.n_groups)} "
            f"(95 %: {100 * self.low:.1f} to {100 * self.high:.1f} %)."
        )


def check_promises(candidates: CandidateLabels, truth: AnyArray) -> tuple[KeptPromise, ...]:
    """Say how often each promise holds; nothing where no group can tell.

    Cover holds if every label in the sets of a group is the true one of a row, exclusive if all
    true labels of a group are different.
    """
    if candidates.groups is None:
        return ()
    group = group_numbers(candidates.groups, len(candidates))
    n_rows = np.bincount(group)
    labels_of: list[set[object]] = [set() for _ in n_rows]
    true_labels_of: list[set[object]] = [set() for _ in n_rows]
    for one, labels, true_label in zip(group.tolist(), candidates, truth.tolist(), strict=True):
        labels_of[one] |= labels
        true_labels_of[one].add(true_label)
    is_kept: dict[PromiseKind, list[bool]] = {
        "cover": list(map(set.issubset, labels_of, true_labels_of)),
        "exclusive": [len(found) == n for found, n in zip(true_labels_of, n_rows, strict=True)],
    }
    n_unknown = np.bincount(group[~is_known(truth)], minlength=len(n_rows))
    can_tell = (n_unknown == 0) & (n_rows > 1)
    kept = []
    for kind, impossible in impossible_groups(candidates).items():
        judged = np.array(is_kept[kind])[can_tell & ~impossible]
        if len(judged):
            kept.append(KeptPromise(kind, len(judged), int(judged.sum()), *share_interval(judged)))
    return tuple(kept)


@dataclass(frozen=True)
class JudgedSets:
    """Sets as judged by models that were not trained on their rows."""

    misses: MissRate
    worst: tuple[DoubtfulSet, ...]  # the most doubtful first
    ids: tuple[str, ...] = ()  # what a column calls their rows, if there is one

    def lines(self) -> list[str]:
        """Return the share of sets that miss the right label, and the rows to look at first."""
        lines = [str(self.misses)]
        ids = self.ids or ("",) * len(self.worst)
        lines += [
            f"Row {number_and_id(one.row, id_)}: {one_of(one.candidates)}, but probably "
            f"{one.label} ({one.probability:.2f} that the set misses it)."
            for one, id_ in zip(self.worst[:_ROWS_SHOWN], ids, strict=False)
        ]
        if len(self.worst) > _ROWS_SHOWN:
            lines.append("disambig clean judges every row (column miss_probability).")
        return lines

    def to_json(self) -> dict[str, object]:
        """Return all of it as numbers and texts."""
        rows = [one.model_dump() for one in self.worst]
        for row, id_ in zip(rows, self.ids, strict=False):
            row["id"] = id_
        return self.misses.model_dump() | {"rows": rows}


def judged_sets(
    candidates: CandidateLabels,
    estimate: Estimate | None,
    id_column: "pd.Series[Any] | None" = None,
) -> JudgedSets:
    """Return what the estimate of a model says of the sets that it was trained on."""
    if estimate is None or estimate.misses is None:
        raise ModelFileError(
            "The model does not say which sets miss the right label: it was fitted without folds, "
            "by version 0.2 or earlier, or it knows too little. Fit it again with folds."
        )
    n_rows = len(candidates)
    rows = [one.row - 1 for one in estimate.doubtful_sets]
    same = n_rows == estimate.n_rows and all(row < n_rows for row in rows)
    kept = [one.candidates for one in estimate.doubtful_sets]
    if not same or (rows and named_sets(candidates[rows]) != kept):
        raise TableError(
            f"The model was trained on another table, of {estimate.n_rows:,} rows. Audit that one, "
            "or fit a model to this one."
        )
    ids = () if id_column is None else ids_of(id_column, (row + 1 for row in rows))
    return JudgedSets(estimate.misses, estimate.doubtful_sets, ids)

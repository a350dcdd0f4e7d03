"""Choose a label for every row of a table."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from disambig._core.parameters import check_real
from disambig._core.typing import AnyArray, BoolArray, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest, group_maxima
from disambig.methods.base import PartialLabelClassifier
from disambig.tabular.defaults import DEFAULT_ERRORS_TO_FIND, DEFAULT_FOLDS, DEFAULT_METHOD
from disambig.tabular.estimate import Accuracy, Count, Measured, known_accuracy
from disambig.tabular.labels.label_cells import write_weighted_cells
from disambig.tabular.out_of_fold import (
    FitListener,
    History,
    check_folds,
    fit_whole,
    histories_of,
    judge_held_out,
    network_opinions,
    with_prior,
)
from disambig.tabular.table_columns import CLEAN_COLUMNS, append_columns, check_new_columns
from disambig.tabular.task import Labels, Names, TableTask, chosen_method, prepare_task
from disambig.tabular.work_folder import WorkFolder

__all__ = [
    "CleanSummary",
    "Cleaning",
    "clean_table",
    "clean_task",
    "second_look",
    "summarise_cleaning",
]


class CleanSummary(Measured):
    """What cleaning did.

    Attributes
    ----------
    rows, rows_with_one_label, rows_for_a_second_look : int
        Of the table.
    expected_errors : float
        How many of the chosen labels are wrong, going by their confidences.
    accuracy : Accuracy or None
        Share of chosen labels that are right, where true labels are known.
    """

    rows: Count
    rows_with_one_label: int
    rows_for_a_second_look: int
    expected_errors: float
    accuracy: Accuracy | None

    def __str__(self) -> str:
        lines = [
            f"{self.rows:,} rows, {self.rows - self.rows_with_one_label:,} of them with several "
            "labels: one is chosen for each.",
            f"About {self.expected_errors:,.0f} choices are expected to be wrong. "
            f"{self.rows_for_a_second_look:,} rows deserve a second look (column second_look).",
        ]
        if self.accuracy is not None:
            lines.append(str(self.accuracy))
        return "\n".join(lines)


def summarise_cleaning(task: TableTask, cleaned: pd.DataFrame) -> CleanSummary:
    """Return what cleaning did; ``cleaned`` is what ``clean_task`` returned for the task."""
    accuracy = None
    if task.truth is not None:
        accuracy = known_accuracy(task.truth, cleaned["chosen_label"].to_numpy())
    return CleanSummary(
        rows=len(cleaned),
        rows_with_one_label=int((task.candidates.sizes == 1).sum()),
        rows_for_a_second_look=int(cleaned["second_look"].sum()),
        expected_errors=float((1 - cleaned["confidence"]).sum()),
        accuracy=accuracy,
    )


# Below this share of doubt nobody would look twice, whatever the other rows are like.
_LEAST_DOUBT = 1e-3
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class Cleaning:
    """What cleaning found out.

    Attributes
    ----------
    columns : DataFrame
        What it adds to the table.
    opinions : ndarray of shape (n_networks, n_pairs)
        What each network says about the candidates, as in ``Judgement``.
    histories : tuple of mappings
        Measures by epoch of every training.
    """

    columns: pd.DataFrame
    opinions: AnyArray
    histories: tuple[History, ...]


def clean_table(
    frame: pd.DataFrame,
    *,
    labels: Labels = "label",
    method: str | PartialLabelClassifier = DEFAULT_METHOD,
    truth: str | None = None,
    features: Names | None = None,
    ignore: Names = (),
    categories: Names = (),
    id: str | None = None,  # noqa: A002  # as people call it
    decisions: Mapping[int, str] | None = None,
    in_sample: bool = False,
    errors_to_find: float = DEFAULT_ERRORS_TO_FIND,
    n_folds: int = DEFAULT_FOLDS,
    random_state: int = 0,
    prefix: str = "",
) -> pd.DataFrame:
    """Return a table with the label to believe in every row, and how sure that is.

    Parameters
    ----------
    frame : DataFrame
        The table, as ``read_table`` gives it.
    labels : str, sequence of str, LabelColumns or CandidateLabels, default="label"
        Where the candidate labels are.
    method : str or PartialLabelClassifier, default="ncpd"
        What learns: a name from ``all_methods``, or a method with parameters of your choice.
    truth : str, optional
        Column of true labels, which is not looked at.
    features, ignore : str or sequence of str, optional
        Columns to learn from, if not all; columns to leave out.
    categories : str or sequence of str, optional
        Columns whose values are codes, even if they look like numbers.
    id : str, optional
        Column that names the rows, and is no feature.
    decisions : mapping of int to str, optional
        Labels of rows that a person has settled, as ``read_decisions`` gives them.
    in_sample : bool, default=False
        Whether one model of all rows judges them, instead of models that did not see the row.
    errors_to_find : float, default=0.9
        Share of the expected errors that the rows for a second look are to hold.
    n_folds : int, default=5
        Models that are trained, each on the rows of all folds but one.
    random_state : int, default=0
        Seed of everything.
    prefix : str, default=""
        Put before the names of the new columns.

    Returns
    -------
    cleaned : DataFrame
        All columns and rows as they were, then ``chosen_label``, ``confidence``, ``margin`` to the
        next candidate, ``second_look`` and ``candidate_confidences``, such as ``cat:0.9|dog:0.1``.
    """
    check_new_columns(frame, CLEAN_COLUMNS, prefix)
    task = prepare_task(
        frame,
        labels=labels,
        truth=truth,
        features=features,
        ignore=ignore,
        categories=categories,
        id=id,
        decisions=decisions,
    )
    task.warn_of_notices()
    cleaning = clean_task(
        task,
        chosen_method(method),
        in_sample=in_sample,
        errors_to_find=errors_to_find,
        n_folds=n_folds,
        seed=random_state,
    )
    return append_columns(frame, cleaning.columns, prefix)


def clean_task(
    task: TableTask,
    method: PartialLabelClassifier,
    *,
    in_sample: bool = False,
    errors_to_find: float = DEFAULT_ERRORS_TO_FIND,
    n_folds: int = DEFAULT_FOLDS,
    seed: int = 0,
    listener: FitListener | None = None,
    work: WorkFolder | None = None,
) -> Cleaning:
    """Clean a table made ready to learn from; the parameters are those of fit and clean."""
    check_real("errors_to_find", errors_to_find, minimum=0, maximum=1)
    listener = listener or FitListener()
    if in_sample:
        listener.on_fits_start(1)
        model = fit_whole(task, method, seed=seed, listener=listener, work=work)
        opinions = network_opinions(model, task.values, task.candidates)
        histories = histories_of(model)
        confidences = model.method.candidate_confidence_
    else:
        check_folds(n_folds)
        listener.on_fits_start(n_folds)
        judged = judge_held_out(
            task, method, n_folds=n_folds, seed=seed, listener=listener, work=work
        )
        opinions, histories = judged.opinions, judged.histories
        confidences = with_prior(task.candidates, judged.probabilities)
    columns = _described(task.candidates, confidences, errors_to_find)
    return Cleaning(columns, opinions, histories)


def second_look(confidence: FloatArray, errors_to_find: float) -> BoolArray:
    """Mark the least sure rows that together hold a share of the expected errors.

    A label of confidence c is expected to be wrong with probability 1 - c, so no true label is
    needed. Rows as sure as the last one marked are marked too.
    """
    doubt = 1 - confidence
    falling = np.sort(doubt)[::-1]
    found = np.cumsum(falling)
    if errors_to_find == 0 or found[-1] <= 0:
        return np.zeros(len(doubt), dtype=bool)
    # Less a rounding, so that all of the errors never ask for the rows without any.
    last = np.searchsorted(found, errors_to_find * found[-1] * (1 - 1e-12))
    marked: BoolArray = doubt >= max(falling[last], _LEAST_DOUBT)
    return marked


def _described(
    candidates: CandidateLabels, confidences: Sparse, errors_to_find: float
) -> pd.DataFrame:
    values = candidates.values_of(confidences)
    largest, second = _two_largest(values, candidates)
    # A person reads this column as well as another program.
    confidence = np.round(largest, _DECIMALS)
    columns = (
        candidates.choose(confidences),
        confidence,
        np.round(largest - second, _DECIMALS),
        second_look(confidence, errors_to_find),
        write_weighted_cells(candidates, np.round(values, _DECIMALS)),
    )
    return pd.DataFrame(dict(zip(CLEAN_COLUMNS, columns, strict=True)))


def _two_largest(values: FloatArray, candidates: CandidateLabels) -> tuple[FloatArray, FloatArray]:
    """Return the largest and the second largest value of every row; 0 where there is one only."""
    best = first_largest(values, candidates.starts)
    rest = values.copy()
    rest[best] = 0
    return values[best], group_maxima(rest, candidates.starts)

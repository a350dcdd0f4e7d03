"""``questions_of``: what to ask people about a cleaned table, and what the answers will win."""

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from disambig._core.errors import ParameterError, TableError
from disambig._core.parameters import check_integer, check_real
from disambig._core.typing import AnyArray, Features, FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_sums
from disambig.methods.asking import plan_answers, unit_rows, with_answers
from disambig.solvers.answers_ahead import foresee_changes
from disambig.solvers.blocks import one_thread_each
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.transformer import FeatureTransformer
from disambig.tabular.defaults import SECONDS_PER_ANSWER
from disambig.tabular.labels.decisions import Answer, Decision, NotThese
from disambig.tabular.question_plan import QuestionPlan
from disambig.tabular.questions import Question
from disambig.tabular.read_misses import listed_labels
from disambig.tabular.table_cells import texts_of
from disambig.tabular.true_labels import is_known, settle_known

_DEFAULT_BUDGET = 100
# Numbers that are not in the table any more, or would take a pretrained model to read again.
_NOT_READ = ("image", "embedding")
# Of confidences in a file.
_ROUNDING = 1e-4
# Decisions before the cleaning after which nobody is asked about the row again.
_OPEN_DECISIONS = ("", "not this")


def questions_of(
    cleaned: CleanedTable,
    *,
    budget: int = _DEFAULT_BUDGET,
    minutes: float | None = None,
    decisions: Mapping[int, Decision] | None = None,
) -> QuestionPlan:
    """Return the questions about a cleaned table whose answers remove most errors.

    What an answer removes is counted over all rows: in its own, and in rows like it. Rows that the
    rows near them speak against are doubted more, and a batch does not ask the same thing twice.

    Parameters
    ----------
    cleaned : CleanedTable
        What ``read_cleaned`` returned.
    budget : int, default=100
        Most questions.
    minutes : float, optional
        Most time for the answers, at ``SECONDS_PER_ANSWER`` for an ordinary one.
    decisions : mapping from row to decision, optional
        What people have decided since the cleaning, as ``read_decisions`` returns it. These rows
        are not asked about again, unless all that is known is what they are not. Nor are rows
        whose true label was known to the cleaning.

    See Also
    --------
    disambig.methods.query : The same for arrays.
    write_questions : Writes them, for the review.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import clean_table, questions_of, read_cleaned
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> cleaned = clean_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> plan = questions_of(read_cleaned(cleaned, id="vehicle"), budget=3)
    >>> len(plan.questions)
    3
    """
    check_integer("budget", budget, minimum=1)
    if minutes is not None:
        check_real("minutes", minutes, minimum=0)
    decided = dict(decisions or {})
    for row in decided:
        if not 0 <= row < len(cleaned.candidates):
            raise ParameterError(
                f"Decisions must be about rows 0 to {len(cleaned.candidates) - 1:,}. Got {row:,}."
            )
    candidates, confidences = _with_labels_outside(cleaned)
    truth = _known_labels(cleaned)
    candidates, confidences = _with_known_alone(candidates, confidences, truth)
    confidences = _without_ruled_out(candidates, confidences, decided)
    known = set(candidates.classes.tolist())
    answers = {row: label for row, label in decided.items() if label in known}
    may_ask = np.ones(len(candidates), dtype=bool)
    if cleaned.decision is not None:
        may_ask = np.isin(cleaned.decision.astype(str), _OPEN_DECISIONS)
    may_ask &= ~is_known(truth)
    may_ask[[row for row, each in decided.items() if not isinstance(each, NotThese)]] = False
    candidates, confidences, settled = with_answers(candidates, confidences, answers)
    with one_thread_each():
        plan = plan_answers(
            candidates,
            confidences,
            _features_of(cleaned),
            answers=settled,
            may_ask=may_ask,
            most_rows=2 * budget,
        )
    seconds = plan.times * SECONDS_PER_ANSWER
    fits = np.ones(len(seconds), dtype=bool) if minutes is None else (
        np.cumsum(seconds) <= 60 * minutes + 1e-9
    )  # fmt: skip
    asked = min(budget, int(fits.sum()))
    if len(plan.rows) and not asked:
        raise ParameterError(
            f"'minutes' must leave time for an answer. The first takes about {seconds[0]:.0f} "
            f"seconds, and there are {60 * (minutes or 0):.0f}. Give more."
        )
    removes = plan.by_answers + plan.nearby
    classes = candidates.classes.tolist()
    questions = tuple(
        Question(row, tuple(classes[column] for column in labels), float(errors))
        for row, labels, errors in zip(
            plan.rows[:asked].tolist(), plan.labels[:asked], removes[:asked], strict=True
        )
    )
    changed, foreseen = _changes(cleaned, decided)
    after = plan.by_answers[asked : 2 * asked]
    return QuestionPlan(
        questions,
        float(seconds[:asked].sum()),
        float(plan.doubt.sum()),
        float(plan.by_answers[:asked].sum()),
        float(plan.nearby[:asked].sum()),
        foresee_changes(after, changed=changed, foreseen=foreseen),
        changed,
        foreseen,
    )


def _with_labels_outside(cleaned: CleanedTable) -> tuple[CandidateLabels, FloatArray]:
    """Return sets with the label that each may miss, which has what confidences leave over.

    As a candidate it weighs as much as it is probable. A cleaning may have listed it already.
    """
    candidates, values = cleaned.candidates, cleaned.confidences
    label = cleaned.label_if_missed
    if label is None:
        return candidates, values
    missing = 1 - group_sums(values, candidates.starts)
    missing[(missing < _ROUNDING) | listed_labels(candidates, label)] = 0
    rows = np.flatnonzero((missing > 0) & (label >= 0))
    at = (rows, label[rows])
    shape = candidates.shape
    added = sparse.csr_array((np.ones(len(rows), dtype=bool), at), shape=shape)
    outside = sparse.csr_array((missing[rows], at), shape=shape)
    inside = sparse.csr_array(
        (values, candidates.pairs()[1], np.append(candidates.starts, len(values))), shape=shape
    )
    mask = (candidates.to_sparse().astype(bool) + added).tocsr()
    weights = (candidates.prior() + outside).tocsr()
    widened = CandidateLabels(mask, candidates.classes, weights=weights)
    widened = widened.with_rows_of(candidates)
    return widened, widened.values_of((inside + outside).tocsr()).astype(float)


def _known_labels(cleaned: CleanedTable) -> AnyArray:
    """Return the true label of every row that cleaning has chosen it for; None for the others."""
    if cleaned.truth is None:
        return np.full(len(cleaned.chosen), None)
    truth = texts_of(cleaned.values[cleaned.truth], what="true labels", literal=True)
    # Cells may have been edited since.
    truth[truth != cleaned.candidates.classes[cleaned.chosen]] = None
    return truth


def _with_known_alone(
    candidates: CandidateLabels, confidences: FloatArray, truth: AnyArray
) -> tuple[CandidateLabels, FloatArray]:
    """Return sets without other candidates where the true label is known, so nobody doubts it."""
    if not is_known(truth).any():
        return candidates, confidences
    alone = settle_known(candidates, truth)
    starts = np.append(candidates.starts, len(confidences))
    before = sparse.csr_array((confidences, candidates.pairs()[1], starts), candidates.shape)
    return alone, alone.values_of(before)


def _without_ruled_out(
    candidates: CandidateLabels, confidences: FloatArray, decided: Mapping[int, Decision]
) -> FloatArray:
    """Return confidences without labels that people have said a row does not have."""
    ruled_out = [
        (row, label)
        for row, decision in decided.items()
        if isinstance(decision, NotThese)
        for label in decision.labels
    ]
    if not ruled_out:
        return confidences
    place = {label: column for column, label in enumerate(candidates.classes.tolist())}
    rows, columns = candidates.pairs()
    gone = {(row, place[label]) for row, label in ruled_out if label in place}
    kept = np.array(
        [pair not in gone for pair in zip(rows.tolist(), columns.tolist(), strict=True)]
    )
    left = np.where(kept, confidences, 0)
    sums = group_sums(left, candidates.starts)
    # Where nothing is left, the label is one that the set misses.
    return np.asarray(left / np.repeat(np.where(sums > 0, sums, 1), candidates.sizes))


def _features_of(cleaned: CleanedTable) -> Features | None:
    """Return the features that the labels were learned from, as far as the table holds them."""
    learned = {kind: names for kind, names in cleaned.features.items() if kind not in _NOT_READ}
    names = [name for each in learned.values() for name in each if name in cleaned.values]
    known = bool(cleaned.features)
    if (known and not names) or not len(cleaned.values.columns):
        return None
    reserved = [name for name in (cleaned.id, cleaned.truth) if name is not None]
    present = set(names)
    try:
        plan, values, _ = plan_columns(
            cleaned.values,
            features=names if known else None,
            reserved=() if known else reserved,
            categories=[name for name in learned.get("category", ()) if name in present],
            text=[name for name in learned.get("text", ()) if name in present],
            labels=cleaned.candidates.classes.tolist(),
        )
        transformer = FeatureTransformer.fit(values, plan, scaling="standard")
    except TableError:  # nothing that rows could be compared by
        return None
    return unit_rows(transformer.transform(values))


def _changes(cleaned: CleanedTable, decided: Mapping[int, Decision]) -> tuple[int, float]:
    """Return how many decisions changed the chosen label, and how many were expected to."""
    classes = cleaned.candidates.classes
    doubt = 1 - cleaned.confidence
    changed, foreseen = 0, 0.0
    for row, decision in decided.items():
        chosen = classes[cleaned.chosen[row]]
        if isinstance(decision, str):
            changed += decision != chosen
        elif isinstance(decision, NotThese):
            changed += chosen in decision.labels
        elif decision is Answer.NONE_OF_THESE:
            changed += 1
        else:
            continue
        foreseen += float(doubt[row])
    return changed, foreseen

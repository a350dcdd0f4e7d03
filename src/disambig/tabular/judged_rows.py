"""What models say of rows they have not seen: confidences that are calibrated, sets that may miss.

The walk: folds predict every row; if sets may miss the truth, they are trained again with wider
sets; then confidences are calibrated and sets are judged, by candidate sets or by true labels; at
last rows that come together tell each other what their group promises.
"""

from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

import numpy as np
from sklearn.base import clone

from disambig._core.errors import TableError, warn_caller
from disambig._core.messages import plural
from disambig._core.typing import AnyArray, FloatArray, IntArray, Sparse
from disambig.candidates.checks import known_columns_of
from disambig.candidates.groups import group_numbers
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_sums
from disambig.methods.base import (
    PartialLabelClassifier,
    confidence_from_pairs,
    confidence_from_scores,
    keep_promise,
)
from disambig.methods.misses import Misses, MissSearch, check_miss_rate, describe_misses
from disambig.metrics.without_truth import covering_rate
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.solvers.calibration import Calibration, calibrate_choices, calibrate_predictions
from disambig.tabular.accuracy import clustering
from disambig.tabular.estimate import DoubtfulSet, MissRate, named_sets
from disambig.tabular.fit_queue import FitQueue
from disambig.tabular.labels.settled_sets import take_rows
from disambig.tabular.out_of_fold import Folds, with_prior
from disambig.tabular.task import TableTask
from disambig.tabular.true_labels import is_known, settle_known
from disambig.tabular.work_folder import WorkFolder

Calibrate = Literal["sets", "beliefs", "truth", "none"]
Rate = float | Literal["auto"]
# Fewer checked rows say less about a model than the sets of all rows do.
_FEWEST_CHECKED = 10
# Of the way from blind guessing to a prediction that is always one of the row's labels. A model
# that gets less far cannot tell a set that misses the truth from a row that it does not know.
_LEAST_SKILL = 0.25
# With fewer, a class may have hardly a row to be learned from.
_FEWEST_ROWS_PER_CLASS = 5
# Variance of doubts over groups, over what it would be if rows were doubted one by one. Above,
# whole groups are doubted: a model that has seen none of their rows may just not know them.
_MOST_CLUSTERED = 2.0
# Of a model that answers do not bear out at all.
_LEAST_POWER = 0.05
# Of the rows that a model lists: how many, and what is worth a look.
_MOST_DOUBTFUL = 100
_LEAST_MISS = 0.1


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """What models that have not seen a row say of it."""

    miss_of_given: FloatArray  # that the set as given does not contain the right label
    miss_probability: FloatArray  # the same, 0 where a person has decided
    outside: IntArray  # column of the likeliest label outside the set; -1 where there is none
    outside_confidence: FloatArray  # that this label is right
    misses: MissRate | None  # None where the model knows too little to say


def split_miss_rate(
    method: PartialLabelClassifier, miss_rate: Rate
) -> tuple[PartialLabelClassifier, Rate]:
    """Return a method that believes its sets, and the rate, be it given to one or the other.

    A table has folds of its own: that judges inside of a method have more would cost much and
    tell little.
    """
    if miss_rate != 0:
        check_miss_rate(miss_rate)
    of_method = method.get_params(deep=False).get("miss_rate", 0)
    if of_method == 0:
        return method, miss_rate
    believing: PartialLabelClassifier = clone(method).set_params(miss_rate=0)
    return believing, miss_rate if miss_rate != 0 else of_method


def with_wider_sets(
    task: TableTask,
    method: PartialLabelClassifier,
    miss_rate: Rate,
    *,
    n_folds: int,
    seed: int,
    queue: FitQueue,
    work: WorkFolder | None,
) -> TableTask:
    """Return the task with one more candidate in training sets that may miss the truth.

    Folds are trained and judge each other's rows, three to six times where sets miss the truth.
    """
    search = MissSearch(task.given, miss_rate)
    widened = task
    for round_number in count(1):
        queue.on_fits_start(n_folds)
        folds = Folds(
            widened,
            method,
            n_folds=n_folds,
            seed=seed,
            queue=queue,
            work=work,
            per_network=False,
            round_number=round_number,
        )
        search.take(folds.predictions().probabilities)
        training = take_rows(search.sets, task.edited, task.candidates)
        if task.uses_truth:
            training = settle_known(training, task.truth)
        widened = replace(task, training=training)
        if search.settled:
            break
    return widened


def judge_rows(task: TableTask, probabilities: FloatArray, *, miss_rate: Rate = 0) -> JudgedRows:
    """Judge the set of every row by probabilities of models that were not trained on it."""
    given = task.given
    if task.annotators is not None:
        return _judge_answers(task, task.annotators)
    misses = _misses(given, probabilities, miss_rate)
    of_given = np.zeros(len(given)) if misses is None else misses.probability
    outside = np.full(len(given), -1)
    if misses is not None:
        outside = known_columns_of(misses.label.tolist(), given.classes)
        outside[given.sizes == given.shape[1]] = -1
    outside[task.edited] = -1
    probability = np.where(task.edited, 0.0, of_given)
    return JudgedRows(
        miss_of_given=of_given,
        miss_probability=probability,
        outside=outside,
        # Its share of what is outside, by the model; the rest is spread over other labels.
        outside_confidence=probability * _share_outside(task.candidates, probabilities, outside),
        misses=None if misses is None else MissRate.of(misses),
    )


def _judge_answers(task: TableTask, annotators: AnnotatorModel) -> JudgedRows:
    """Judge sets by annotators who were weighed: labels outside are those they hardly leave."""
    rows = np.arange(len(task.given))
    posterior = np.where(task.given.to_mask(), 0.0, annotators.known.posterior)
    outside = np.where(task.given.sizes == task.given.shape[1], -1, posterior.argmax(axis=1))
    outside[task.edited] = -1
    of_given = posterior.sum(axis=1)
    return JudgedRows(
        miss_of_given=of_given,
        miss_probability=np.where(task.edited, 0.0, of_given),
        outside=outside,
        outside_confidence=np.where(outside >= 0, posterior[rows, outside], 0.0),
        misses=None,
    )


def confidences_in_sets(
    task: TableTask, probabilities: FloatArray, judged: JudgedRows, calibrate: Calibrate
) -> Sparse:
    """Return how sure one can be of every candidate of a row by itself, if its set is right.

    Rows sum to one; ``told_by_groups`` adds what others of the group say. Calibrated on sets as
    they were given. People settle the rows that models doubt: as sets of one, these would tell
    that models doubt single labels, and all others would be made less sure.
    """
    given, candidates = task.given, task.candidates
    if calibrate == "none":
        of_given = with_prior(given, probabilities)
    elif calibrate == "sets" and task.annotators is not None:
        # Answers say more of how far to believe a model than which labels were named.
        of_given = confidence_from_scores(given, task.annotators.known.posterior)
    else:
        truth = true_columns(task) if calibrate == "truth" else None
        shares = calibrate_choices(
            probabilities,
            given,
            miss_probability=judged.miss_of_given,
            truth=truth,
            beliefs=calibrate == "beliefs",
        )
        of_given = confidence_from_pairs(given, shares)
    rows, _ = candidates.pairs()
    inside = np.where(task.decided[rows], 1.0, candidates.values_of(of_given))
    changed = (task.edited & ~task.decided)[rows]
    if changed.any():
        of_changed = _in_changed_sets(task, of_given, probabilities)
        inside = np.where(changed, candidates.values_of(of_changed), inside)
    return confidence_from_pairs(candidates, inside)


def _in_changed_sets(task: TableTask, of_given: Sparse, probabilities: FloatArray) -> Sparse:
    """Return the confidences of rows that a person has taken labels from.

    The candidates that are left share what the others had. Where none is left, the row may have
    any other label, and nothing is known of these but what models say.
    """
    candidates = task.candidates
    left = candidates.values_of(of_given)
    is_new = group_sums(left, candidates.starts) == 0
    rows, _ = candidates.pairs()
    said = candidates.values_of(with_prior(candidates, probabilities))
    return confidence_from_scores(
        candidates, confidence_from_pairs(candidates, np.where(is_new[rows], said, left))
    )


def told_by_groups(
    task: TableTask, confidences: Sparse, judged: JudgedRows, *, truth: AnyArray | None = None
) -> Sparse:
    """Return confidences given what groups promise; a row sums to 1 less its miss probability.

    A row that a person has settled has that label in its group. With ``truth``, so have rows whose
    true label is known, and the confidences are no longer those of a model that has not seen it.
    """
    sets = task.candidates if truth is None else settle_known(task.candidates, truth)
    rows, _ = sets.pairs()
    kept = sets.values_of(keep_promise(sets, confidences))
    return confidence_from_pairs(sets, kept * (1 - judged.miss_probability)[rows])


def calibration_for_new_rows(
    task: TableTask, probabilities: FloatArray, judged: JudgedRows, calibrate: Calibrate
) -> Calibration:
    """Return what makes probabilities of new rows mean what they say."""
    if calibrate == "none":
        return Calibration()
    if calibrate == "sets" and task.annotators is not None:
        # Above zero, so that labels keep their order.
        return Calibration(power=max(_LEAST_POWER, task.annotators.known.prior_power))
    if calibrate != "truth":  # beliefs are about the rows that have them
        return calibrate_predictions(
            probabilities, task.given, miss_probability=judged.miss_of_given
        )
    truth = true_columns(task)
    known, classes = truth >= 0, task.candidates.classes
    labels = CandidateLabels.from_labels(classes[truth[known]], classes=classes)
    return calibrate_predictions(probabilities[known], labels)


def doubtful_sets(task: TableTask, judged: JudgedRows) -> tuple[DoubtfulSet, ...]:
    """Return the rows whose sets most probably miss the right label, the worst first."""
    order = np.argsort(-judged.miss_probability, kind="stable")[:_MOST_DOUBTFUL]
    worst = order[judged.miss_probability[order] >= _LEAST_MISS]
    return tuple(
        DoubtfulSet(
            row=row + 1,
            candidates=labels,
            probability=float(judged.miss_probability[row]),
            label=str(task.candidates.classes[judged.outside[row]]),
        )
        for row, labels in zip(worst.tolist(), named_sets(task.candidates[worst]), strict=True)
    )


def _misses(
    candidates: CandidateLabels, probabilities: FloatArray, miss_rate: Rate
) -> Misses | None:
    """Return the sets that may miss the truth; None if nobody asked and nobody can tell."""
    if miss_rate != 0:
        found = describe_misses(
            probabilities, candidates, None if miss_rate == "auto" else miss_rate
        )
        if miss_rate == "auto" and _come_in_groups(found, candidates):
            warn_caller(
                "The sets that seem to miss the right label come in whole groups. Either these "
                "groups were labelled wrongly, or they are unlike all others, and models trained "
                "on the others cannot tell. Look at some of them before you believe it."
            )
        return found
    if len(candidates) < _FEWEST_ROWS_PER_CLASS * candidates.shape[1]:
        return None
    blind = float(candidates.sizes.mean()) / candidates.shape[1]
    met = covering_rate(candidates, candidates.classes[probabilities.argmax(axis=1)])
    if blind >= 1 or (met - blind) / (1 - blind) < _LEAST_SKILL:
        return None
    found = describe_misses(probabilities, candidates)
    return None if _come_in_groups(found, candidates) else found


def _come_in_groups(misses: Misses, candidates: CandidateLabels) -> bool:
    """Tell whether whole groups are doubted, rather than rows."""
    if candidates.groups is None:
        return False
    doubts = misses.probability - misses.probability.mean()
    groups = group_numbers(candidates.groups, len(doubts))
    return bool(doubts.any()) and clustering(doubts, groups) > _MOST_CLUSTERED


def _share_outside(
    candidates: CandidateLabels, probabilities: FloatArray, outside: IntArray
) -> FloatArray:
    places = np.arange(len(outside))
    of_label = np.where(outside >= 0, probabilities[places, outside], 0.0)
    inside = np.bincount(
        candidates.pairs()[0], weights=candidates.values_of(probabilities), minlength=len(places)
    )
    rest = np.maximum(probabilities.sum(axis=1) - inside, of_label)
    shares: FloatArray = np.divide(of_label, rest, out=np.zeros(len(places)), where=rest > 0)
    return shares


def check_calibration(task: TableTask, calibrate: Calibrate) -> None:
    """Refuse to calibrate on what a table does not have."""
    if calibrate == "truth":
        true_columns(task)
    if calibrate == "beliefs" and (task.given.weights is None or task.annotators is not None):
        raise TableError(
            "Calibrating on beliefs needs labels with weights, as in cat:0.7|dog:0.3. These have "
            f"{'none' if task.annotators is None else 'votes'}. Calibrate on the candidate sets "
            "(--calibrate sets, in Python calibrate='sets')."
        )


def true_columns(task: TableTask) -> IntArray:
    """Return the column of every true label that is known and a class, else -1.

    Refuses a table with too few of them to calibrate on.
    """
    columns = np.full(len(task.candidates), -1)
    if task.truth is not None:
        known = np.flatnonzero(is_known(task.truth))
        columns[known] = known_columns_of(task.truth[known].tolist(), task.candidates.classes)
    n_known = int(((columns >= 0) & (task.candidates.sizes > 1)).sum())
    if n_known < _FEWEST_CHECKED:
        raise TableError(
            f"Calibrating on true labels needs at least {_FEWEST_CHECKED} rows with several "
            f"labels whose true label is known (--truth, in Python truth=). Got "
            f"{plural(n_known, 'row')}. Check more rows, or calibrate on the candidate sets "
            "(--calibrate sets, in Python calibrate='sets')."
        )
    return columns

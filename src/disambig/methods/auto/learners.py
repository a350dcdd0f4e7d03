"""Who learns a table, who judges the learners, and what each of them weighs in the mix."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from disambig._core.typing import Features, FloatArray, IntArray
from disambig.candidates.groups import deal_rows, group_numbers
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.cost import estimate_fit_seconds
from disambig.methods.ncpd_plus.selection import ConfigurationScore, Selection, compare
from disambig.methods.registry import get_method
from disambig.methods.side_by_side import fit_copies, judge_by_others
from disambig.solvers.calibration import Calibration, calibrate_predictions
from disambig.solvers.reduction import Reduction

# Linear, kernel, trees of two kinds, networks.
LEARNERS = ("em", "sure", "forest", "boosting", "ncpd_plus")
# What is taken instead of the first where features are sparse, such as words: as good or better,
# and several times as quick.
LINEAR_OF_WORDS = "clpl"
# The directions of words that trees get: more of them hide the columns beside words, and take long.
_TREES, _DIRECTIONS_OF_TREES = ("forest", "boosting"), 20
# Learners whose time or memory grows too fast: rows, or rows times classes, at the most.
_MOST_ROWS = {"sure": 5_000}
_MOST_NUMBERS = {"boosting": 2_000_000, "forest": 50_000_000}
# So many rows, in whole folds, are enough to weigh learners by.
_ROWS_JUDGED = 1_000
# What would weigh less gains nothing, and costs time.
_SMALLEST_WEIGHT = 0.1
# What judges of NCPD+ cost, in fits: scouts, and five trainings of a quarter of its epochs.
_FITS_OF_NETWORK_JUDGES = 1.5

Learners = dict[str, PartialLabelClassifier]


class Views:
    """Rows as each learner takes them: as they came, or dense.

    Parameters
    ----------
    X : array
        The rows.
    reduction : Reduction, optional
        What makes them dense, where they are sparse and some learners do not take that.
    """

    def __init__(self, X: Features, reduction: Reduction | None) -> None:
        self.X = X
        self._reduction = reduction
        self._dense = None if reduction is None else reduction.apply(X)

    def of(self, name: str) -> Features:
        """Return the rows as a learner takes them."""
        if self._reduction is None or self._dense is None or takes_sparse(name):
            return self.X
        return self._dense[:, : width_of(name, self._reduction)]


def width_of(name: str, reduction: Reduction) -> int:
    """Return how many dense columns a learner gets."""
    n_few = len(reduction.kept) + _DIRECTIONS_OF_TREES
    return min(n_few, reduction.width) if name in _TREES else reduction.width


class Task(NamedTuple):
    """A table to learn."""

    views: Views
    candidates: CandidateLabels
    folds: IntArray  # of the rows that learners are compared on; -1 for the others
    learners: Learners  # not fitted yet


def takes_sparse(name: str) -> bool:
    """Return whether a method learns from sparse features as they are."""
    method = get_method(name)
    return method.accepts_sparse and not method.prefers_dense


def default_learners(
    X: Features, candidates: CandidateLabels, *, class_weight: Any = None
) -> tuple[str, ...]:
    """Return the learners that suit such features.

    Of words alone trees and networks learn less than the others, and take minutes.
    """
    if not sparse.issparse(X):
        return LEARNERS
    takes_all = can_learn(LINEAR_OF_WORDS, candidates, class_weight=class_weight)
    linear = LINEAR_OF_WORDS if takes_all else LEARNERS[0]
    # Standardised numbers are negative in some rows, counts and TF-IDF in none.
    only_words = X.data.min(initial=0) >= 0
    return (linear, LEARNERS[1]) if only_words else (linear, *LEARNERS[1:])


def can_learn(name: str, candidates: CandidateLabels, *, class_weight: Any = None) -> bool:
    """Return whether a method takes such weights, and is not too slow for so many rows."""
    method = get_method(name)
    n_rows, n_classes = candidates.shape
    return (
        (method.uses_row_weights or candidates.row_weights is None)
        and (class_weight is None or "class_weight" in method().get_params(deep=False))
        and n_rows <= _MOST_ROWS.get(name, n_rows)
        and n_rows * n_classes <= _MOST_NUMBERS.get(name, n_rows * n_classes)
    )


def deal_judged_rows(candidates: CandidateLabels, n_folds: int, seed: int) -> IntArray:
    """Return the fold of every row that learners are compared on; -1 for the others.

    All rows of a small table are dealt; of a large one some of the folds are enough. Rows that do
    not count, and none of whose group does, are not compared on.
    """
    n_rows = len(candidates)
    parts = group_numbers(candidates.groups, n_rows)
    weights = candidates.row_weights
    counts = np.isin(parts, parts if weights is None else parts[weights > 0])
    folds = np.full(n_rows, -1)
    n_folds = min(n_folds, len(np.unique(parts[counts])))
    if n_folds < 2:
        return folds
    groups = None if candidates.groups is None else candidates.groups[counts]
    dealt = deal_rows(int(counts.sum()), groups, n_folds, seed)
    n_judged = math.ceil(n_folds * min(1, _ROWS_JUDGED / len(dealt)))
    folds[counts] = np.where(dealt < n_judged, dealt, -1)
    return folds


def seconds_of(task: Task) -> dict[str, float]:
    """Return about how long every learner will take, judging included."""
    return {
        name: estimate_fit_seconds(learner, task.views.of(name), task.candidates)
        * (1 + _fits_of_judges(learner, task.folds))
        for name, learner in task.learners.items()
    }


def _fits_of_judges(learner: PartialLabelClassifier, folds: IntArray) -> float:
    if _judges_itself(learner):
        return 0.0
    return _FITS_OF_NETWORK_JUDGES if _is_mix_of_networks(learner) else float(folds.max() + 1)


def _judges_itself(learner: PartialLabelClassifier) -> bool:
    """Whether a fit leaves behind what models say of rows that they were not trained on."""
    return bool(getattr(learner, "judges_itself", False))


def _is_mix_of_networks(learner: PartialLabelClassifier) -> bool:
    return learner.card.name == "ncpd_plus"


class Mix(NamedTuple):
    """What learners weigh; those of the mix, fitted to all rows; what their probabilities need."""

    selection: Selection
    members: Learners
    calibrations: dict[str, Calibration]


def fit_mixes(tasks: Sequence[Task]) -> list[Mix]:
    """Return for every task the mix of its learners."""
    judged = list(zip(tasks, judge(tasks), strict=True))
    calibrations = [calibrate(task, said) for task, said in judged]
    selections = [
        weigh(
            task,
            {name: of_task[name].apply(p) if name in of_task else p for name, p in said.items()},
        )
        for (task, said), of_task in zip(judged, calibrations, strict=True)
    ]
    for name in _names(tasks):
        to_fit = [
            task
            for task, selection in zip(tasks, selections, strict=True)
            if name in selection.weights and not hasattr(task.learners[name], "held_out_proba_")
        ]
        _fit_to_all_rows(name, to_fit)
    return [
        Mix(
            selection,
            {name: task.learners[name] for name in selection.weights},
            {name: each for name, each in of_task.items() if name in selection.weights},
        )
        for task, selection, of_task in zip(tasks, selections, calibrations, strict=True)
    ]


def calibrate(task: Task, said: Mapping[str, FloatArray]) -> dict[str, Calibration]:
    """Return what makes probabilities comparable, by learner, where features are sparse.

    The linear learner of words gives scores rather than probabilities: as they are, it would weigh
    little in the mix, however right it is.
    """
    if not sparse.issparse(task.views.X):
        return {}
    rows = np.flatnonzero(task.folds >= 0)
    sets = task.candidates[rows]
    return {name: calibrate_predictions(of_all[rows], sets) for name, of_all in said.items()}


def _names(tasks: Sequence[Task]) -> list[str]:
    return list(dict.fromkeys(name for task in tasks for name in task.learners))


def _fit_to_all_rows(name: str, tasks: Sequence[Task]) -> None:
    data = [(task.views.of(name), task.candidates) for task in tasks]
    fit_copies([task.learners[name] for task in tasks], data)


def judge(tasks: Sequence[Task], *, even_alone: bool = False) -> list[dict[str, FloatArray]]:
    """Return for every task, by learner, the probabilities of rows that it was not trained on.

    Where there is one learner there is nothing to compare, and nothing is judged unless wanted.
    """
    said: list[dict[str, FloatArray]] = [{} for _ in tasks]
    fewest = 1 if even_alone else 2
    judged = [
        n for n, task in enumerate(tasks) if len(task.learners) >= fewest and task.folds.max() >= 0
    ]
    for name in _names(tasks):
        numbers = [n for n in judged if name in tasks[n].learners]
        learners = {n: tasks[n].learners[name] for n in numbers}
        if numbers and _judges_itself(learners[numbers[0]]):
            _fit_to_all_rows(name, [tasks[n] for n in numbers])
            for n, learner in learners.items():
                said[n][name] = learner.held_out_proba_
            continue
        for judges in _judges(learners, tasks):
            tables = [
                (judge, tasks[n].views.of(name), tasks[n].candidates, tasks[n].folds)
                for n, judge in judges.items()
            ]
            for n, probabilities in zip(judges, judge_by_others(tables), strict=True):
                said[n][name] = probabilities
    return said


def _judges(
    learners: Mapping[int, PartialLabelClassifier], tasks: Sequence[Task]
) -> Iterator[Mapping[int, PartialLabelClassifier]]:
    """Yield judges by the number of their task, all of one kind together."""
    copies = {n: clone(learner) for n, learner in learners.items()}
    if not copies or not _is_mix_of_networks(next(iter(copies.values()))):
        yield copies
        return
    from disambig.methods.ncpd_plus.members import make_judges  # imports torch

    numbers = list(copies)
    methods = [copies[n].set_params(checkpoint=None) for n in numbers]
    data = [(tasks[n].views.of("ncpd_plus"), tasks[n].candidates) for n in numbers]
    for of_one_kind in make_judges(methods, data).values():
        yield {numbers[place]: judge for place, judge in of_one_kind.items()}


def weigh(task: Task, said: Mapping[str, FloatArray]) -> Selection:
    """Return what every learner weighs, by what it says of the rows that it is judged on."""
    if not said:
        unknown = ConfigurationScore(1.0, math.nan, math.nan, math.nan)
        return Selection({next(iter(task.learners)): unknown})
    rows = np.flatnonzero(task.folds >= 0)
    probabilities = {name: of_all[rows] for name, of_all in said.items()}
    return compare(task.candidates[rows], probabilities, smallest_weight=_SMALLEST_WEIGHT)

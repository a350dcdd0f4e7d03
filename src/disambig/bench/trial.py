"""A method on one split: the data it meets, how its parameters are chosen, its fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from disambig._core.errors import ParameterError
from disambig._core.parameters import spawn_seeds
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.bench.folds import Split, shuffled_folds
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.generate import corrupt_controlled, leave_out_truth
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.long_tail import long_tailed
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.side_by_side import fit_many
from disambig.metrics.with_truth import accuracy
from disambig.metrics.without_truth import approximated_accuracy_scorer, covering_rate_scorer


@dataclass(frozen=True)
class ControlledCorruption:
    """The (p, r) protocol: a share ``p`` of the rows gets ``r`` false labels each.

    Attributes
    ----------
    p : float
        Share of the rows, from 0 to 1.
    r : int
        False labels in each of them.

    See Also
    --------
    cross_validate : Takes it as ``corruption``.
    disambig.candidates.corrupt_controlled : The function behind it.

    Examples
    --------
    >>> from disambig import PLKNN, load_dataset
    >>> from disambig.bench import ControlledCorruption, cross_validate
    >>> folds = cross_validate(
    ...     PLKNN(),
    ...     load_dataset("glass"),
    ...     n_folds=2,
    ...     corruption=ControlledCorruption(p=0.5, r=1),
    ... )
    >>> len(list(folds))
    2
    """

    p: float
    r: int

    def apply(self, labels: AnyArray, classes: AnyArray, seed: int) -> CandidateLabels:
        """Make candidate sets from true labels."""
        return corrupt_controlled(labels, p=self.p, r=self.r, classes=classes, random_state=seed)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a dataset."""

    numbers: IntArray  # which they are
    X: FloatArray
    candidates: CandidateLabels
    true_labels: AnyArray

    def visible_to(self, method: PartialLabelClassifier) -> CandidateLabels:
        """Return what a method is trained on: candidate sets, or the truth for the oracle."""
        if not method.card.reads_true_labels:
            return self.candidates
        known = CandidateLabels.from_labels(self.true_labels, classes=self.candidates.classes)
        # Whatever it holds out is whole groups too; what groups promise, it has no use for.
        return known.with_rows_of(self.candidates).with_groups(self.candidates.groups)


@dataclass(frozen=True, eq=False)
class Trial:
    """A split of a dataset, its sets made, its seeds drawn; the same for every method."""

    train: Rows
    test: Rows  # held out; their candidate sets are for metrics that need no true labels
    method_seed: int
    selection_seed: int  # of the inner folds that parameters are chosen on

    def task(self, method: PartialLabelClassifier) -> tuple[FloatArray, CandidateLabels, int]:
        """Return what ``fit_many`` takes to fit a method to the rows to learn from."""
        return self.train.X, self.train.visible_to(method), self.method_seed


def make_trial(
    dataset: PartialLabelDataset, split: Split, corruption: ControlledCorruption | None = None
) -> Trial:
    """Split a dataset and, if asked, make candidate sets from its true labels.

    Everything follows from the split's seed and the number of its fold, so that all methods meet
    the same data. Where sets have groups, whole groups are held out, and sets that are made keep
    them.
    """
    truth = dataset.true_labels
    if truth is None:
        raise ParameterError(
            f"Evaluation needs true labels, and {dataset.name} has none. For a table, name their "
            "column: load_dataset(path, truth=...)."
        )
    if corruption is not None:
        _check_promise(dataset)
    fold_seed = spawn_seeds(split.seed, split.fold + 1)[split.fold]
    train_seed, method_seed, selection_seed, test_seed = spawn_seeds(fold_seed, 4)

    def take(numbers: IntArray, seed: int) -> Rows:
        candidates, labels = dataset.candidates[numbers], truth[numbers]
        if corruption is not None:
            made = corruption.apply(labels, dataset.candidates.classes, seed)
            candidates = made.with_rows_of(candidates)
        return Rows(numbers, dataset.X[numbers], candidates, labels)

    train, test = split.rows(len(truth), dataset.candidates.groups)
    return Trial(
        train=take(train, train_seed),
        test=take(test, test_seed),
        method_seed=method_seed,
        selection_seed=selection_seed,
    )


def _check_promise(dataset: PartialLabelDataset) -> None:
    """Refuse a promise of sets that are then replaced; "exclusive" is one of true labels."""
    promise = dataset.candidates.promise
    if promise is not None and promise.kind == "cover":
        raise ParameterError(
            "False labels that are drawn at random belong to no row of a group, so groups cannot "
            f"promise 'cover'. {dataset.name} does. Leave the promise out, or the corruption."
        )


def leave_out_of_training(trial: Trial, split: Split, miss: float) -> Trial:
    """Return the trial with the truth left out of a share of its training sets.

    Test rows stay as they are. Apart from ``make_trial``, because the keys of jobs without misses
    must not depend on it.
    """
    fold_seed = spawn_seeds(split.seed, split.fold + 1)[split.fold]
    *_, seed = spawn_seeds(fold_seed, 5)  # make_trial uses the first four
    rows = trial.train
    candidates = leave_out_truth(rows.candidates, rows.true_labels, rate=miss, random_state=seed)
    return replace(trial, train=replace(rows, candidates=candidates))


def thin_out_training(trial: Trial, split: Split, imbalance: float) -> Trial:
    """Return the trial with training rows left out, so that class sizes fall exponentially.

    Test rows stay as they are: a rare class counts as much there as it did. Apart from
    ``make_trial`` for the same reason as ``leave_out_of_training``.
    """
    fold_seed = spawn_seeds(split.seed, split.fold + 1)[split.fold]
    *_, seed = spawn_seeds(fold_seed, 6)  # the fifth is that of misses
    rows = trial.train
    classes = rows.candidates.classes
    kept = long_tailed(rows.true_labels, imbalance=imbalance, classes=classes, random_state=seed)
    thinned = Rows(rows.numbers[kept], rows.X[kept], rows.candidates[kept], rows.true_labels[kept])
    return replace(trial, train=thinned)


# Fitting -----------------------------------------------------------------------------------------

Criterion = Literal["covering_rate", "approximated_accuracy", "oracle"]


@dataclass(frozen=True)
class GridSelection:
    """How one of several combinations of parameters is chosen: by what, on inner held-out rows.

    ``oracle`` looks at their true labels; results chosen so are marked in every table.
    """

    criterion: Criterion = "covering_rate"
    n_folds: int = 5


@dataclass(frozen=True)
class Choice:
    """The chosen parameters, and what every combination scored on average."""

    parameters: dict[str, Any]
    scores: list[tuple[dict[str, Any], float]]


@dataclass(frozen=True, eq=False)
class TrialFit:
    """A classifier fitted to the training rows of a trial; the rest is as in a record."""

    classifier: PartialLabelClassifier
    seconds: dict[str, float] = field(default_factory=dict)
    choice: Choice | None = None
    side_by_side: int = 1
    by_epoch: list[float] | None = None


def fit_together(method: PartialLabelClassifier, trials: Sequence[Trial]) -> list[TrialFit]:
    """Fit a method to several trials, side by side where it can."""
    started = perf_counter()
    classifiers = list(fit_many(method, [trial.task(method) for trial in trials]))
    seconds = {"fit": (perf_counter() - started) / len(trials)}
    return [TrialFit(one, seconds, side_by_side=len(trials)) for one in classifiers]


def fit_alone(
    method: PartialLabelClassifier,
    trial: Trial,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    selection: GridSelection | None = None,
    by_epoch: bool = False,
) -> TrialFit:
    """Choose parameters where there is a grid, then fit, following the epochs if asked."""
    seconds, choice = {}, None
    if grid and selection:
        started = perf_counter()
        choice = choose_parameters(method, grid, trial, selection)
        seconds["choose"] = perf_counter() - started
        method = clone(method).set_params(**choice.parameters)
    if by_epoch:
        # The method is given nothing to stop by, so it can only watch. Of plain labels, its
        # covering rate is the accuracy.
        watched = (trial.test.X, trial.test.true_labels)
        method = clone(method).set_params(validation=watched, early_stopping=None)
    started = perf_counter()
    classifier = next(fit_many(method, [trial.task(method)]))
    seconds["fit"] = perf_counter() - started
    accuracies = classifier.history_["validation_covering_rate"].tolist() if by_epoch else None
    return TrialFit(classifier, seconds, choice, by_epoch=accuracies)


def choose_parameters(
    method: PartialLabelClassifier,
    grid: Mapping[str, Sequence[Any]],
    trial: Trial,
    selection: GridSelection,
) -> Choice:
    """Return the best combination of ``grid``; of equal ones the first."""
    rows, groups = trial.train, trial.train.candidates.groups
    folds = shuffled_folds(len(rows.X), selection.n_folds, trial.selection_seed, groups)
    scores = []
    for parameters in ParameterGrid(dict(grid)):
        candidate = clone(method).set_params(**parameters)
        scores.append((parameters, _inner_score(candidate, trial, folds, selection.criterion)))
    best = max(scores, key=lambda scored: scored[1])
    return Choice(best[0], scores)


def _inner_score(
    method: PartialLabelClassifier,
    trial: Trial,
    folds: Sequence[tuple[IntArray, IntArray]],
    criterion: Criterion,
) -> float:
    rows = trial.train
    visible = rows.visible_to(method)
    tasks = ((rows.X[train], visible[train], trial.method_seed) for train, _ in folds)
    scores = []
    for (_, test), classifier in zip(folds, fit_many(method, tasks), strict=True):
        if criterion == "oracle":
            score = accuracy(rows.true_labels[test], classifier.predict(rows.X[test]))
        else:
            score = _SCORERS[criterion](classifier, rows.X[test], visible[test])
        scores.append(score)
    return float(np.mean(scores))


_SCORERS = {
    "covering_rate": covering_rate_scorer,
    "approximated_accuracy": approximated_accuracy_scorer,
}

"""Choose the parameters of a method on inner folds of the rows it learns from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from disambig._core.typing import AnyArray, Features, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.many import fit_many
from disambig.metrics.scorers import approximated_accuracy_scorer, covering_rate_scorer
from disambig.metrics.supervised import accuracy
from disambig.study.split import shuffled_folds
from disambig.study.trial import Trial

__all__ = ["Choice", "Criterion", "Selection", "choose_parameters"]

Criterion = Literal["covering_rate", "approximated_accuracy", "oracle"]


@dataclass(frozen=True)
class Selection:
    """How one of several combinations of parameters is chosen.

    Attributes
    ----------
    criterion : {"covering_rate", "approximated_accuracy", "oracle"}
        What is compared on the inner held-out rows. ``oracle`` looks at their true labels; results
        chosen so are upper bounds and are marked in every table.
    n_folds : int
        Inner folds.
    """

    criterion: Criterion = "covering_rate"
    n_folds: int = 5


@dataclass(frozen=True)
class Choice:
    """The chosen parameters, and what every combination scored on average."""

    parameters: dict[str, Any]
    scores: list[tuple[dict[str, Any], float]]


def choose_parameters(
    method: PartialLabelClassifier,
    grid: Mapping[str, Sequence[Any]],
    trial: Trial,
    selection: Selection,
) -> Choice:
    """Return the best combination of ``grid``; of equal ones the first."""
    folds = shuffled_folds(len(trial.train.X), selection.n_folds, trial.selection_seed)
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
    scores = [
        _SCORERS[criterion](fitted, rows.X[test], visible[test], rows.true_labels[test])
        for (_, test), fitted in zip(folds, fit_many(method, tasks), strict=True)
    ]
    return float(np.mean(scores))


def _covering_rate(
    fitted: PartialLabelClassifier, X: Features, candidates: CandidateLabels, _: AnyArray
) -> float:
    return covering_rate_scorer(fitted, X, candidates)


def _approximated_accuracy(
    fitted: PartialLabelClassifier, X: Features, candidates: CandidateLabels, _: AnyArray
) -> float:
    return approximated_accuracy_scorer(fitted, X, candidates)


def _oracle(
    fitted: PartialLabelClassifier, X: Features, _: CandidateLabels, true_labels: AnyArray
) -> float:
    return accuracy(true_labels, fitted.predict(X))


_SCORERS = {
    "covering_rate": _covering_rate,
    "approximated_accuracy": _approximated_accuracy,
    "oracle": _oracle,
}

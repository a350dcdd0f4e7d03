"""Cross-validation of one method on one dataset, in memory: a study in one line."""

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from disambig._core.typing import FloatArray
from disambig.bench.trial import ControlledCorruption, FoldScore, Split, Trial, evaluate, make_trial
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.side_by_side import fit_many

__all__ = ["cross_validate", "mean_and_std", "mean_and_std_text"]


def cross_validate(
    method: PartialLabelClassifier,
    dataset: PartialLabelDataset,
    *,
    n_folds: int = 10,
    seed: int = 0,
    corruption: ControlledCorruption | None = None,
) -> Iterator[FoldScore]:
    """Yield the score of every fold, as soon as it is known.

    Everything is fitted on the training rows of a fold. Folds, corruption and the method's own
    seed follow from ``seed`` and the number of the fold alone, so all methods meet the same data.

    Parameters
    ----------
    method : PartialLabelClassifier
        Cloned for every fold.
    dataset : PartialLabelDataset
        With true labels.
    n_folds : int, default=10
        Number of folds.
    seed : int, default=0
        Seed of everything.
    corruption : ControlledCorruption, optional
        Makes candidate sets for the training rows from their true labels. By default the
        dataset's own sets are used.
    """
    in_hand: deque[Trial] = deque()  # made when their turn comes: each holds a copy of its rows

    def tasks() -> Iterator[tuple[FloatArray, CandidateLabels, int]]:
        for fold in range(n_folds):
            trial = make_trial(dataset, Split(seed=seed, fold=fold, n_folds=n_folds), corruption)
            in_hand.append(trial)
            yield trial.task(method)

    for fitted in fit_many(method, tasks()):
        trial = in_hand.popleft()
        yield evaluate(fitted, trial, fitted.predict_proba(trial.test.X))


def mean_and_std(values: Sequence[float] | FloatArray) -> tuple[float, float]:
    """Return the mean over folds and the sample standard deviation."""
    return float(np.mean(values)), float(np.std(values, ddof=1))


def mean_and_std_text(values: Sequence[float]) -> str:
    """Return mean and standard deviation as tables show them."""
    mean, std = mean_and_std(values)
    return f"{mean:.3f} ± {std:.3f}"

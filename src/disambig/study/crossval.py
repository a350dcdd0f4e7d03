"""Cross-validation of one method on one dataset, judged on true labels of held-out rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.seeding import spawn_seeds
from disambig._core.typing import AnyArray, IntArray
from disambig.candidates.generate import corrupt_controlled
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.dataset import PartialLabelDataset
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.many import fit_many
from disambig.metrics.supervised import accuracy, transductive_accuracy
from disambig.study.folds import shuffled_folds

__all__ = [
    "ControlledCorruption",
    "FoldScore",
    "cross_validate",
    "mean_and_std",
    "mean_and_std_text",
]


@dataclass(frozen=True)
class ControlledCorruption:
    """The (p, r) protocol: a share ``p`` of the training rows gets ``r`` false labels each."""

    p: float
    r: int

    def apply(self, labels: AnyArray, classes: AnyArray, seed: int) -> CandidateLabels:
        """Make candidate sets from true labels."""
        return corrupt_controlled(labels, p=self.p, r=self.r, classes=classes, random_state=seed)


@dataclass(frozen=True)
class FoldScore:
    """How a method did on one fold.

    Attributes
    ----------
    accuracy : float
        On the held-out rows, against their true labels.
    transductive_accuracy : float
        Share of the training rows whose true label was chosen among the candidates.
    """

    accuracy: float
    transductive_accuracy: float


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
    truth = dataset.true_labels
    if truth is None:
        raise ParameterError(
            f"Evaluation needs true labels, and {dataset.name} has none. For a table, name their "
            "column: load_dataset(path, truth=...)."
        )
    folds = _folds(dataset, truth, n_folds, seed, corruption)
    reads_truth = method.card.reads_true_labels
    tasks = ((dataset.X[fold.train], fold.visible(reads_truth), fold.seed) for fold in folds)
    for fold, fitted in zip(folds, fit_many(method, tasks), strict=True):
        yield FoldScore(
            accuracy=accuracy(truth[fold.test], fitted.predict(dataset.X[fold.test])),
            transductive_accuracy=transductive_accuracy(
                truth[fold.train], fold.candidates, fitted.candidate_confidence_
            ),
        )


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean over folds and the sample standard deviation."""
    return float(np.mean(values)), float(np.std(values, ddof=1))


def mean_and_std_text(values: Sequence[float]) -> str:
    """Return mean and standard deviation as tables show them."""
    mean, std = mean_and_std(values)
    return f"{mean:.3f} ± {std:.3f}"


@dataclass(frozen=True)
class _Fold:
    train: IntArray
    test: IntArray
    candidates: CandidateLabels
    train_labels: AnyArray
    seed: int

    def visible(self, reads_truth: bool) -> CandidateLabels:
        """Return what a method is trained on: candidate sets, or the truth for a ceiling."""
        if not reads_truth:
            return self.candidates
        return CandidateLabels.from_labels(self.train_labels, classes=self.candidates.classes)


def _folds(
    dataset: PartialLabelDataset,
    truth: AnyArray,
    n_folds: int,
    seed: int,
    corruption: ControlledCorruption | None,
) -> list[_Fold]:
    classes = dataset.candidates.classes
    splits = shuffled_folds(len(truth), n_folds, seed)
    folds = []
    for (train, test), fold_seed in zip(splits, spawn_seeds(seed, n_folds), strict=True):
        corruption_seed, method_seed = spawn_seeds(fold_seed, 2)
        candidates = dataset.candidates[train]
        if corruption is not None:
            candidates = corruption.apply(truth[train], classes, corruption_seed)
        folds.append(_Fold(train, test, candidates, truth[train], method_seed))
    return folds

"""What one method meets on one split: rows to learn from, rows to be judged on, seeds."""

from dataclasses import dataclass

from disambig._core.errors import ParameterError
from disambig._core.seeding import spawn_seeds
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.candidates.generate import corrupt_controlled
from disambig.candidates.labels import CandidateLabels
from disambig.datasets.dataset import PartialLabelDataset
from disambig.methods.base import PartialLabelClassifier
from disambig.study.split import Split

__all__ = ["ControlledCorruption", "Rows", "Trial", "make_trial"]


@dataclass(frozen=True)
class ControlledCorruption:
    """The (p, r) protocol: a share ``p`` of the rows gets ``r`` false labels each."""

    p: float
    r: int

    def apply(self, labels: AnyArray, classes: AnyArray, seed: int) -> CandidateLabels:
        """Make candidate sets from true labels."""
        return corrupt_controlled(labels, p=self.p, r=self.r, classes=classes, random_state=seed)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a dataset.

    Attributes
    ----------
    numbers : ndarray of int
        Which rows of the dataset they are.
    X, candidates, true_labels
        Their features, candidate sets and true labels.
    """

    numbers: IntArray
    X: FloatArray
    candidates: CandidateLabels
    true_labels: AnyArray

    def visible_to(self, method: PartialLabelClassifier) -> CandidateLabels:
        """Return what a method is trained on: candidate sets, or the truth for a ceiling."""
        if not method.card.reads_true_labels:
            return self.candidates
        return CandidateLabels.from_labels(self.true_labels, classes=self.candidates.classes)


@dataclass(frozen=True, eq=False)
class Trial:
    """A split of a dataset, its sets made, its seeds drawn; the same for every method.

    Attributes
    ----------
    train : Rows
        To learn from.
    test : Rows
        Held out. Their candidate sets are for metrics that need no true labels.
    method_seed, selection_seed : int
        For the method's own randomness, and for the inner folds that choose its parameters.
    """

    train: Rows
    test: Rows
    method_seed: int
    selection_seed: int

    def task(self, method: PartialLabelClassifier) -> tuple[FloatArray, CandidateLabels, int]:
        """Return what ``fit_many`` takes to fit a method to the rows to learn from."""
        return self.train.X, self.train.visible_to(method), self.method_seed


def make_trial(
    dataset: PartialLabelDataset, split: Split, corruption: ControlledCorruption | None = None
) -> Trial:
    """Split a dataset and, if asked, make candidate sets from its true labels.

    Everything follows from the split's seed and the number of its fold, so that all methods meet
    the same data.
    """
    truth = dataset.true_labels
    if truth is None:
        raise ParameterError(
            f"Evaluation needs true labels, and {dataset.name} has none. For a table, name their "
            "column: load_dataset(path, truth=...)."
        )
    fold_seed = spawn_seeds(split.seed, split.fold + 1)[split.fold]
    train_seed, method_seed, selection_seed, test_seed = spawn_seeds(fold_seed, 4)

    def take(numbers: IntArray, seed: int) -> Rows:
        candidates, labels = dataset.candidates[numbers], truth[numbers]
        if corruption is not None:
            candidates = corruption.apply(labels, dataset.candidates.classes, seed)
        return Rows(numbers, dataset.X[numbers], candidates, labels)

    train, test = split.rows(len(truth))
    return Trial(
        train=take(train, train_seed),
        test=take(test, test_seed),
        method_seed=method_seed,
        selection_seed=selection_seed,
    )

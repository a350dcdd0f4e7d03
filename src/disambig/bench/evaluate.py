"""Every metric, from what is kept of a fitted method; cross-validation in memory."""

import io
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Self

import numpy as np

from disambig._core.errors import RecordError
from disambig._core.fingerprint import code_fingerprint
from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.bench.folds import Split
from disambig.bench.trial import (
    ControlledCorruption,
    Trial,
    leave_out_of_training,
    make_trial,
)
from disambig.candidates.checks import columns_of
from disambig.candidates.dataset import PartialLabelDataset
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.side_by_side import fit_many
from disambig.metrics.registry import METRICS, Outcome


@dataclass(frozen=True, eq=False)
class Predictions:
    """What is kept of a fitted method: all that metrics are computed from.

    Classes go by their columns, which ``classes`` names.
    """

    rows: IntArray  # of the dataset that were held out
    probabilities: FloatArray  # of the held-out rows, in single precision
    predicted: IntArray  # the most probable class, before probabilities were rounded
    disambiguated: IntArray  # the most confident candidate of every training row
    classes: AnyArray  # as strings

    @classmethod
    def from_classifier(
        cls, classifier: PartialLabelClassifier, trial: Trial, probabilities: FloatArray
    ) -> Self:
        """Keep what a classifier makes of a trial, given its probabilities for the test rows."""
        chosen = trial.train.candidates.choose(classifier.candidate_confidence_)
        return cls(
            rows=trial.test.numbers.astype(np.int32),
            probabilities=probabilities.astype(np.float32),
            predicted=probabilities.argmax(axis=1).astype(np.int32),
            disambiguated=columns_of(chosen, classifier.classes_).astype(np.int32),
            classes=_names(classifier.classes_),
        )

    def to_bytes(self) -> bytes:
        """Return them as a compressed NumPy archive."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **vars(self))
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read them back; nothing is unpickled."""
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if set(arrays) != {field.name for field in fields(cls)}:
            raise RecordError(
                "An earlier version of disambig kept only the most probable class. Run the study "
                "again."
            )
        return cls(**arrays)


def _names(classes: AnyArray) -> AnyArray:
    # As strings: an array of objects could only be pickled.
    return np.array([str(name) for name in classes.tolist()])


def outcome_of(predictions: Predictions, trial: Trial) -> Outcome:
    """Return what metrics are computed from; refuse a trial of other rows or classes."""
    classes = trial.test.candidates.classes
    if (
        not np.array_equal(predictions.rows, trial.test.numbers)
        or len(predictions.disambiguated) != len(trial.train.numbers)
        or not np.array_equal(predictions.classes, _names(classes))
    ):
        raise RecordError(
            "The kept rows or classes are not those of the split. Run the study again."
        )
    return Outcome(
        true_labels=trial.test.true_labels,
        candidates=trial.test.candidates,
        predicted=classes[predictions.predicted],
        probabilities=predictions.probabilities,
        classes=classes,
        train_labels=trial.train.true_labels,
        train_candidates=trial.train.candidates,
        disambiguated=classes[predictions.disambiguated],
    )


def compute_metrics(trial: Trial, predictions: Predictions) -> dict[str, float]:
    """Return every metric by its name."""
    outcome = outcome_of(predictions, trial)
    return {name: metric.compute(outcome) for name, metric in METRICS.items()}


def metric_code(name: str) -> str:
    """Return a hash of the code that computes a metric."""
    return code_fingerprint(METRICS[name].compute, outcome_of)[:16]


# Cross-validation --------------------------------------------------------------------------------


class FoldScore(SimpleNamespace):
    """The scores of a method on one fold: an attribute for every metric in ``METRICS``.

    Attributes
    ----------
    accuracy : float
        Accuracy on the held-out rows.
    transductive_accuracy : float
        Share of the training rows whose true label was chosen among the candidates.
    covering_rate, approximated_accuracy : float
        Measured on the candidate sets of the held-out rows, without true labels.
    brier_score, expected_calibration_error : float
        How well the probabilities of the held-out rows are calibrated; lower is better.

    See Also
    --------
    cross_validate : Yields one for every fold.
    mean_and_std : Mean and standard deviation over folds.

    Examples
    --------
    >>> from disambig import PLKNN
    >>> from disambig.bench import cross_validate
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(60, 4, 3, overlap=0.1, random_state=0)
    >>> score = next(cross_validate(PLKNN(), data, n_folds=3))
    >>> score.accuracy, score.covering_rate
    (1.0, 1.0)
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> float: ...


def cross_validate(
    method: PartialLabelClassifier,
    dataset: PartialLabelDataset,
    *,
    n_folds: int = 10,
    seed: int = 0,
    corruption: ControlledCorruption | None = None,
    miss: float = 0.0,
) -> Iterator[FoldScore]:
    """Yield the scores of every fold, as soon as they are known.

    Everything is fitted on the training rows of a fold. Folds, corruption and the method's seed
    depend only on ``seed`` and the number of the fold, so all methods get the same data. Where the
    candidate sets have groups, whole groups are held out.

    Parameters
    ----------
    method : PartialLabelClassifier
        Cloned for every fold.
    dataset : PartialLabelDataset
        A dataset with true labels.
    n_folds : int, default=10
        Number of folds.
    seed : int, default=0
        Random seed.
    corruption : ControlledCorruption, optional
        Makes candidate sets for the training rows from their true labels. By default the
        candidate sets of the dataset are used. Made sets keep the groups of the dataset, which
        must not promise "cover" then: false labels belong to no row.
    miss : float, default=0.0
        Share of the training sets, made or the dataset's, that the truth is left out of.

    See Also
    --------
    run_study : Many methods on many datasets, with records.
    mean_and_std : Mean and standard deviation over folds.

    Examples
    --------
    >>> from disambig import PLKNN
    >>> from disambig.bench import cross_validate
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(60, 4, 3, overlap=0.1, random_state=0)
    >>> [score.accuracy for score in cross_validate(PLKNN(), data, n_folds=3)]
    [1.0, 1.0, 1.0]
    """
    started: deque[Trial] = deque()  # made when their turn comes: each holds a copy of its rows

    def tasks() -> Iterator[tuple[FloatArray, CandidateLabels, int]]:
        for fold in range(n_folds):
            split = Split(seed=seed, fold=fold, n_folds=n_folds)
            trial = make_trial(dataset, split, corruption)
            if miss:
                trial = leave_out_of_training(trial, split, miss)
            started.append(trial)
            yield trial.task(method)

    for classifier in fit_many(method, tasks()):
        trial = started.popleft()
        probabilities = classifier.predict_proba(trial.test.X)
        predictions = Predictions.from_classifier(classifier, trial, probabilities)
        yield FoldScore(**compute_metrics(trial, predictions))


def mean_and_std(values: Sequence[float] | FloatArray) -> tuple[float, float]:
    """Return the mean over folds and the sample standard deviation.

    Parameters
    ----------
    values : sequence of float
        One value for every fold.

    See Also
    --------
    mean_and_std_text : The same as a string.

    Examples
    --------
    >>> from disambig.bench import mean_and_std
    >>> mean_and_std([0.5, 0.75, 1.0])
    (0.75, 0.25)
    """
    return float(np.mean(values)), float(np.std(values, ddof=1))

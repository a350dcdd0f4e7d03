"""The metrics that studies compute: from what, and how reports show them."""

from collections.abc import Callable
from dataclasses import dataclass

from disambig._core.typing import AnyArray, FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.metrics.with_truth import accuracy, brier_score, expected_calibration_error
from disambig.metrics.without_truth import approximated_accuracy, covering_rate


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a fitted method predicted for held-out and training rows, and the truth about them.

    Attributes
    ----------
    true_labels : ndarray of labels
        True labels of the held-out rows.
    candidates : CandidateLabels
        Candidate sets of the held-out rows.
    predicted : ndarray of labels
        The most probable class of every held-out row.
    probabilities : ndarray of shape (n_samples, n_classes)
        Class probabilities of the held-out rows.
    classes : ndarray
        Names of the columns of ``probabilities``.
    train_labels : ndarray of labels
        True labels of the training rows.
    train_candidates : CandidateLabels
        Candidate sets of the training rows.
    disambiguated : ndarray of labels
        The most confident candidate of every training row.

    See Also
    --------
    Metric : Is computed from it.

    Examples
    --------
    >>> from disambig import PLKNN
    >>> from disambig.datasets import make_partial_label_dataset
    >>> from disambig.metrics import METRICS, Outcome
    >>> data = make_partial_label_dataset(60, 4, 3, overlap=0.1, random_state=0)
    >>> model = PLKNN().fit(data.X[:40], data.candidates[:40])
    >>> outcome = Outcome(
    ...     true_labels=data.true_labels[40:],
    ...     candidates=data.candidates[40:],
    ...     predicted=model.predict(data.X[40:]),
    ...     probabilities=model.predict_proba(data.X[40:]),
    ...     classes=model.classes_,
    ...     train_labels=data.true_labels[:40],
    ...     train_candidates=data.candidates[:40],
    ...     disambiguated=model.disambiguate(),
    ... )
    >>> METRICS["accuracy"].compute(outcome)
    1.0
    """

    true_labels: AnyArray
    candidates: CandidateLabels
    predicted: AnyArray
    probabilities: FloatArray
    classes: AnyArray
    train_labels: AnyArray
    train_candidates: CandidateLabels
    disambiguated: AnyArray


@dataclass(frozen=True)
class Metric:
    """How one metric is computed from an outcome, and how reports show it.

    Attributes
    ----------
    compute : callable
        Takes an ``Outcome`` and returns a number. A function at the top level of its module, so
        that its code can be told from that of other metrics.
    title : str
        What reports call it.
    lower_is_better : bool, default=False
        Whether small values are good.

    See Also
    --------
    Outcome : What it is computed from.

    Examples
    --------
    >>> from disambig.metrics import METRICS
    >>> METRICS["brier_score"].title, METRICS["brier_score"].lower_is_better
    ('Brier score', True)
    """

    compute: Callable[[Outcome], float]
    title: str
    lower_is_better: bool = False


def _accuracy(outcome: Outcome) -> float:
    return accuracy(outcome.true_labels, outcome.predicted)


def _transductive_accuracy(outcome: Outcome) -> float:
    return accuracy(outcome.train_labels, outcome.disambiguated)


def _covering_rate(outcome: Outcome) -> float:
    return covering_rate(outcome.candidates, outcome.predicted)


def _approximated_accuracy(outcome: Outcome) -> float:
    return approximated_accuracy(outcome.candidates, outcome.probabilities, classes=outcome.classes)


def _brier_score(outcome: Outcome) -> float:
    return brier_score(outcome.true_labels, outcome.probabilities, outcome.classes)


def _expected_calibration_error(outcome: Outcome) -> float:
    return expected_calibration_error(outcome.true_labels, outcome.probabilities, outcome.classes)


#: Every metric that studies compute, by name. One that is added here is known everywhere.
METRICS = {
    "accuracy": Metric(_accuracy, "accuracy"),
    "transductive_accuracy": Metric(_transductive_accuracy, "transductive accuracy"),
    "covering_rate": Metric(_covering_rate, "covering rate"),
    "approximated_accuracy": Metric(_approximated_accuracy, "approximated accuracy"),
    "brier_score": Metric(_brier_score, "Brier score", lower_is_better=True),
    "expected_calibration_error": Metric(
        _expected_calibration_error, "expected calibration error", lower_is_better=True
    ),
}


def direction(metric: str) -> int:
    """Return 1 where more is better, -1 where less is."""
    return -1 if METRICS[metric].lower_is_better else 1


def metric_title(metric: str) -> str:
    """Return the name of a metric as people write it."""
    return METRICS[metric].title

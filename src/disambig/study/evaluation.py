"""Judge a fitted method on the rows that were held out."""

from dataclasses import dataclass, fields

from disambig._core.typing import FloatArray
from disambig.methods.base import PartialLabelClassifier
from disambig.metrics.calibration import brier_score, expected_calibration_error
from disambig.metrics.label_free import approximated_accuracy, covering_rate
from disambig.metrics.supervised import accuracy, transductive_accuracy
from disambig.study.trial import Trial

__all__ = ["METRICS", "FoldScore", "evaluate"]


@dataclass(frozen=True)
class FoldScore:
    """How a method did on one fold.

    Attributes
    ----------
    accuracy : float
        On the held-out rows, against their true labels.
    transductive_accuracy : float
        Share of the training rows whose true label was chosen among the candidates.
    covering_rate, approximated_accuracy : float
        On the candidate sets of the held-out rows: what can be known without true labels.
    brier_score, expected_calibration_error : float
        How far the probabilities of the held-out rows can be believed; small is good.
    """

    accuracy: float
    transductive_accuracy: float
    covering_rate: float
    approximated_accuracy: float
    brier_score: float
    expected_calibration_error: float


#: Names of all metrics, in the order of ``FoldScore``.
METRICS = tuple(field.name for field in fields(FoldScore))


def evaluate(fitted: PartialLabelClassifier, trial: Trial, probabilities: FloatArray) -> FoldScore:
    """Return every metric of a fitted method, given its probabilities for the held-out rows."""
    classes, truth = fitted.classes_, trial.test.true_labels
    predicted = classes[probabilities.argmax(axis=1)]
    return FoldScore(
        accuracy=accuracy(truth, predicted),
        transductive_accuracy=transductive_accuracy(
            trial.train.true_labels, trial.train.candidates, fitted.candidate_confidence_
        ),
        covering_rate=covering_rate(trial.test.candidates, predicted),
        approximated_accuracy=approximated_accuracy(
            trial.test.candidates, probabilities, classes=classes
        ),
        brier_score=brier_score(truth, probabilities, classes),
        expected_calibration_error=expected_calibration_error(truth, probabilities, classes),
    )

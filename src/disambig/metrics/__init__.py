"""Pure functions that judge predictions, with and without true labels."""

from disambig.metrics.calibration import brier_score, expected_calibration_error
from disambig.metrics.label_free import approximated_accuracy, covering_rate
from disambig.metrics.scorers import approximated_accuracy_scorer, covering_rate_scorer
from disambig.metrics.supervised import accuracy, per_class_recall, transductive_accuracy

__all__ = [
    "accuracy",
    "approximated_accuracy",
    "approximated_accuracy_scorer",
    "brier_score",
    "covering_rate",
    "covering_rate_scorer",
    "expected_calibration_error",
    "per_class_recall",
    "transductive_accuracy",
]

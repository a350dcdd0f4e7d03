"""Label-free metrics as scikit-learn scorers, for the ``scoring`` of a grid search."""

from typing import Any

from disambig.metrics.label_free import approximated_accuracy, covering_rate

__all__ = ["approximated_accuracy_scorer", "covering_rate_scorer"]


def covering_rate_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score by the share of predictions inside the candidate sets ``y``."""
    return covering_rate(y, estimator.predict(X), classes=estimator.classes_)


def approximated_accuracy_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Score by the share of the candidates' probability that the predictions hold."""
    return approximated_accuracy(y, estimator.predict_proba(X), classes=estimator.classes_)

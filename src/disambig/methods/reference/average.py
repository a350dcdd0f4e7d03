"""Average: a floor, a classifier trained on every candidate as if it were right."""

from typing import Any, ClassVar

from sklearn.utils.validation import has_fit_parameter

from disambig._core.errors import ParameterError
from disambig._core.typing import Features, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.card import MethodCard
from disambig.methods.confidence import confidence_from_scores
from disambig.methods.reference.supervised import SupervisedReference

__all__ = ["AverageClassifier"]


class AverageClassifier(SupervisedReference):
    """Train on every candidate of every row, weighted to one per row: no disambiguation at all.

    Parameters
    ----------
    estimator : classifier, default=None
        An ordinary classifier with ``predict_proba`` whose ``fit`` takes ``sample_weight``;
        logistic regression by default.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba``.
    candidate_confidence_ : sparse array of shape (n_samples, n_classes)
        What the classifier predicts for every training row, restricted to its candidates.
    n_features_in_ : int
        Number of features seen in ``fit``.
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="average", title="Trained on every candidate of every row", role="floor"
    )

    def __init__(self, *, estimator: Any = None, scaling: Any = "standard") -> None:
        self.estimator = estimator
        self.scaling = scaling

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.estimator is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ParameterError(
                "'estimator' must take 'sample_weight' in fit, to weigh the candidates of a row. "
                f"Got {self.estimator!r} instead."
            )

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._train(X, *candidates.pairs(), sample_weight=candidates.prior().data)
        return confidence_from_scores(candidates, self._predict_proba(X))

"""Average: a floor, a classifier to which every candidate is equally right."""

from typing import Any, ClassVar

from disambig.candidates.labels import CandidateLabels
from disambig.methods.card import MethodCard
from disambig.methods.reference.supervised import LabelledRows, SupervisedReference

__all__ = ["AverageClassifier"]


class AverageClassifier(SupervisedReference):
    """Train on every candidate of every row, weighted to one per row: no disambiguation at all.

    Parameters
    ----------
    estimator : classifier, default=None
        An ordinary classifier with ``predict_proba`` whose ``fit`` takes ``sample_weight``;
        logistic regression by default.
    scaling : {"standard", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba``.
    candidate_confidence_ : sparse array of shape (n_samples, n_classes)
        The weights of the candidates, or equal shares.
    n_features_in_ : int
        Number of features seen in ``fit``.
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="average", title="Every candidate counts as equally right", role="floor"
    )

    def __init__(self, *, estimator: Any = None, scaling: Any = "standard") -> None:
        self.estimator = estimator
        self.scaling = scaling

    def _labelled_rows(self, candidates: CandidateLabels) -> LabelledRows:
        return LabelledRows(*candidates.pairs(), weights=candidates.prior().data)

"""Oracle: the ceiling, a classifier trained on the true labels."""

from typing import Any, ClassVar

from disambig._core.errors import CandidateError, describe_rows
from disambig._core.typing import Features, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.card import MethodCard
from disambig.methods.reference.supervised import SupervisedReference, certain

__all__ = ["OracleClassifier"]


class OracleClassifier(SupervisedReference):
    """Train on the true labels: the ceiling of a table, not a method.

    Parameters
    ----------
    estimator : classifier, default=None
        An ordinary classifier with ``predict_proba``; logistic regression by default.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba``.
    candidate_confidence_ : sparse array of shape (n_samples, n_classes)
        One for the label of every training row.
    n_features_in_ : int
        Number of features seen in ``fit``.
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="oracle", title="Trained on the true labels", role="ceiling"
    )

    def __init__(self, *, estimator: Any = None, scaling: Any = "standard") -> None:
        self.estimator = estimator
        self.scaling = scaling

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        ambiguous = candidates.sizes > 1
        if ambiguous.any():
            raise CandidateError(
                "The oracle is trained on true labels, one for every sample. Got more than one "
                f"candidate for {describe_rows(ambiguous)}. Give it the true labels as y."
            )
        rows, columns = candidates.pairs()
        self._train(X, rows, columns)
        return certain(columns, len(candidates.classes))

"""What the references share: an ordinary classifier trained on (row, label, weight) triples."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from disambig._core.errors import ParameterError
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.scaling import check_scaling, fit_scaler

__all__ = ["LabelledRows", "SupervisedReference"]


class LabelledRows(NamedTuple):
    """Training data for an ordinary classifier: a row may stand here more than once.

    The weights of a row sum to one; they are its confidences.
    """

    rows: IntArray
    columns: IntArray
    weights: FloatArray | None = None


class SupervisedReference(PartialLabelClassifier):
    """Train an ordinary classifier on labels that a subclass takes from the candidate sets."""

    accepts_sparse = True
    estimator: Any
    scaling: Any

    def _check_parameters(self) -> None:
        check_scaling(self.scaling)
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise ParameterError(
                "'estimator' must be a classifier with predict_proba. "
                f"Got {self.estimator!r} instead."
            )

    @abstractmethod
    def _labelled_rows(self, candidates: CandidateLabels) -> LabelledRows:
        """Choose what the classifier is trained on."""

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        labelled = self._labelled_rows(candidates)
        rows = self._scaler.transform(X)[labelled.rows]
        self._model = self._new_model(np.unique(labelled.columns).size)
        if labelled.weights is None:
            self._model.fit(rows, labelled.columns)
            confidence = np.ones(len(labelled.rows))
        else:
            # Not every classifier takes weights, and not every reference needs them.
            self._model.fit(rows, labelled.columns, sample_weight=labelled.weights)
            confidence = labelled.weights
        places = (labelled.rows, labelled.columns)
        return sparse.csr_array((confidence, places), shape=candidates.shape)

    def _new_model(self, n_labels: int) -> Any:
        if n_labels == 1:
            return DummyClassifier(strategy="most_frequent")
        return (
            LogisticRegression(max_iter=1000) if self.estimator is None else clone(self.estimator)
        )

    def _predict_proba(self, X: Features) -> FloatArray:
        probabilities = np.zeros((X.shape[0], len(self.classes_)))
        # The model knows only the columns it has seen.
        probabilities[:, self._model.classes_] = self._model.predict_proba(
            self._scaler.transform(X)
        )
        return probabilities

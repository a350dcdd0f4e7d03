"""What the references share: an ordinary classifier trained on rows and labels they choose."""

import inspect
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from disambig._core.errors import ParameterError
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler

__all__ = ["SupervisedReference", "certain"]


class SupervisedReference(PartialLabelClassifier):
    """An ordinary classifier; the subclass says in ``_fit`` what it is trained on."""

    accepts_sparse = True
    estimator: Any
    scaling: Any

    def _check_parameters(self) -> None:
        check_scaling(self.scaling)
        is_classifier = hasattr(self.estimator, "predict_proba")
        if self.estimator is not None and (inspect.isclass(self.estimator) or not is_classifier):
            raise ParameterError(
                "'estimator' must be an instance of a classifier with predict_proba. "
                f"Got {self.estimator!r} instead."
            )

    def _train(self, X: Features, rows: IntArray, columns: IntArray, **weights: FloatArray) -> None:
        """Train on the labels ``columns`` of ``rows``; a row may stand there more than once."""
        self._scaler = fit_scaler(self.scaling, X)
        self._model = self._new_model(np.unique(columns).size)
        self._model.fit(apply_scaler(self._scaler, X)[rows], columns, **weights)

    def _new_model(self, n_labels: int) -> Any:
        if n_labels == 1:
            return DummyClassifier(strategy="most_frequent")
        if self.estimator is None:
            return LogisticRegression(max_iter=1000)
        return clone(self.estimator)

    def _predict_proba(self, X: Features) -> FloatArray:
        probabilities = np.zeros((X.shape[0], len(self.classes_)))
        # The model knows only the columns it has seen.
        probabilities[:, self._model.classes_] = self._model.predict_proba(
            apply_scaler(self._scaler, X)
        )
        return probabilities


def certain(columns: IntArray, n_classes: int) -> Sparse:
    """Return confidences of one for the given column of every row."""
    rows = np.arange(len(columns))
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(rows), n_classes))

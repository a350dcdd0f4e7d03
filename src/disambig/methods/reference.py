"""Baselines for scale: logistic regression on true labels, and on labels taken as they come."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError, describe_rows
from disambig._core.parameters import RandomState, make_generator
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import MethodCard, PartialLabelClassifier, confidence_from_scores
from disambig.methods.class_weights import ClassWeight, check_class_weight, weights_of_classes
from disambig.methods.ordinary import OrdinaryModel, check_estimator, refuse_to_save
from disambig.methods.row_weights import RowWeightsMixin
from disambig.methods.saving import SCALER, Learned, array, integers, part
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler


class SupervisedReference(RowWeightsMixin, PartialLabelClassifier):
    """An ordinary classifier; the subclass says in ``_fit`` what it is trained on."""

    accepts_sparse = True
    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "_model": part(
            OrdinaryModel.from_arrays,
            coef_=array("scores", "features"),
            intercept_=array("scores"),
            classes_=integers("labels"),
        ),
    }

    def __init__(self, *, estimator: Any = None, scaling: Any = "standard") -> None:
        self.estimator = estimator
        self.scaling = scaling

    def _check_parameters(self) -> None:
        check_scaling(self.scaling)
        check_estimator(self.estimator)

    def _train(
        self,
        X: Features,
        candidates: CandidateLabels,
        rows: IntArray,
        columns: IntArray,
        weights: FloatArray | None = None,
    ) -> None:
        """Train on the labels ``columns`` of ``rows``; a row may stand there more than once.

        ``weights`` say how much each of these pairs counts, beside the weights of rows.
        """
        of_rows = candidates.row_weights
        self._scaler = fit_scaler(self.scaling, X, of_rows)
        if of_rows is not None:
            weights = of_rows[rows] if weights is None else weights * of_rows[rows]
        scaled = apply_scaler(self._scaler, X)
        self._model = OrdinaryModel.train(self.estimator, scaled, rows, columns, weights)

    def _predict_proba(self, X: Features) -> FloatArray:
        return self._model.probabilities(apply_scaler(self._scaler, X), len(self.classes_))

    def _to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        refuse_to_save(type(self).__name__, self.estimator)
        return super()._to_arrays()


def certain(columns: IntArray, n_classes: int) -> Sparse:
    """Return confidences of one for the given column of every row."""
    rows = np.arange(len(columns))
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(rows), n_classes))


class OracleClassifier(SupervisedReference):
    """Train on the true labels. A baseline for comparison, not an upper bound.

    Parameters
    ----------
    estimator : classifier, default=None
        An ordinary classifier with ``predict_proba``; logistic regression by default.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.

    See Also
    --------
    RandomCandidateClassifier : The same model on a random candidate.
    AverageClassifier : The same model on all candidates.

    Examples
    --------
    >>> from disambig.methods import OracleClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> truth = ["cat", "cat", "cat", "dog", "dog", "dog"]
    >>> OracleClassifier().fit(X, truth).predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="oracle",
        title="Logistic regression on true labels",
        when="for scale: what logistic regression does with true labels",
        role="true_label_baseline",
    )

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        ambiguous = candidates.sizes > 1
        if ambiguous.any():
            raise CandidateError(
                "The oracle is trained on true labels, one for every sample. Got more than one "
                f"candidate for {describe_rows(ambiguous)}. Give it the true labels as y."
            )
        rows, columns = candidates.pairs()
        self._train(X, candidates, rows, columns)
        return certain(columns, len(candidates.classes))


class AverageClassifier(SupervisedReference):
    """Train on every candidate of every row, with weights that sum to one per row. A baseline.

    Parameters
    ----------
    estimator : classifier, default=None
        An ordinary classifier with ``predict_proba``; logistic regression by default. If its
        ``fit`` takes no ``sample_weight``, rows are copied instead.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.
    class_weight : "balanced", dict or None, default=None
        What the weight of a candidate is multiplied by, by its label; labels that a dict does not
        name weigh 1. "balanced" is the inverse of the share of a class that the sets imply.

    See Also
    --------
    RandomCandidateClassifier : One candidate per row.
    OracleClassifier : The true labels.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import AverageClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> AverageClassifier().fit(X, y).predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="average",
        title="Logistic regression on every candidate",
        when="for scale: no disambiguation, candidates share a row",
        role="candidate_baseline",
    )

    def __init__(
        self,
        *,
        estimator: Any = None,
        scaling: Any = "standard",
        class_weight: ClassWeight = None,
    ) -> None:
        self.estimator = estimator
        self.scaling = scaling
        self.class_weight = class_weight

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_class_weight(self.class_weight)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        rows, columns = candidates.pairs()
        weights = candidates.prior().data
        of_classes = weights_of_classes(self.class_weight, candidates)
        if of_classes is not None:
            weights = weights * of_classes[columns]
        self._train(X, candidates, rows, columns, weights)
        return confidence_from_scores(candidates, self._predict_proba(X))


class RandomCandidateClassifier(SupervisedReference):
    """Train on one random candidate per row, drawn by its weight. A baseline.

    Parameters
    ----------
    estimator : classifier, default=None
        An ordinary classifier with ``predict_proba``; logistic regression by default.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.
    random_state : int, generator or None, default=None
        Seed of the draw.

    See Also
    --------
    AverageClassifier : All candidates of a row.
    OracleClassifier : The true labels.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> from disambig.methods import RandomCandidateClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> model = RandomCandidateClassifier(random_state=0).fit(X, y)
    >>> model.predict_proba([[0.0], [1.0]]).shape
    (2, 3)
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="random_candidate",
        title="Logistic regression on a random candidate",
        when="for scale: no disambiguation, a random candidate",
        role="candidate_baseline",
    )

    def __init__(
        self,
        *,
        estimator: Any = None,
        scaling: Any = "standard",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.scaling = scaling
        self.random_state = random_state

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        prior = candidates.prior()
        rows = np.arange(len(candidates))
        # Rows sum to one, so the running sum passes through [i, i + 1] inside row i.
        running = np.cumsum(prior.data)
        draws = rows + make_generator(self.random_state).random(len(rows))
        positions = np.searchsorted(running, draws, side="right")
        positions = np.clip(positions, prior.indptr[:-1], prior.indptr[1:] - 1)
        columns = prior.indices[positions]
        self._train(X, candidates, rows, columns)
        return certain(columns, len(candidates.classes))

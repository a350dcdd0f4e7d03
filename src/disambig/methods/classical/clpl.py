"""CLPL: a convex loss of the mean score of the candidates."""

from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from disambig._core.parameters import check_integer, check_real
from disambig._core.typing import Features, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import (
    MethodCard,
    PartialLabelClassifier,
    confidence_from_logits,
    relative_weights,
)
from disambig.methods.saving import SCALER, Learned, array, integers
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.linear_model import LinearModel, LossOfScores, fit_linear_model


class CLPL(PartialLabelClassifier):
    r"""Push the mean score of the candidates up and the score of every other class down.

    Class j has the linear score :math:`g_j(x) = w_j \cdot x + b_j`. With the squared hinge
    :math:`\psi(t) = \max(0, 1 - t)^2` the objective is

    .. math::

        \frac{\alpha}{2} \sum_j \|w_j\|^2 + \sum_i \left[
        \psi\left( \frac{1}{|S_i|} \sum_{j \in S_i} g_j(x_i) \right)
        + \sum_{j \notin S_i} \psi(-g_j(x_i)) \right]

    where :math:`S_i` are the candidates of row i and :math:`\alpha` is the ``penalty``. It is
    convex and is minimised by L-BFGS, from scores of zero.

    Where candidates carry weights, the mean over :math:`S_i` is weighted by them, and a candidate
    whose weight is the share :math:`\rho` of the largest weight in its set counts as outside the
    set by the share :math:`1 - \rho`: the last sum has the term
    :math:`(1 - \rho) \, \psi(-g_j(x_i))` for it.

    Probabilities are the softmax of the scores, which keeps their order; the loss itself does not
    make them probabilities. The confidences of a training row are the softmax of the scores of its
    candidates.

    Parameters
    ----------
    penalty : float, default=10.0
        Strength of the penalty on the squared coefficients (intercepts are free) against the sum of
        the losses of all rows, so that it matters less the more rows there are; 0 for none. It is
        1 / C for the C of support vector machines.
    max_iter : int, default=300
        Maximum number of L-BFGS steps.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the scaled features in the score of every class.
    intercept_ : ndarray of shape (n_classes,)
        Intercept of the score of every class.
    n_iter_ : int
        Number of L-BFGS steps.

    See Also
    --------
    PLSVM : The margin of the best candidate instead of the mean score.
    EMClassifier : A linear model of probabilities.

    Examples
    --------
    >>> from disambig import CLPL, CandidateLabels
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> method = CLPL().fit(X, y)
    >>> method.predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="clpl",
        title="A convex loss of the mean score of the candidates",
        when="for a linear model with a convex loss",
        paper="Cour, Sapp and Taskar, Learning from partial labels, JMLR",
        year=2011,
        deviations=(
            "Every score has an intercept, which is not penalised.",
            "Solved by L-BFGS on the scores instead of as a support vector machine with one "
            "example for every row and for every class outside its set.",
            "The penalty is one choice for all data, 10.",
            "Features are standardised; scaling='none' is the plain method.",
            "Where candidates carry weights, their mean score is weighted by them, and candidates "
            "below the largest weight of their set count in part as outside it.",
        ),
    )
    accepts_sparse: ClassVar[bool] = True

    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "coef_": array("classes", "features"),
        "intercept_": array("classes"),
        "n_iter_": integers(),
    }

    def __init__(
        self, *, penalty: float = 10.0, max_iter: int = 300, scaling: Any = "standard"
    ) -> None:
        self.penalty = penalty
        self.max_iter = max_iter
        self.scaling = scaling

    def _check_parameters(self) -> None:
        check_real("penalty", self.penalty, minimum=0)
        check_integer("max_iter", self.max_iter, minimum=1)
        check_scaling(self.scaling)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        X = apply_scaler(self._scaler, X)
        model = fit_linear_model(
            X,
            _loss(candidates),
            LinearModel.zeros(X.shape[1], candidates.shape[1]),
            penalty=self.penalty,
            max_iter=self.max_iter,
        )
        self.coef_, self.intercept_ = model.weights.T, model.intercepts
        self.n_iter_ = model.n_iter
        return confidence_from_logits(candidates, model.scores(X))

    def _predict_proba(self, X: Features) -> FloatArray:
        model = LinearModel(self.coef_.T, self.intercept_)
        scores = model.scores(apply_scaler(self._scaler, X))
        probabilities: FloatArray = softmax(scores, axis=1)
        return probabilities


def _loss(candidates: CandidateLabels) -> LossOfScores:
    """Return the function from scores to the loss of all rows and its gradient."""
    rows, columns = candidates.pairs()
    shares = candidates.prior().data
    outside = 1 - relative_weights(candidates)

    def loss_of_scores(scores: FloatArray) -> tuple[float, FloatArray]:
        means = np.bincount(rows, weights=shares * scores[rows, columns])
        short = np.maximum(1 - means, 0)  # how far the candidates are below their margin
        slope = np.maximum(1 + scores, 0)  # how far the other classes are above theirs
        over = slope[rows, columns]
        slope[rows, columns] = 0
        loss = np.vdot(short, short) + np.vdot(slope, slope) + np.vdot(outside * over, over)
        slope[rows, columns] = outside * over - shares * short[rows]
        slope *= 2
        return float(loss), slope

    return loss_of_scores

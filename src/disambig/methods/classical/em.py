"""EM: maximum likelihood of the candidate sets under a linear softmax model."""

from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from disambig._core.parameters import check_boolean, check_integer, check_real
from disambig._core.typing import AnyArray, Features, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_maxima, group_sums
from disambig.methods.base import MethodCard, PartialLabelClassifier, confidence_from_pairs
from disambig.methods.class_weights import ClassWeight, check_class_weight, weights_of_classes
from disambig.methods.row_weights import RowWeightsMixin
from disambig.methods.saving import SCALER, Learned, array, integers
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.linear_model import LinearModel, LossOfScores, fit_linear_model


class EMClassifier(RowWeightsMixin, PartialLabelClassifier):
    r"""Expectation-maximisation: guess the label from the model, then learn the model from it.

    Class j has the probability :math:`p_j(x)`, the softmax of linear scores
    :math:`w_j \cdot x + b_j`. The objective, to be minimised, is

    .. math::

        \frac{\alpha}{2} \sum_j \|w_j\|^2
        - \sum_i \log \left( \sum_{j \in S_i} \pi_{ij} \, p_j(x_i) \right)

    where :math:`S_i` are the candidates of row i, :math:`\alpha` is the ``penalty`` and
    :math:`\pi_{ij}` the prior of a candidate: equal shares, or the weights of the candidates
    divided by their sum. It is not convex. From scores of zero, every round does

    1. the E-step: the posterior :math:`q_{ij}` of every candidate is :math:`\pi_{ij} \, p_j(x_i)`
       divided by its sum over :math:`S_i`;
    2. the M-step: some steps of L-BFGS, from where the last round ended, on

       .. math::

           \frac{\alpha}{2} \sum_j \|w_j\|^2 - \sum_i \sum_{j \in S_i} q_{ij} \log(p_j(x_i))

    No round raises the objective, however few steps it makes. The first posterior is the prior.

    Weights of rows multiply the term of a row in both sums. ``class_weight`` multiplies the terms
    of a class in the M-step only, and the term of a row in the objective by its mean under the
    posterior; the objective may then rise.

    Probabilities are those of the model; the confidences of a training row are its last posterior.

    Parameters
    ----------
    penalty : float, default=5.0
        Strength of the penalty on the squared coefficients (intercepts are free) against the
        log-likelihood of all rows, so that it matters less the more rows there are; 0 for none. It
        is the inverse variance of a normal prior of the coefficients.
    max_iter : int, default=200
        Maximum number of rounds.
    steps_per_round : int, default=5
        Maximum number of L-BFGS steps in a round.
    tol : float, default=1e-6
        Stop after a round that lowers the objective by no more than this share of it.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.
    class_weight : "balanced", dict or None, default=None
        What the loss of a candidate is multiplied by in the M-step, by its label; labels that a
        dict does not name weigh 1. "balanced" is the inverse of the share of a class that the sets
        imply.
    warm_start : bool, default=False
        Whether ``fit`` begins with the coefficients that the last fit ended with, where classes and
        the number of features are the same; otherwise with coefficients of zero.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the scaled features in the score of every class.
    intercept_ : ndarray of shape (n_classes,)
        Intercept of the score of every class.
    objective_ : ndarray of shape (rounds,)
        The objective after every round.
    n_iter_ : int
        Number of rounds.

    See Also
    --------
    LSBCMM : A mixture of several components.
    CC : The same likelihood with a network.

    Examples
    --------
    >>> from disambig import CandidateLabels, EMClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> method = EMClassifier().fit(X, y)
    >>> method.predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="em",
        title="Expectation-maximisation with a linear softmax model",
        when="for a linear model you can interpret, or sparse features",
        paper="Jin and Ghahramani, Learning with multiple labels, NIPS",
        year=2002,
        deviations=(
            "The M-step makes a few steps of L-BFGS instead of going to the optimum, and the "
            "weights are penalised.",
            "Features are standardised; scaling='none' is the plain method.",
            "Where candidates carry weights, these are the prior of the labels of a row.",
        ),
    )
    accepts_sparse: ClassVar[bool] = True

    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "coef_": array("classes", "features"),
        "intercept_": array("classes"),
        "objective_": array("rounds"),
        "n_iter_": integers(),
    }

    def __init__(
        self,
        *,
        penalty: float = 5.0,
        max_iter: int = 200,
        steps_per_round: int = 5,
        tol: float = 1e-6,
        scaling: Any = "standard",
        class_weight: ClassWeight = None,
        warm_start: bool = False,
    ) -> None:
        self.penalty = penalty
        self.max_iter = max_iter
        self.steps_per_round = steps_per_round
        self.tol = tol
        self.scaling = scaling
        self.class_weight = class_weight
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        check_real("penalty", self.penalty, minimum=0)
        check_integer("max_iter", self.max_iter, minimum=1)
        check_integer("steps_per_round", self.steps_per_round, minimum=1)
        check_real("tol", self.tol, minimum=0)
        check_scaling(self.scaling)
        check_class_weight(self.class_weight)
        check_boolean("warm_start", self.warm_start)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        rows, columns = candidates.pairs()
        of_rows = candidates.row_weights
        of_classes = weights_of_classes(self.class_weight, candidates)
        self._scaler = fit_scaler(self.scaling, X, of_rows)
        X = apply_scaler(self._scaler, X)
        model = self._first_model(X.shape[1], candidates.classes)
        posterior, losses = _posterior_and_losses(candidates, model.scores(X))
        objectives: list[float] = []
        while True:
            targets = posterior if of_classes is None else posterior * of_classes[columns]
            targets = targets if of_rows is None else targets * of_rows[rows]
            weighted = of_rows is not None or of_classes is not None
            totals = group_sums(targets, candidates.starts) if weighted else None
            loss = np.sum(losses if totals is None else totals * losses)
            objectives.append(float(loss) + self.penalty / 2 * float(np.sum(model.weights**2)))
            is_done = len(objectives) > 1 and (
                # With weights of classes the objective may rise, too.
                abs(objectives[-2] - objectives[-1]) <= self.tol * objectives[-2]
            )
            if is_done or len(objectives) > self.max_iter:
                break
            model = fit_linear_model(
                X,
                _cross_entropy(candidates, targets, totals),
                model,
                penalty=self.penalty,
                max_iter=self.steps_per_round,
            )
            posterior, losses = _posterior_and_losses(candidates, model.scores(X))
        self.objective_ = np.array(objectives[1:])
        self.n_iter_ = len(self.objective_)
        self.coef_, self.intercept_ = model.weights.T, model.intercepts
        self._classes_of_coef = candidates.classes
        return confidence_from_pairs(candidates, posterior)

    def _first_model(self, n_features: int, classes: AnyArray) -> LinearModel:
        """Return the model that the first round begins with."""
        known = getattr(self, "_classes_of_coef", None)
        if self.warm_start and known is not None:
            same = known.tolist() == classes.tolist() and self.coef_.shape[1] == n_features
            if same:
                return LinearModel(self.coef_.T, self.intercept_)
        return LinearModel.zeros(n_features, len(classes))

    def _after_load(self) -> None:
        self._classes_of_coef = self.classes_

    def _predict_proba(self, X: Features) -> FloatArray:
        model = LinearModel(self.coef_.T, self.intercept_)
        scores = model.scores(apply_scaler(self._scaler, X))
        probabilities: FloatArray = softmax(scores, axis=1)
        return probabilities


def _posterior_and_losses(
    candidates: CandidateLabels, scores: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior of every candidate, and the loss of every row.

    The posterior is in the order of ``candidates.pairs()``; the loss of a row is
    ``-log sum_{j in S} pi_j p_j``.
    """
    rows, _ = candidates.pairs()
    joint = candidates.values_of(scores) + np.log(candidates.prior().data)
    # The largest is taken out first, so that no row is lost to rounding.
    largest = group_maxima(joint, candidates.starts)
    powers = np.exp(joint - largest[rows])
    totals = group_sums(powers, candidates.starts)
    powers_of_all, largest_of_all = _powers(scores)
    of_all = np.log(powers_of_all.sum(axis=1)) + largest_of_all
    return powers / totals[rows], of_all - np.log(totals) - largest


def _cross_entropy(
    candidates: CandidateLabels, targets: FloatArray, totals: FloatArray | None = None
) -> LossOfScores:
    """Return the function from scores to the cross-entropy of all rows and its gradient.

    Targets are in the order of ``candidates.pairs()``; ``totals`` are their sums in every row, None
    where these are one.
    """
    rows, columns = candidates.pairs()

    def loss_of_scores(scores: FloatArray) -> tuple[float, FloatArray]:
        slope, largest = _powers(scores)
        sums = slope.sum(axis=1)
        expected = np.vdot(targets, scores[rows, columns])
        of_rows = np.log(sums) + largest
        loss = np.sum(of_rows if totals is None else totals * of_rows) - expected
        slope /= sums[:, np.newaxis]
        if totals is not None:
            slope *= totals[:, np.newaxis]
        slope[rows, columns] -= targets
        return float(loss), slope

    return loss_of_scores


def _powers(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return exp(score - largest score of the row), and that largest score."""
    largest = scores.max(axis=1)
    powers = scores - largest[:, np.newaxis]
    return np.exp(powers, out=powers), largest

"""PL-SVM: the largest margin between the best candidate and the best other class."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax

from disambig._core.parameters import RandomState, check_integer, check_real, make_generator
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest
from disambig.methods.base import (
    MethodCard,
    PartialLabelClassifier,
    confidence_from_logits,
    relative_weights,
)
from disambig.methods.saving import SCALER, Learned, array, integers
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler

# The first steps are long and may end anywhere: an unchanged objective says nothing yet.
_FEWEST_STEPS = 10


class PLSVM(PartialLabelClassifier):
    r"""A support vector machine whose margin is that of the best candidate.

    Class j has the score :math:`s_j(x) = w_j \cdot x`, without an intercept: features are centred
    by their scaling, and where there are fewer features than classes less one, some classes may be
    out of reach. The objective is

    .. math::

        \frac{\alpha}{2} \sum_j \|w_j\|^2 + \frac{1}{n} \sum_i \max\left( 0, \;
        1 + \max_{j \notin S_i} s_j(x_i) - \max_{j \in S_i} s_j(x_i) \right)

    where :math:`S_i` are the candidates of row i and :math:`\alpha` is the ``penalty``. It is not
    convex. It is lowered by subgradient steps on all rows at once (Pegasos), from random weights in
    [0, 1): step t has the length :math:`1 / (\alpha t)` and is followed by a projection of all
    weights together on the ball of radius :math:`1 / \sqrt{\alpha}`. The last weights are kept, not
    the best ones.

    Where candidates carry weights, a class whose weight is the share :math:`\rho` of the largest
    weight in the set (0 outside the set) costs :math:`1 - \rho`; the loss of a row is

    .. math:: \max_q (s_q + 1 - \rho_q) - \max_{j \in S} (s_j - (1 - \rho_j))

    Equal weights give the loss above.

    Probabilities are the softmax of the scores, which keeps their order; the loss itself does not
    make them probabilities. The confidences of a training row are the softmax of the scores of its
    candidates.

    Parameters
    ----------
    penalty : float, default=0.01
        Strength of the penalty on the squared coefficients against the mean loss of a row.
    max_iter : int, default=1000
        Maximum number of steps.
    tol : float, default=0.0001
        Stop after a step, not before the tenth, that changes the objective by no more than this.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.
    random_state : int, generator or None, default=None
        Seed of the weights that the first step begins with.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the scaled features in the score of every class.
    objective_ : ndarray of shape (rounds,)
        The objective after every step; it may rise.
    n_iter_ : int
        Number of steps.

    See Also
    --------
    M3PL : The margin over labels and machines together.
    CLPL : The mean score of the candidates, which is convex.

    Examples
    --------
    >>> from disambig import PLSVM, CandidateLabels
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> method = PLSVM(random_state=0).fit(X, y)
    >>> method.predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="plsvm",
        title="The largest margin between the best candidate and the best other class",
        when="for a linear model with margins, trained quickly",
        paper="Nguyen and Caruana, Classification with partial labels, KDD",
        year=2008,
        doi="10.1145/1401890.1401958",
        deviations=(
            "Steps use all rows at once, are at least ten, and end where the objective changes by "
            "1e-4 instead of the usual 1e-3.",
            "The penalty is one choice for all data, 0.01; in circulating code it is 1.",
            "Features are standardised; scaling='none' is the plain method.",
            "Where candidates carry weights, lower-weight candidates are penalised more.",
        ),
    )
    accepts_sparse: ClassVar[bool] = True

    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "coef_": array("classes", "features"),
        "objective_": array("rounds"),
        "n_iter_": integers(),
    }

    def __init__(
        self,
        *,
        penalty: float = 0.01,
        max_iter: int = 1000,
        tol: float = 1e-4,
        scaling: Any = "standard",
        random_state: RandomState = None,
    ) -> None:
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol
        self.scaling = scaling
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_real("penalty", self.penalty, minimum=1e-6)  # steps are as long as 1 / penalty
        check_integer("max_iter", self.max_iter, minimum=1)
        check_real("tol", self.tol, minimum=0)
        check_scaling(self.scaling)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        X = apply_scaler(self._scaler, X)
        pairs = _Pairs.of(candidates)
        start = make_generator(self.random_state).random((X.shape[1], candidates.shape[1]))
        weights = _into_ball(start, self.penalty)
        margins = _margins(pairs, X @ weights)
        objectives = [_objective(weights, margins, self.penalty)]
        for step in range(1, self.max_iter + 1):
            slope = _slope(X, margins, candidates.shape[1])
            moved = (1 - 1 / step) * weights - slope / (self.penalty * step)
            weights = _into_ball(moved, self.penalty)
            margins = _margins(pairs, X @ weights)
            objectives.append(_objective(weights, margins, self.penalty))
            change = abs(objectives[-1] - objectives[-2])
            if step >= _FEWEST_STEPS and change <= self.tol:
                break
        self.coef_ = weights.T
        self.objective_ = np.array(objectives[1:])
        self.n_iter_ = step
        return confidence_from_logits(candidates, X @ weights)

    def _predict_proba(self, X: Features) -> FloatArray:
        probabilities: FloatArray = softmax(apply_scaler(self._scaler, X) @ self.coef_.T, axis=1)
        return probabilities


class _Pairs(NamedTuple):
    """The candidates of all rows, looked up once for all steps, and what each of them costs."""

    rows: IntArray
    columns: IntArray
    starts: IntArray
    costs: FloatArray

    @classmethod
    def of(cls, candidates: CandidateLabels) -> Self:
        return cls(*candidates.pairs(), candidates.starts, 1 - relative_weights(candidates))


class _Margins(NamedTuple):
    """For every row, the class and the candidate that decide its loss, and that loss."""

    rivals: IntArray
    best: IntArray
    losses: FloatArray


def _margins(pairs: _Pairs, scores: FloatArray) -> _Margins:
    inside = scores[pairs.rows, pairs.columns]
    raised = scores + 1
    raised[pairs.rows, pairs.columns] = inside + pairs.costs
    rivals = raised.argmax(axis=1)
    lowered = inside - pairs.costs
    chosen = first_largest(lowered, pairs.starts)
    losses = raised[np.arange(len(raised)), rivals] - lowered[chosen]
    return _Margins(rivals, pairs.columns[chosen], losses)


def _objective(weights: FloatArray, margins: _Margins, penalty: float) -> float:
    return penalty / 2 * float(np.sum(weights**2)) + float(margins.losses.mean())


def _slope(X: Features, margins: _Margins, n_classes: int) -> FloatArray:
    """Return a subgradient of the mean loss: a row counts where its loss is above zero."""
    rows = np.flatnonzero(margins.losses > 0)
    signs = np.repeat([1.0, -1.0], len(rows)) / len(margins.losses)
    columns = np.concatenate([margins.rivals[rows], margins.best[rows]])
    by_score = sparse.csr_array((signs, (np.tile(rows, 2), columns)), (X.shape[0], n_classes))
    slope = X.T @ by_score
    dense: FloatArray = slope.toarray() if sparse.issparse(slope) else slope
    return dense


def _into_ball(weights: FloatArray, penalty: float) -> FloatArray:
    """Shrink weights that are longer than 1 / sqrt(penalty) to that length.

    No minimum lies further out: there, shorter weights gain more penalty than they lose margin.
    """
    longest = 1 / np.sqrt(penalty)
    length = float(np.linalg.norm(weights))
    return weights * (longest / length) if length > longest else weights

"""SURE: a kernel model and confidences that guide each other towards one label a row."""

from typing import Any, ClassVar

import numpy as np

from disambig._core.parameters import check_choice, check_integer, check_real
from disambig._core.typing import Features, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest, group_maxima
from disambig.methods.base import MethodCard, PartialLabelClassifier, confidence_from_pairs
from disambig.methods.saving import SCALER, Learned, array, integers, part
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.kernel_ridge import PRECISIONS, KernelModel, KernelRidge
from disambig.solvers.nonnegative_qp import project_groups_on_simplex, project_rows_on_simplex


class SURE(PartialLabelClassifier):
    r"""Fit a kernel model to confidences, and confidences to the model, favouring one candidate.

    The objective, over a kernel model :math:`Q = K A + 1 b^T` and confidences :math:`P`
    (distributions over the candidates of each row), is

    .. math:: \|Q - P\|^2 + \beta \operatorname{tr}(A^T K A) - \lambda \sum_i \max_j P_{ij}

    with :math:`\beta` the ``penalty`` and :math:`\lambda` the ``reward``. Both steps of a round
    minimise it exactly, so it never rises:

    1. The model is kernel ridge regression on P. The kernel is Gaussian, as wide as the mean
       distance between training rows.
    2. The confidences of a row are the distribution over its candidates nearest to :math:`Q_i` with
       :math:`\lambda / 2` added to its largest candidate.

    The second step is the whole quadratic problem of the paper: a projection keeps the order of
    its entries, so its largest stays the largest, and no other candidate could earn the reward at a
    smaller distance. The probabilities of a new row are the distribution nearest to the outputs of
    the model.

    Parameters
    ----------
    reward : float, default=0.3
        Reward for a confident row; lambda in the paper.
    penalty : float, default=0.03
        Weight of the size of the model; beta in the paper. Later papers quote 0.05.
    start : {"uniform", "binary"}, default="uniform"
        Whether the first model is fitted to equal shares of the candidates, or to ones as in the
        original code.
    max_iter : int, default=50
        Maximum number of rounds.
    tol : float, default=1e-3
        Stop when the confidences of all rows together (the root of the sum of squares) change by
        less.
    precision : {"auto", "single", "double"}, default="auto"
        Floating-point precision of the kernel; "auto" is single for more than 30,000 rows, unless
        the penalty is below 0.03. Single takes half the memory.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled first, fitted on the training rows.

    Attributes
    ----------
    objective_ : ndarray of shape (rounds,)
        The objective after every round.
    n_iter_ : int
        Number of rounds.

    See Also
    --------
    AGGD : A kernel model with a graph of neighbours.

    Examples
    --------
    >>> from disambig import SURE, CandidateLabels
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> method = SURE().fit(X, y)
    >>> method.predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="sure",
        title="Kernel ridge regression guided by its own confidences",
        when="up to about 20,000 rows, without torch",
        paper="Feng and An, Partial label learning with self-guided retraining, AAAI",
        year=2019,
        doi="10.1609/aaai.v33i01.33013542",
        deviations=(
            "Features are standardised first; scaling='none' is the plain method.",
            "Confidences start from equal shares of the candidates; start='binary' is the original "
            "code.",
            "Reward and penalty are 0.3 and 0.03 for all data; the paper chooses each of them from "
            "seven values, and later papers quote 0.3 and 0.05.",
            "The quadratic problems of the confidences are solved in closed form.",
            "Above 30,000 rows the kernel is in single precision.",
            "The rounds end when confidences stop changing, and the model is the one fitted to the "
            "last of them.",
            "Where candidates carry weights, the start is in proportion to them.",
        ),
    )

    _growth: ClassVar[int | None] = 3

    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "_model": part(
            KernelModel,
            origin=array("features"),
            rows=array("rows", "features"),
            width=array(),
            coefficients=array("rows", "classes"),
            intercepts=array("classes"),
        ),
        "objective_": array("rounds"),
        "n_iter_": integers(),
    }

    def __init__(
        self,
        *,
        reward: float = 0.3,
        penalty: float = 0.03,
        start: str = "uniform",
        max_iter: int = 50,
        tol: float = 1e-3,
        precision: str = "auto",
        scaling: Any = "standard",
    ) -> None:
        self.reward = reward
        self.penalty = penalty
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.precision = precision
        self.scaling = scaling

    def _check_parameters(self) -> None:
        check_real("reward", self.reward, minimum=0)
        check_real("penalty", self.penalty, minimum=1e-6)
        check_choice("start", self.start, ("uniform", "binary"))
        check_integer("max_iter", self.max_iter, minimum=1)
        check_real("tol", self.tol, minimum=0)
        check_choice("precision", self.precision, PRECISIONS)
        check_scaling(self.scaling)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        ridge = KernelRidge(
            apply_scaler(self._scaler, X), penalty=self.penalty, precision=self.precision
        )
        confidences = candidates.prior()
        if self.start == "binary":
            confidences.data *= np.repeat(candidates.sizes, candidates.sizes)
        _, outputs = ridge.fit(confidences.toarray())
        objectives = []
        for _ in range(self.max_iter):
            settled = favoured_confidences(candidates, outputs, self.reward)
            change = np.linalg.norm(settled - confidences.data)
            confidences = confidence_from_pairs(candidates, settled)
            targets = confidences.toarray()
            model, outputs = ridge.fit(targets)
            gained = self.reward * float(group_maxima(settled, candidates.starts).sum())
            objectives.append(ridge.objective(model, outputs, targets) - gained)
            if change < self.tol:
                break
        self._model: KernelModel = model
        self.objective_ = np.array(objectives)
        self.n_iter_ = len(objectives)
        return confidences

    def _predict_proba(self, X: Features) -> FloatArray:
        return project_rows_on_simplex(self._model.outputs(apply_scaler(self._scaler, X)))


def favoured_confidences(
    candidates: CandidateLabels, outputs: FloatArray, reward: float
) -> FloatArray:
    """Minimise ``|p - q|^2 - reward max(p)`` over the distributions p of every row's candidates.

    The outputs of the model, of shape (n_samples, n_classes), are q. The minimum is returned in the
    order of ``candidates.pairs()``.
    """
    wanted = candidates.values_of(outputs)
    wanted[first_largest(wanted, candidates.starts)] += reward / 2
    return project_groups_on_simplex(wanted, candidates.starts)

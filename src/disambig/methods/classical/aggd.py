"""AGGD: graph, confidences and kernel model, each adapted to the others."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from disambig._core.parameters import check_boolean, check_choice, check_integer, check_real
from disambig._core.typing import Features, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import (
    MethodCard,
    PartialLabelClassifier,
    confidence_from_pairs,
    relative_weights,
)
from disambig.methods.saving import SCALER, Learned, array, integers, part
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.kernel_ridge import PRECISIONS, KernelModel, KernelRidge
from disambig.solvers.neighbors import (
    difference_products,
    graph_of_weights,
    index_of_rows,
    nearest_of_training_rows,
)
from disambig.solvers.nonnegative_qp import minimise_on_simplex, project_rows_on_simplex
from disambig.solvers.pair_graph import smooth_confidences


class AGGD(PartialLabelClassifier):
    r"""Adapt a graph of neighbours, confidences and a kernel model to each other.

    The objective, over a kernel model :math:`Q = K A + 1 b^T`, confidences :math:`F` (distributions
    over the candidates of each row) and a graph :math:`W` (every row a distribution over its
    nearest neighbours), is

    .. math::

        \|Q - F\|^2 + \gamma \operatorname{tr}(A^T K A)
        + \lambda \|X - W X\|^2 + \mu \|F - W F\|^2

    with :math:`X` the rows brought to length one, and :math:`\gamma` the ``penalty``,
    :math:`\lambda` the ``similarity`` and :math:`\mu` the ``smoothness``. First W rebuilds the
    features alone, and F agrees with it as well as it can. Then, round by round, each of the three
    is the minimum given the two others (F as near to it as 200 steps come), so the objective never
    rises:

    1. W: one small quadratic problem a row, on the products of the differences of features and
       confidences between a row and its neighbours.
    2. F: one quadratic problem over all candidates, by accelerated projected gradient.
    3. Q: kernel ridge regression on F. The kernel is Gaussian, as wide as the mean distance between
       training rows.

    The probabilities of a new row are the distribution nearest to the outputs of the model.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours in the graph; all other rows if there are fewer.
    similarity : float, default=1.0
        How much the graph must rebuild the features; lambda in the paper.
    smoothness : float, default=1.0
        How much confidences must agree with those of the neighbours; mu in the paper.
    penalty : float, default=0.05
        Weight of the size of the model; gamma in the paper.
    max_iter : int, default=10
        Number of rounds.
    precision : {"auto", "single", "double"}, default="auto"
        Floating-point precision of the kernel; "auto" is single for more than 30,000 rows, unless
        the penalty is below 0.03. Single takes half the memory.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled first, fitted on the training rows.
    unit_rows : bool, default=True
        Whether rows are then brought to length one for the graph, as in the original. The kernel
        takes them as they are.

    Attributes
    ----------
    objective_ : ndarray of shape (rounds,)
        The objective after every round.
    n_iter_ : int
        Number of rounds, always ``max_iter``.

    See Also
    --------
    SURE : The kernel model without a graph.
    IPAL : Spreads confidences over a graph that stays as it is.

    Examples
    --------
    >>> from disambig import AGGD, CandidateLabels
    >>> X = [[0.0, 1.0], [0.1, 1.1], [0.2, 0.9], [1.0, 0.0], [1.1, 0.1], [0.9, 0.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> method = AGGD(n_neighbors=2).fit(X, y)
    >>> method.predict([[0.1, 1.0], [1.0, 0.1]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="aggd",
        title="Adaptive graph, confidences and kernel model together",
        when="like SURE, where similar rows should have the same label",
        paper="Wang, Li and Zhang, Adaptive graph guided disambiguation for partial label "
        "learning, KDD",
        year=2019,
        doi="10.1145/3292500.3330840",
        deviations=(
            "Features are standardised first; scaling='none' is the plain method.",
            "The quadratic problem of all confidences is solved by accelerated projected gradient, "
            "which scales to large data, in at most 500 steps at first and 200 in a round.",
            "There are ten rounds, as in the authors' code; papers that compare with it make 20.",
            "Above 30,000 rows the kernel is in single precision.",
            "The model has an intercept, as in the authors' code and not in the paper.",
            "Where candidates carry weights, the first confidences are to be near to them.",
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
        n_neighbors: int = 10,
        similarity: float = 1.0,
        smoothness: float = 1.0,
        penalty: float = 0.05,
        max_iter: int = 10,
        precision: str = "auto",
        scaling: Any = "standard",
        unit_rows: bool = True,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.similarity = similarity
        self.smoothness = smoothness
        self.penalty = penalty
        self.max_iter = max_iter
        self.precision = precision
        self.scaling = scaling
        self.unit_rows = unit_rows

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, minimum=1)
        check_real("similarity", self.similarity, minimum=0)
        check_real("smoothness", self.smoothness, minimum=0)
        check_real("penalty", self.penalty, minimum=1e-6)
        check_integer("max_iter", self.max_iter, minimum=1)
        check_choice("precision", self.precision, PRECISIONS)
        check_scaling(self.scaling)
        check_boolean("unit_rows", self.unit_rows)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        rows = apply_scaler(self._scaler, X, unit_rows=self.unit_rows)
        neighbors = nearest_of_training_rows(index_of_rows(rows), self.n_neighbors)
        features_apart = difference_products(rows, neighbors)
        ridge = KernelRidge(
            apply_scaler(self._scaler, X), penalty=self.penalty, precision=self.precision
        )

        def graph_of(weights: FloatArray) -> Sparse:
            if weights.size == 0:  # a single row has no neighbours, and agrees with itself
                return sparse.eye_array(len(candidates), format="csr")
            return graph_of_weights(weights, neighbors, len(candidates))

        def apart(confidences: FloatArray) -> FloatArray:
            of_confidences = difference_products(confidences, neighbors)
            return self.similarity * features_apart + self.smoothness * of_confidences

        shares = first_confidences(graph_of(minimise_on_simplex(features_apart)), candidates)
        confidences = confidence_from_pairs(candidates, shares).toarray()
        model, outputs = ridge.fit(confidences)
        products = apart(confidences)
        objectives = []
        for _ in range(self.max_iter):
            weights = minimise_on_simplex(products)
            shares = smooth_confidences(
                graph_of(weights),
                candidates,
                shares,
                anchor=candidates.values_of(outputs),
                smoothness=self.smoothness,
                max_iter=200,
            )
            confidences = confidence_from_pairs(candidates, shares).toarray()
            model, outputs = ridge.fit(confidences)
            products = apart(confidences)
            missed = np.einsum("ir,irs,is->", weights, products, weights, optimize=True)
            objectives.append(ridge.objective(model, outputs, confidences) + missed)
        self._model: KernelModel = model
        self.objective_ = np.array(objectives)
        self.n_iter_ = self.max_iter
        return confidence_from_pairs(candidates, shares)

    def _predict_proba(self, X: Features) -> FloatArray:
        return project_rows_on_simplex(self._model.outputs(apply_scaler(self._scaler, X)))


def first_confidences(graph: Sparse, candidates: CandidateLabels) -> FloatArray:
    """Return confidences that agree with the graph, beginning with equal shares.

    On a connected graph confidences that are all the same agree best of all, so weights of
    candidates would be forgotten: where there are any, confidences are to be near to them, too.
    """
    prior: FloatArray = candidates.prior().data
    some_preferred = (relative_weights(candidates) < 1 - 1e-12).any()
    return smooth_confidences(graph, candidates, prior, anchor=prior if some_preferred else None)

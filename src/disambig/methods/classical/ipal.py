"""IPAL: confidences spread over a graph in which every row is rebuilt from its neighbours."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from disambig._core.parameters import check_boolean, check_integer, check_real
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest, group_sums
from disambig.methods.base import (
    MethodCard,
    PartialLabelClassifier,
    confidence_from_pairs,
    confidence_from_scores,
)
from disambig.methods.saving import SCALER, Learned, array, integers
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.neighbors import (
    graph_of_weights,
    index_of_rows,
    inner_products,
    nearest_of_queries,
    nearest_of_training_rows,
    reconstruction_weights,
)
from disambig.solvers.nonnegative_qp import minimise_on_orthant
from disambig.solvers.pair_graph import graph_to_candidates


class IPAL(PartialLabelClassifier):
    r"""Spread confidences over a graph in which every row is rebuilt from its neighbours.

    1. Every row :math:`x` is rebuilt from its nearest neighbours: weights :math:`w \ge 0` that
       minimise :math:`\|x - \sum_r w_r x_r\|^2`. Divided by their sum, they are the edges of a
       graph :math:`H`.
    2. Confidences :math:`F` begin with equal shares :math:`F^0` of the candidates and are spread
       until they no longer change:

       .. math:: F \leftarrow \alpha H F + (1 - \alpha) F^0

       restricted to the candidates, rows divided by their sum.
    3. They are multiplied by :math:`\sum_i F^0_{ij} / \sum_i F_{ij}`, class by class, so that every
       class keeps its mass. The largest is the label of a training row.
    4. A new row is rebuilt from its neighbours in the same way. The class whose neighbours alone
       come nearest to it, with the weights of all, is predicted.

    The probability of class c is in proportion to the share of the row's squared length that its
    neighbours :math:`N_c` explain,

    .. math:: 1 - \frac{\|x - \sum_{r \in N_c} w_r x_r\|^2}{\|x\|^2}

    or zero where that is negative. So the class of the smallest residual has the largest. Where no
    class alone explains anything, each neighbour has one vote.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours from which a row is rebuilt; all other rows if there are fewer.
    alpha : float, default=0.95
        Share of the confidences that comes from the neighbours, below 1.
    max_iter : int, default=100
        Maximum number of rounds of spreading.
    tol : float, default=1e-4
        Stop when the confidences of all rows together (the root of the sum of squares) change by
        less.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled first, fitted on the training rows.
    unit_rows : bool, default=True
        Whether rows are then scaled to length one, as in the original.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds of spreading.

    See Also
    --------
    PLKNN : A plain vote of the neighbours.
    AGGD : A graph that adapts to the confidences.

    Examples
    --------
    >>> from disambig import IPAL, CandidateLabels
    >>> X = [[0.0, 1.0], [0.1, 1.1], [0.2, 0.9], [1.0, 0.0], [1.1, 0.1], [0.9, 0.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> method = IPAL(n_neighbors=2).fit(X, y)
    >>> method.predict([[0.1, 1.0], [1.0, 0.1]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="ipal",
        title="Confidences spread over a graph of reconstructions",
        when="with large sets where similar rows share labels; no torch",
        paper="Zhang and Yu, Solving the partial label learning problem: An instance-based "
        "approach, IJCAI",
        year=2015,
        deviations=(
            "Features are standardised before rows are brought to length one; scaling='none' is "
            "the plain method.",
            "Spreading stops by the Frobenius norm of the change, not the spectral norm.",
            "A class of no mass keeps its confidences where the paper divides by zero.",
            "Where no class alone explains anything of a new row, its neighbours vote; the "
            "original predicts the first class.",
            "Where candidates carry weights, F0 is in proportion to them.",
        ),
    )

    _growth: ClassVar[int | None] = 2

    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "_rows": array("rows", "features"),
        "_votes": array("rows", "classes"),
        "n_iter_": integers(),
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        alpha: float = 0.95,
        max_iter: int = 100,
        tol: float = 1e-4,
        scaling: Any = "standard",
        unit_rows: bool = True,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.scaling = scaling
        self.unit_rows = unit_rows

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, minimum=1)
        check_real("alpha", self.alpha, minimum=0, maximum=1 - 1e-6)
        check_integer("max_iter", self.max_iter, minimum=1)
        check_real("tol", self.tol, minimum=0)
        check_scaling(self.scaling)
        check_boolean("unit_rows", self.unit_rows)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        self._rows = self._prepared(X)
        self._index = index_of_rows(self._rows)
        neighbors = nearest_of_training_rows(self._index, self.n_neighbors)
        weights = _shares(reconstruction_weights(self._rows, self._rows, neighbors))
        graph = graph_of_weights(weights, neighbors, len(candidates))
        spread, self.n_iter_ = _spread(graph, candidates, self.alpha, self.max_iter, self.tol)
        balanced = confidence_from_pairs(candidates, _with_class_masses(spread, candidates))
        confidence = confidence_from_scores(candidates, balanced)
        _, columns = candidates.pairs()
        labels = columns[first_largest(confidence.data, candidates.starts)]
        # One vote of every training row, for its label.
        self._votes = sparse.csr_array(
            (np.ones(len(labels)), labels, np.arange(len(labels) + 1)), shape=candidates.shape
        )
        return confidence

    def _after_load(self) -> None:
        # Not kept: a tree out of a file could lead its search beyond the end of an array.
        self._index = index_of_rows(self._rows)
        if not (self._votes.data == 1).all() or not (np.diff(self._votes.indptr) == 1).all():
            raise ValueError("every training row has one vote")

    def _predict_proba(self, X: Features) -> FloatArray:
        query = self._prepared(X)
        neighbors = nearest_of_queries(self._index, query, self.n_neighbors)

        def summed_by_class(values: FloatArray) -> FloatArray:
            graph = graph_of_weights(values, neighbors, len(self._rows))
            summed: FloatArray = (graph @ self._votes).toarray()
            return summed

        parts = explained_parts(query, self._rows, neighbors, self._votes.indices)
        explained = np.maximum(summed_by_class(parts), 0)
        unexplained = explained.sum(axis=1) == 0
        if unexplained.any():
            explained[unexplained] = summed_by_class(np.ones(neighbors.shape))[unexplained]
        return _shares(explained)

    def _prepared(self, X: Features) -> Features:
        return apply_scaler(self._scaler, X, unit_rows=self.unit_rows)


def explained_parts(
    query: FloatArray, rows: FloatArray, neighbors: IntArray, labels: IntArray
) -> FloatArray:
    """Return what every neighbour adds to the squared length that its class explains.

    Summed over the neighbours of a class, with weights w of theirs and A the rows, that is
    ``|x|^2 - |x - A w|^2 = 2 (A x) w - w A A' w``. ``query`` are new rows x, ``neighbors`` the
    nearest training rows of each, ``labels`` the classes of all training rows.
    """
    parts = np.empty(neighbors.shape)
    for batch, among, with_query in inner_products(query, rows, neighbors):
        weights = minimise_on_orthant(among, with_query)
        classes = labels[neighbors[batch]]
        same_class = classes[:, :, np.newaxis] == classes[:, np.newaxis, :]
        within_class = ((among * same_class) @ weights[:, :, np.newaxis])[:, :, 0]
        parts[batch] = weights * (2 * with_query - within_class)
    return parts


def _spread(
    graph: Sparse, candidates: CandidateLabels, alpha: float, max_iter: int, tol: float
) -> tuple[FloatArray, int]:
    """Return the confidences of all candidates after spreading, and the rounds it took."""
    rows, _ = candidates.pairs()
    starts = candidates.starts
    from_neighbors = graph_to_candidates(graph, candidates)
    first: FloatArray = candidates.prior().data
    confidences = first
    rounds = 0
    change = np.inf
    while rounds < max_iter and change >= tol:
        mixed = alpha * (from_neighbors @ confidences) + (1 - alpha) * first
        mixed /= group_sums(mixed, starts)[rows]
        change = float(np.linalg.norm(mixed - confidences))
        confidences = mixed
        rounds += 1
    return confidences, rounds


def _with_class_masses(confidences: FloatArray, candidates: CandidateLabels) -> FloatArray:
    """Return confidences with the mass that every class had at first; rows no longer sum to one."""
    _, columns = candidates.pairs()
    wanted = np.bincount(columns, weights=candidates.prior().data)
    found = np.bincount(columns, weights=confidences)
    factors = np.divide(wanted, found, out=np.ones_like(found), where=found > 0)
    return confidences * factors[columns]


def _shares(values: FloatArray) -> FloatArray:
    """Return rows divided by their sum; rows of zeros as they are."""
    totals = values.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
    return shares

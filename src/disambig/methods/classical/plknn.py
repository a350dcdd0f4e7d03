"""PLKNN: vote over the candidate sets of the nearest neighbours."""

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics.pairwise import paired_euclidean_distances
from sklearn.utils import gen_batches

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_choice, check_integer
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import MethodCard, PartialLabelClassifier, confidence_from_scores
from disambig.methods.saving import SCALER, Learned, array
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.neighbors import (
    graph_of_weights,
    index_of_rows,
    nearest_of_queries,
    nearest_of_training_rows,
)

_NUMBERS_AT_A_TIME = 4_000_000
_FEATURES_TO_COMPARE_DIRECTIONS = 10


class PLKNN(PartialLabelClassifier):
    r"""Vote over the candidate sets of the nearest neighbours.

    The score of class j for a query with neighbours at the distances :math:`d_1, \dots, d_k`, whose
    candidate sets are :math:`S_1, \dots, S_k`, is

    .. math:: \sum_{r: j \in S_r} w_r

    with :math:`w_r = 1`, or :math:`w_r = 1 - d_r / \sum_q d_q` where nearer neighbours count more
    (a single neighbour counts one). A set of many candidates votes for each of them in full. Scores
    divided by their sum are the probabilities.

    For a training row, its own set takes no part in the vote: the confidences are the scores from
    its neighbours, restricted to its candidates.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours that vote; all rows if there are fewer.
    weights : {"distance", "uniform"}, default="distance"
        Whether nearer neighbours count more.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="half"
        How features are scaled before distances are taken, fitted on the training rows.
    unit_rows : bool or "auto", default="auto"
        Whether rows are then scaled to length one, so that distance compares directions. On some
        data of many features this helps much (Lost, BirdSong), on other data it costs (MSRCv2);
        with one or two features nothing is left to compare. "auto" does it from ten features on.

    See Also
    --------
    IPAL : Rebuilds every row from its neighbours, and spreads confidences.

    Examples
    --------
    >>> from disambig import CandidateLabels, PLKNN
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> method = PLKNN(n_neighbors=2).fit(X, y)
    >>> method.predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="plknn",
        title="Vote over the candidate sets of the nearest neighbours",
        when="for a quick first result, or with few features",
        paper="Hüllermeier and Beringer, Learning from ambiguously labeled examples, "
        "Intelligent Data Analysis",
        year=2006,
        doi="10.3233/IDA-2006-10503",
        deviations=(
            "Nearer neighbours have larger votes; in the formula that papers give, and in "
            "weights='uniform', every neighbour has one vote for each of its candidates.",
            "All the nearest neighbours of a new row vote; a widely copied MATLAB file leaves out "
            "the nearest one.",
            "Features are scaled before distances are taken, and from ten features on rows are "
            "brought to length one; scaling='none' with unit_rows=False leaves them alone.",
            "Where candidates carry weights, a neighbour's votes are in proportion to them.",
        ),
    )
    accepts_sparse: ClassVar[bool] = True

    _growth: ClassVar[int | None] = 2

    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "_rows": array("rows", "features"),
        "_votes": array("rows", "classes"),
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        weights: str = "distance",
        scaling: Any = "half",
        unit_rows: bool | str = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.scaling = scaling
        self.unit_rows = unit_rows

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, minimum=1)
        check_choice("weights", self.weights, ("distance", "uniform"))
        check_scaling(self.scaling)
        if not isinstance(self.unit_rows, bool | np.bool_) and self.unit_rows != "auto":
            raise ParameterError(
                f"'unit_rows' must be True, False or 'auto'. Got {self.unit_rows!r} instead."
            )

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        self._rows = self._prepared(X)
        self._index = index_of_rows(self._rows)
        # Equal weights make every candidate one vote, whatever the size of the set.
        self._votes = candidates.prior().multiply(candidates.sizes[:, np.newaxis]).tocsr()
        neighbors = nearest_of_training_rows(self._index, self.n_neighbors)
        return confidence_from_scores(candidates, self._scores(self._rows, neighbors))

    def _after_load(self) -> None:
        # Not kept: a tree out of a file could lead its search beyond the end of an array.
        self._index = index_of_rows(self._rows)
        if self._votes.data.min(initial=0) < 0:
            raise ValueError("votes must not be negative")

    def _predict_proba(self, X: Features) -> FloatArray:
        query = self._prepared(X)
        neighbors = nearest_of_queries(self._index, query, self.n_neighbors)
        probabilities: FloatArray = self._scores(query, neighbors).toarray()
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities

    def _prepared(self, X: Features) -> Features:
        auto = X.shape[1] >= _FEATURES_TO_COMPARE_DIRECTIONS
        unit_rows = auto if self.unit_rows == "auto" else bool(self.unit_rows)
        return apply_scaler(self._scaler, X, unit_rows=unit_rows)

    def _scores(self, query: Features, neighbors: IntArray) -> Sparse:
        weights: FloatArray = np.ones(neighbors.shape)
        if self.weights == "distance" and neighbors.shape[1] > 1:
            weights = _distance_weights(_exact_distances(query, self._rows, neighbors))
        return graph_of_weights(weights, neighbors, self._votes.shape[0]) @ self._votes


def _exact_distances(query: Features, rows: Features, neighbors: IntArray) -> FloatArray:
    """Return the distance of every query to its neighbours, zero between equal rows.

    The search itself may use a faster formula that rounds worse than the weights can bear.
    """
    queries, count = neighbors.shape
    distances = np.empty(neighbors.shape)
    queries_at_a_time = max(1, _NUMBERS_AT_A_TIME // (count * query.shape[1]))
    for batch in gen_batches(queries, queries_at_a_time):
        nearest = neighbors[batch]
        repeated = query[np.repeat(np.arange(queries)[batch], count)]
        pairs = paired_euclidean_distances(repeated, rows[nearest.ravel()])
        distances[batch] = pairs.reshape(nearest.shape)
    return distances


def _distance_weights(distances: FloatArray) -> FloatArray:
    """Return 1 - d / sum(d) for every row of distances; equal weights where all are zero.

    So too where they are too large for a number: all neighbours are equally far away.
    """
    totals = distances.sum(axis=1, keepdims=True)
    shares: FloatArray = np.zeros_like(distances)
    np.divide(distances, totals, out=shares, where=(totals > 0) & np.isfinite(totals))
    return 1 - shares

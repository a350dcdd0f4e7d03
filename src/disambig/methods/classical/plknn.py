"""PLKNN: vote over the candidate sets of the nearest neighbours."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from disambig._core.parameters import check_choice, check_integer
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.card import MethodCard
from disambig.methods.confidence import confidence_from_scores
from disambig.methods.scaling import check_scaling, fit_scaler

__all__ = ["PLKNN"]


class PLKNN(PartialLabelClassifier):
    """Vote over the candidate sets of the nearest neighbours.

    The score of class j for a query with neighbours at the distances d_1 .. d_k is
    ``sum_r w_r [j is a candidate of neighbour r]`` with ``w_r = 1``, or
    ``w_r = 1 - d_r / sum_q d_q`` where nearer neighbours count more. A set of many candidates
    votes for each of them in full. Scores divided by their sum are the probabilities.

    For a training row, its own set takes no part in the vote: the confidences are the scores from
    its neighbours, restricted to its candidates.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours that vote; all of them where there are fewer.
    weights : {"distance", "uniform"}, default="distance"
        Whether nearer neighbours count more.
    scaling : {"standard", "none"} or transformer, default="standard"
        How features are scaled before distances are taken, fitted on the training rows.
    unit_rows : bool, default=True
        Whether rows are then scaled to length one, so that distance compares directions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba``.
    candidate_confidence_ : sparse array of shape (n_samples, n_classes)
        Confidence of every candidate of every training row.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Examples
    --------
    >>> from disambig import CandidateLabels, PLKNN
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"])
    >>> method = PLKNN(n_neighbors=2).fit(X, y)
    >>> method.predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="plknn",
        title="Vote over the candidate sets of the nearest neighbours",
        paper="Hüllermeier and Beringer, Learning from ambiguously labeled examples, "
        "Intelligent Data Analysis",
        year=2006,
        doi="10.3233/IDA-2006-10503",
        deviations=(
            "Features are standardised and rows scaled to length one before distances are taken; "
            "scaling='none', unit_rows=False is the plain method.",
            "Where candidates carry weights, a neighbour's votes are in proportion to them.",
        ),
    )
    accepts_sparse: ClassVar[bool] = True

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        weights: str = "distance",
        scaling: Any = "standard",
        unit_rows: bool = True,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.scaling = scaling
        self.unit_rows = unit_rows

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, minimum=1)
        check_choice("weights", self.weights, ("distance", "uniform"))
        check_scaling(self.scaling)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        # Equal weights make every candidate one vote, whatever the size of the set.
        self._votes = candidates.prior().multiply(candidates.sizes[:, np.newaxis]).tocsr()
        rows = self._prepared(X)
        self._noise = _distance_noise(rows)
        self._neighbors = NearestNeighbors().fit(rows)
        if len(candidates) == 1:
            return candidates.prior()
        count = min(self.n_neighbors, len(candidates) - 1)
        # Without a query, a row is not its own neighbour, not even where rows are repeated.
        scores = self._scores(*self._neighbors.kneighbors(n_neighbors=count))
        return confidence_from_scores(candidates, scores)

    def _predict_proba(self, X: Features) -> FloatArray:
        count = min(self.n_neighbors, self._votes.shape[0])
        query = self._prepared(X)
        scores = self._scores(*self._neighbors.kneighbors(query, n_neighbors=count))
        probabilities: FloatArray = scores.toarray()
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities

    def _prepared(self, X: Features) -> Features:
        scaled = self._scaler.transform(X)
        return normalize(scaled) if self.unit_rows else scaled

    def _scores(self, distances: FloatArray, neighbors: IntArray) -> Sparse:
        weights = np.ones_like(distances)
        if self.weights == "distance":
            weights = _distance_weights(np.where(distances > self._noise, distances, 0))
        queries, count = neighbors.shape
        ends = np.arange(0, queries * count + 1, count)
        shape = (queries, self._votes.shape[0])
        return (
            sparse.csr_array((weights.ravel(), neighbors.ravel(), ends), shape=shape) @ self._votes
        )


def _distance_weights(distances: FloatArray) -> FloatArray:
    totals = distances.sum(axis=1, keepdims=True)
    if distances.shape[1] == 1:
        # 1 - d / d would leave the only neighbour without a vote.
        return np.ones_like(distances)
    shares: FloatArray = np.zeros_like(distances)
    np.divide(distances, totals, out=shares, where=totals > 0)
    return 1 - shares


def _distance_noise(rows: Features) -> float:
    """Return what the fast distance formula may report between two equal rows."""
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
    longest = np.sqrt(squares.sum(axis=1).max())
    return float(longest * np.sqrt(np.finfo(np.float64).eps) * 10)

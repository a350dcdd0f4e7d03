"""
A method in one file
====================

A method needs a card, a list of what it learns, and two functions. The base class checks input,
keeps confidences inside the candidate sets, saves and loads. :doc:`plot_own_method_in_a_study`
compares this one with others.
"""

from typing import ClassVar

import numpy as np
from scipy import sparse

from disambig.methods.base import MethodCard, PartialLabelClassifier
from disambig.methods.saving import Learned, array


class NearestCentre(PartialLabelClassifier):
    """Find the centres of classes from the labels of rows, and the labels from the centres.

    Parameters
    ----------
    rounds : int, default=5
        How often both are computed.
    """

    card: ClassVar[MethodCard] = MethodCard(name="nearest_centre", title="Nearest centre")
    _learned: ClassVar[Learned] = {
        "centres_": array("classes", "features"),
        "scale_": array("features"),
    }

    def __init__(self, *, rounds: int = 5) -> None:
        self.rounds = rounds

    def _fit(self, X, candidates):
        # 1 / |S| for each candidate, or its share of the weights, such as votes.
        prior = weights = candidates.prior().toarray()
        self.scale_ = np.maximum(X.std(axis=0), 1e-12)
        for _ in range(self.rounds):
            total = np.maximum(weights.sum(axis=0), 1e-12)
            self.centres_ = weights.T @ X / total[:, np.newaxis]
            weights = prior * self._predict_proba(X)
            weights /= weights.sum(axis=1, keepdims=True)
        return sparse.csr_array(weights)

    def _predict_proba(self, X):
        distances = (X[:, np.newaxis] - self.centres_) / self.scale_
        scores = -(distances**2).mean(axis=2)  # not the sum: many features make that too sure
        likelihood = np.exp(scores - scores.max(axis=1, keepdims=True)) + 1e-12
        return likelihood / likelihood.sum(axis=1, keepdims=True)

"""Random candidate: a floor, a classifier trained on a blind guess inside every set."""

from typing import Any, ClassVar

import numpy as np

from disambig._core.parameters import RandomState, make_generator
from disambig._core.typing import Features, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.card import MethodCard
from disambig.methods.reference.supervised import SupervisedReference, certain

__all__ = ["RandomCandidateClassifier"]


class RandomCandidateClassifier(SupervisedReference):
    """Draw one candidate per row (by its weight) and train on it as if it were the truth.

    Parameters
    ----------
    estimator : classifier, default=None
        An ordinary classifier with ``predict_proba``; logistic regression by default.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.
    random_state : int, generator or None, default=None
        Seed of the draw.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the column order of ``predict_proba``.
    candidate_confidence_ : sparse array of shape (n_samples, n_classes)
        One for the candidate that was drawn.
    n_features_in_ : int
        Number of features seen in ``fit``.
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="random_candidate", title="Trained on a random candidate of every row", role="floor"
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
        self._train(X, rows, columns)
        return certain(columns, len(candidates.classes))

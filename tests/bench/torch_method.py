"""A method whose module loads torch, as those on networks do."""

from typing import ClassVar

import numpy as np
import torch

from disambig.methods import PartialLabelClassifier
from disambig.methods.base import MethodCard


class ThreadCounter(PartialLabelClassifier):
    """Says, as the probability of the first class, how many threads torch had: one in so many."""

    card: ClassVar[MethodCard] = MethodCard(name="thread_counter", title="Counts threads")

    def _fit(self, X, candidates):
        self._share = 1 / torch.get_num_threads()
        return candidates.prior()

    def _predict_proba(self, X):
        shares = np.full(len(self.classes_), (1 - self._share) / (len(self.classes_) - 1))
        shares[0] = self._share
        return np.tile(shares, (len(X), 1))

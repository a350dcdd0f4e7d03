"""Problems that several methods are tested on."""

import numpy as np

from disambig import CandidateLabels
from disambig.datasets import make_partial_label_dataset


def random_problem(seed, *, weighted=False):
    """Return 20 rows of 3 features, sets of two among four classes, and a generator."""
    generator = np.random.default_rng(seed)
    data = make_partial_label_dataset(
        20, 3, 4, average_candidates=2, overlap=0.6, random_state=seed
    )
    mask = data.candidates.to_mask()
    weights = mask * generator.uniform(0.1, 1, mask.shape) if weighted else None
    return data.X, CandidateLabels.from_mask(mask, weights=weights), generator


def equal_shares(candidates):
    """Return one distribution a row, the same for all its candidates."""
    mask = candidates.to_mask()
    return mask / mask.sum(axis=1, keepdims=True)

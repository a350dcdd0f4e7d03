"""Split samples into folds."""

import numpy as np
from sklearn.model_selection import KFold

from disambig._core.parameters import check_integer
from disambig._core.typing import IntArray

__all__ = ["shuffled_folds"]


def shuffled_folds(n_samples: int, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return the training and test rows of every fold, shuffled by ``seed``.

    Shuffled, because data files are often sorted by class; scikit-learn's ``cv=10`` is not.
    """
    check_integer("n_folds", n_folds, minimum=2, maximum=n_samples)
    check_integer("seed", seed, minimum=0, maximum=2**32 - 1)
    splitter = KFold(n_splits=n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.empty((n_samples, 0))))

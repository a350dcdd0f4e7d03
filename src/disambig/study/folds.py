"""Split samples into folds."""

import numpy as np
from sklearn.model_selection import KFold

from disambig._core.errors import ParameterError
from disambig._core.typing import IntArray

__all__ = ["shuffled_folds"]


def shuffled_folds(n_samples: int, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return the training and test rows of every fold, shuffled by ``seed``.

    Shuffled, because data files are often sorted by class; scikit-learn's ``cv=10`` is not.
    """
    if not 2 <= n_folds <= n_samples:
        raise ParameterError(
            f"'n_folds' must be from 2 to the number of samples, {n_samples}. Got {n_folds}."
        )
    splitter = KFold(n_splits=n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.empty((n_samples, 0))))

"""Which rows are held out: by folds, or a share of them once."""

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_integer, check_real
from disambig._core.typing import IntArray

__all__ = ["Split", "shuffled_folds"]


def shuffled_folds(n_samples: int, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return the training and test rows of every fold, shuffled by ``seed``.

    Shuffled, because data files are often sorted by class; scikit-learn's ``cv=10`` is not.
    """
    check_integer("n_folds", n_folds, minimum=2, maximum=n_samples)
    _check_seed(seed)
    splitter = KFold(n_splits=n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.empty((n_samples, 0))))


@dataclass(frozen=True)
class Split:
    """One way to hold rows out: a fold of several, or a share of the rows.

    Attributes
    ----------
    seed : int
        Shuffles the rows.
    fold : int
        Which of the folds is held out; 0 where a share is.
    n_folds : int or None
        Number of folds.
    test_share : float or None
        Share of the rows to hold out, in the place of folds.
    """

    seed: int
    fold: int = 0
    n_folds: int | None = None
    test_share: float | None = None

    def rows(self, n_samples: int) -> tuple[IntArray, IntArray]:
        """Return the rows to train on and the rows held out."""
        if self.n_folds is not None:
            return shuffled_folds(n_samples, self.n_folds, self.seed)[self.fold]
        check_real("test_share", self.test_share, minimum=0, maximum=1)
        _check_seed(self.seed)
        n_test = round((self.test_share or 0) * n_samples)
        if not 0 < n_test < n_samples:
            raise ParameterError(
                f"'test_share' must leave rows on both sides. {self.test_share} of {n_samples} "
                f"rows is {n_test}. Choose another share."
            )
        splitter = ShuffleSplit(n_splits=1, test_size=n_test, random_state=self.seed)
        train, test = next(splitter.split(np.empty((n_samples, 0))))
        return train, test


def _check_seed(seed: int) -> None:
    check_integer("seed", seed, minimum=0, maximum=2**32 - 1)

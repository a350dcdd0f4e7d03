"""Which rows are trained on and which held out: folds or a share, of rows or of whole groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_integer, check_real
from disambig._core.typing import AnyArray, BoolArray, IntArray
from disambig.candidates.groups import deal_groups, group_numbers, hold_out_groups


def shuffled_folds(
    n_samples: int, n_folds: int, seed: int, groups: Sequence[Any] | AnyArray | None = None
) -> list[tuple[IntArray, IntArray]]:
    """Return the training and test rows of every fold, shuffled by ``seed``.

    Shuffled, because data files are often sorted by class; scikit-learn's ``cv=10`` is not.

    Parameters
    ----------
    n_samples : int
        Rows of the dataset.
    n_folds : int
        Number of folds.
    seed : int
        Seed of the order.
    groups : sequence of length n_samples, optional
        Number or name of the group of every row, as ``CandidateLabels.groups`` has them. All rows
        of a group are in the same fold; folds are as even as large groups allow. By default every
        row stands alone.

    See Also
    --------
    cross_validate : Uses them.

    Examples
    --------
    >>> from disambig.bench import shuffled_folds
    >>> folds = shuffled_folds(10, 5, seed=0)
    >>> [(len(train), len(test)) for train, test in folds]
    [(8, 2), (8, 2), (8, 2), (8, 2), (8, 2)]
    >>> pictures = [0, 0, 0, 1, 1, 2]
    >>> [test.tolist() for _, test in shuffled_folds(6, 2, seed=0, groups=pictures)]
    [[3, 4, 5], [0, 1, 2]]
    """
    check_integer("n_folds", n_folds, minimum=2, maximum=n_samples)
    _check_seed(seed)
    if groups is None:
        splitter = KFold(n_splits=n_folds, shuffle=True, random_state=seed)
        return list(splitter.split(np.empty((n_samples, 0))))
    fold_of_row = deal_groups(group_numbers(groups, n_samples), n_folds, seed)
    return [_sides(fold_of_row == fold) for fold in range(n_folds)]


@dataclass(frozen=True)
class Split:
    """One way to hold rows out: a fold of several, or a share of the rows."""

    seed: int  # shuffles the rows, or groups
    fold: int = 0  # which of the folds is held out; 0 where a share is
    n_folds: int | None = None
    test_share: float | None = None  # of the rows, instead of folds

    def rows(self, n_samples: int, groups: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """Return the rows to train on and the rows held out; with groups, whole groups of them."""
        if self.n_folds is not None:
            return shuffled_folds(n_samples, self.n_folds, self.seed, groups)[self.fold]
        check_real("test_share", self.test_share, minimum=0, maximum=1)
        _check_seed(self.seed)
        share = self.test_share or 0
        n_test = round(share * n_samples)
        if not 0 < n_test < n_samples:
            raise ParameterError(
                f"'test_share' must leave rows on both sides. {self.test_share} of {n_samples} "
                f"rows is {n_test}. Choose another share."
            )
        if groups is not None:
            return _sides(hold_out_groups(groups, share, self.seed))
        splitter = ShuffleSplit(n_splits=1, test_size=n_test, random_state=self.seed)
        train, test = next(splitter.split(np.empty((n_samples, 0))))
        return train, test


def _sides(is_held_out: BoolArray) -> tuple[IntArray, IntArray]:
    return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def _check_seed(seed: int) -> None:
    check_integer("seed", seed, minimum=0, maximum=2**32 - 1)

"""Rows chosen so that classes have long-tailed shares: a few frequent ones, and many rare."""

from collections.abc import Iterable

import numpy as np

from disambig._core.parameters import RandomState, check_real, make_generator
from disambig._core.typing import IntArray, Label
from disambig.candidates.build import parts_from_labels


def long_tailed(
    labels: Iterable[Label],
    *,
    imbalance: float = 100.0,
    classes: Iterable[Label] | None = None,
    random_state: RandomState = None,
) -> IntArray:
    """Choose rows so that the sizes of classes fall exponentially.

    The protocol of the literature on long tails. With the classes that occur in order of their
    frequency, the most frequent one first, the k-th of K keeps

        size of the first * imbalance ** (-(k - 1) / (K - 1))

    rows, rounded down and at least one, or all that it has. They are drawn without replacement.

    Parameters
    ----------
    labels : iterable of labels
        The true label of every sample.
    imbalance : float, default=100
        Size of the most frequent class over that of the rarest, 1 or more. With 1 all rows stay.
    classes : iterable of labels, optional
        All classes; of equally frequent ones the first is taken for the more frequent one. By
        default the labels that occur, sorted.
    random_state : int, generator or None, default=None
        Seed.

    Returns
    -------
    rows : ndarray of integers
        Numbers of the rows to keep, in ascending order.

    See Also
    --------
    corrupt_by_flips : Makes candidate sets of the labels of these rows.
    disambig.methods.RECORDS, disambig.methods.SoLar : Methods for such data.

    Examples
    --------
    >>> import numpy as np
    >>> from disambig.candidates import long_tailed
    >>> labels = np.repeat(["cat", "dog", "fox"], 50)
    >>> rows = long_tailed(labels, imbalance=25, random_state=0)
    >>> [int((labels[rows] == name).sum()) for name in ("cat", "dog", "fox")]
    [50, 10, 2]
    """
    check_real("imbalance", imbalance, minimum=1)
    parts = parts_from_labels(labels, classes)
    columns = parts.mask.indices.astype(np.int64)
    sizes = np.bincount(columns, minlength=len(parts.classes))
    order = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
    steps = np.arange(len(order)) / max(len(order) - 1, 1)
    # What should be whole is not to be cut off by how it is rounded.
    kept = np.floor(sizes[order[:1]] * float(imbalance) ** -steps + 1e-9).astype(np.int64)
    generator = make_generator(random_state)
    chosen = [
        generator.choice(rows, size=min(max(count, 1), len(rows)), replace=False)
        for rows, count in zip((np.flatnonzero(columns == n) for n in order), kept, strict=True)
    ]
    rows: IntArray = np.sort(np.concatenate([*chosen, np.empty(0, dtype=np.int64)]))
    return rows

r"""What the label of one row says about that of another: a joint of two labels, and its worth.

Two rows of probabilities :math:`p` and :math:`q` are tied with a probability that falls with their
distance; else their labels are independent. The labels of tied rows agree as often as p and q let
them: both are y with probability :math:`\min(p_y, q_y)`, and what then is left of p and of q is
independent. So the answer on one row moves the other, and the mean of what it may become, over all
answers, is q: nothing is gained for nothing.

Of the second row :math:`1 - \max_k q_k` errors are expected before. After an answer y on the first,
the label :math:`\arg\max_k P(y, k)` is chosen. The answer is worth

.. math:: \sum_y \max_k P(y, k) - \max_k q_k \ge 0

errors. It is zero where no answer would change the choice, as where the first row is sure.
"""

import numpy as np
from scipy import sparse

from disambig._core.typing import FloatArray, Sparse
from disambig.solvers.blocks import split_rows

_NUMBERS_AT_A_TIME = 4_000_000


def value_if_tied(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the errors that answers on first rows remove in second rows, if each two are tied.

    Both are of shape (n, n_classes). Rows may sum to less than one: the rest is outside their sets
    and agrees with nothing.
    """
    both = np.minimum(first, second)
    rest_of_first, rest_of_second = first - both, second - both
    apart = 1 - both.sum(axis=1, keepdims=True)
    # A label with a rest in one row has none in the other, so this is the joint off the diagonal.
    likeliest = rest_of_second.max(axis=1, keepdims=True) / np.where(apart > 0, apart, 1)
    after = np.maximum(both, rest_of_first * likeliest).sum(axis=1)
    value: FloatArray = np.maximum(after - second.max(axis=1), 0)
    return value


def errors_removed(shares: Sparse, ties: Sparse) -> Sparse:
    """Return how many errors an answer on each row is expected to remove in each other row.

    ``shares`` has the probabilities of labels, a row each. ``ties[i, j]`` is the probability that
    rows i and j are tied; the result has the same entries.
    """
    edges = ties.tocoo()
    asked, others = edges.coords
    values = np.empty(len(asked))
    width = max(1, _NUMBERS_AT_A_TIME // max(1, shares.shape[1]))
    for part in split_rows(0, len(asked), width):
        values[part] = value_if_tied(shares[asked[part]].toarray(), shares[others[part]].toarray())
    return sparse.csr_array((edges.data * values, (asked, others)), shape=ties.shape)

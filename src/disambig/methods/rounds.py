r"""Learn by rounds: what a label is believed of a row comes from models that did not train on it.

A strong learner that is asked about its own training rows confirms what it was told. So in every
round each row is judged by models that have not seen it, from other folds or out of the bag, and
these judgements, :math:`p_j`, become the confidences of the next round:

.. math:: q_j = \frac{\pi_j \, p_j^b}{\sum_{k \in S} \pi_k \, p_k^b}

with the prior :math:`\pi_j` of a candidate and a power :math:`b` that sharpens a little every time.
As in NCPD easy rows come first: in the first rounds only those whose best candidate is most
probable take new confidences, the others keep their prior.
"""

import numpy as np
from scipy import sparse

from disambig._core.typing import FloatArray, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_maxima, group_sums
from disambig.methods.row_weights import relative_row_weights

# A class that some folds have not seen is unlikely to them, not impossible.
_SMALLEST_PROBABILITY = 1e-4


def share_of_easy_rows(round_number: int, ramp_rounds: int) -> float:
    """Return the share of rows that take new confidences after a round; rounds count from 0."""
    return min(1.0, (round_number + 1) / ramp_rounds)


def next_confidences(
    candidates: CandidateLabels, judged: FloatArray, *, share: float, power: float
) -> FloatArray:
    """Return the confidence of every candidate, in the order of ``candidates.pairs()``.

    Parameters
    ----------
    candidates : CandidateLabels
        The sets.
    judged : ndarray of shape (rows, classes)
        Probabilities by models that were not trained on the row.
    share : float
        Share of the rows, the easiest, that take new confidences.
    power : float
        Above 1, confidences are sharper than the probabilities.
    """
    rows, _ = candidates.pairs()
    inside = np.maximum(candidates.values_of(judged), _SMALLEST_PROBABILITY)
    largest = group_maxima(inside, candidates.starts)
    prior: FloatArray = candidates.prior().data
    scores = prior * (inside / largest[rows]) ** power
    found = scores / group_sums(scores, candidates.starts)[rows]
    is_easy = largest >= np.quantile(largest, 1 - share)
    return np.where(is_easy[rows], found, prior)


def pair_weights(
    candidates: CandidateLabels, confidences: FloatArray, class_weights: FloatArray | None = None
) -> FloatArray:
    """Return how much every candidate counts in training, in the order of ``candidates.pairs()``.

    A row with one clear candidate counts more than an open one: by the sum of its squared
    confidences, which is 1 for a single label.
    """
    rows, columns = candidates.pairs()
    of_rows = group_sums(confidences**2, candidates.starts)
    given = relative_row_weights(candidates)
    if given is not None:
        of_rows = of_rows * given
    weights: FloatArray = confidences * of_rows[rows]
    if class_weights is not None:
        weights = weights * class_weights[columns]
    return weights


def soft_targets(
    rows: IntArray, columns: IntArray, weights: FloatArray, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Return the weights of pairs as targets of rows, which sum to one, and weights of rows."""
    targets = sparse.csr_array((weights, (rows, columns)), shape=shape).toarray()
    row_weights: FloatArray = targets.sum(axis=1)
    targets /= np.where(row_weights > 0, row_weights, 1)[:, np.newaxis]
    return targets, row_weights

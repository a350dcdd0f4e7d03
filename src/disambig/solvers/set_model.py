r"""How candidate sets come about: which labels join which truth, how often the truth is missing.

Of every row somebody who has not seen its set says how probable each class is. The set then comes
about like this: each other label :math:`j` joins the truth :math:`y` with a probability
:math:`\phi_{yj}` of this pair, and the truth itself is left out with a probability :math:`e`. Both
are learned from all rows by expectation and maximisation. What follows for a row is the probability
of every class given its features and its set, and so of the set missing the truth.

Which labels join which truth matters: where two labels nearly always come together, a set that has
only one of them is suspicious, whatever the features say.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from disambig._core.typing import BoolArray, FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.solvers.calibration import Calibration, calibrate_predictions, some_rows

# As if this many rows of every class had been seen, with labels as frequent as anywhere.
_PSEUDO_ROWS = 2.0
_SMALLEST = 1e-4
_SMALLEST_PROBABILITY = 1e-9
_STEPS = 200
_TOLERANCE = 1e-4


class SetModel(NamedTuple):
    """What a table of candidate sets looks like once it is explained.

    Attributes
    ----------
    miss_rate : float
        Share of the sets that do not contain the truth.
    standard_error : float
        Of the miss rate, from the number of rows and from how well they tell; that the judge may be
        wrong is not in it. 0 where the rate was given.
    posterior : ndarray of shape (rows, classes)
        Probability of every class, given what was said of the row and its set.
    miss_probability : ndarray of shape (rows,)
        Probability that the set misses the truth: the posterior outside the set.
    joins : ndarray of shape (classes, classes)
        How often the label of each column is in the set of a row whose truth is that of the line.
    """

    miss_rate: float
    standard_error: float
    posterior: FloatArray
    miss_probability: FloatArray
    joins: FloatArray


def fit_set_model(
    probabilities: FloatArray,
    candidates: CandidateLabels,
    *,
    miss_rate: float | None = None,
    doubt: float = 0.0,
) -> SetModel:
    """Explain candidate sets by what somebody says of rows whose sets he has not seen.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, classes)
        Of every class, in the column order of ``candidates``; rows sum to one.
    candidates : CandidateLabels
        The sets. Weights say which candidates are more likely than others.
    miss_rate : float, optional
        Share of the sets that miss the truth, where it is known; else it is estimated.
    doubt : float, default=0
        How much of the probability is spread evenly over the classes first, because whoever judges
        may be wrong for no reason that shows. Without it, rows that are merely hard count as
        missing their truth.
    """
    # Some methods rank classes well and are far too modest about it. None is made less sure: to
    # doubt a judge and to believe the sets is the same thing to the likelihood.
    power = max(1.0, calibrate_predictions(probabilities, candidates).power)
    sharpened = Calibration(power).apply(probabilities)
    doubted = (1 - doubt) * sharpened + doubt / candidates.shape[1]
    log_said = np.log(np.maximum(doubted, _SMALLEST_PROBABILITY)) + _log_weights(candidates)
    mask = sparse.csr_array(candidates.to_sparse(), dtype=float)
    inside = candidates.to_mask()
    if inside.all():
        miss_rate = 0.0  # a set of all classes misses nothing
    rows = some_rows(len(candidates))
    rate, joins, error = _learn(log_said[rows], mask[rows], inside[rows], miss_rate)
    posterior, _ = _expect(log_said, mask, inside, rate, joins)
    return SetModel(rate, error, posterior, np.where(inside, 0.0, posterior).sum(axis=1), joins)


def _learn(
    log_said: FloatArray, mask: sparse.csr_array, inside: BoolArray, miss_rate: float | None
) -> tuple[float, FloatArray, float]:
    """Return the miss rate, which labels join which, and the rate's standard error, by EM."""
    n_rows, n_classes = mask.shape
    base = np.asarray(mask.mean(axis=0)).ravel()
    joins: FloatArray = np.full((n_classes, n_classes), base.mean())
    rate = 0.05 if miss_rate is None else miss_rate
    before = -np.inf
    for _ in range(_STEPS):
        posterior, likelihood = _expect(log_said, mask, inside, rate, joins)
        missing: FloatArray = np.where(inside, 0.0, posterior).sum(axis=1)
        if miss_rate is None:
            rate = float((missing.sum() + 0.5) / (n_rows + 1))
        found = (mask.T @ posterior).T + _PSEUDO_ROWS * base
        joins = found / (posterior.sum(axis=0)[:, np.newaxis] + _PSEUDO_ROWS)
        if likelihood < before + _TOLERANCE:
            break
        before = likelihood
    return rate, joins, _standard_error(missing, rate) if miss_rate is None else 0.0


def _expect(
    log_said: FloatArray, mask: sparse.csr_array, inside: BoolArray, rate: float, joins: FloatArray
) -> tuple[FloatArray, float]:
    """Return the probability of every class in every row, and the sets' mean log-likelihood."""
    with np.errstate(divide="ignore"):  # a rate of 0 rules out what is outside
        log_prior = np.where(inside, np.log1p(-rate), np.log(rate))
    log_joint = log_said + _log_likelihood(mask, joins) + log_prior
    of_rows = logsumexp(log_joint, axis=1, keepdims=True)
    return np.exp(log_joint - of_rows), float(of_rows.mean())


def _log_weights(candidates: CandidateLabels) -> FloatArray:
    """Return the logarithm of each candidate's weight over the mean of its row; 0 elsewhere."""
    logarithms = np.zeros(candidates.shape)
    if candidates.weights is not None:
        rows, columns = candidates.pairs()
        relative = candidates.values_of(candidates.prior()) * candidates.sizes[rows]
        logarithms[rows, columns] = np.log(np.maximum(relative, _SMALLEST))
    return logarithms


def _log_likelihood(mask: sparse.csr_array, joins: FloatArray) -> FloatArray:
    """Return the log-probability of the other labels of every set, for every possible truth."""
    joins = joins.clip(_SMALLEST, 1 - _SMALLEST)
    absent = np.log1p(-joins)
    present = np.log(joins) - absent
    # The truth itself is accounted for by the miss rate.
    np.fill_diagonal(present, 0)
    np.fill_diagonal(absent, 0)
    likelihood: FloatArray = mask @ present.T + absent.sum(axis=1)
    return likelihood


def _standard_error(missing: FloatArray, rate: float) -> float:
    """Return the standard error of the rate by the curvature of the likelihood."""
    scores = missing / rate - (1 - missing) / (1 - rate)
    information = float(scores @ scores)
    return information**-0.5 if information > 0 else np.inf

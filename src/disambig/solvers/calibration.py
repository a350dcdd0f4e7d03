r"""Make probabilities mean what they say, judged by candidate sets alone.

A model that was not trained on a row gives probabilities :math:`p_j`. They become

.. math:: q_j = (1 - d) \frac{p_j^b}{\sum_k p_k^b} + \frac{d}{c},

with a power :math:`b` above one for a model that is too modest, below one for a model that is too
sure, and a doubt :math:`d` for rows where it is wrong for no reason that shows. Their order, and so
the predicted label, stays as it is. Where the two come from depends on the question:

- For a new row every class counts: they are those under which the candidate sets of the rows are
  most likely.
- For a row's own set only its candidates count: how well does the model tell the truth from labels
  that joined it? The truth is in the row's own set, so labels that joined the truth in another row
  should get little probability beside it. Where labels occur together, a model may confuse these
  more than others. Rows of a single label tell: if the truth gets less probability there than
  confidences in the ambiguous rows imply, these are made more even until both agree.
- Votes on a row's candidates are multiplied with the probabilities, to the power that agrees best
  with these. Beliefs are different, as those of a language model that was shown what the features
  describe: they rest on the same evidence as a model that learned from them, and a product would
  count it twice. Power and doubt are then those under which beliefs on rows that the model has not
  seen are likeliest, a proper score, and a row gets the geometric mean of the two.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from disambig._core.typing import BoolArray, FloatArray, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_maxima, group_sums

_POWERS = np.geomspace(0.1, 10, 25).tolist()
_DOUBTS = (0.0, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2)
# Sets that miss the truth look like doubt; a grid without room for it would blame the power.
_MORE_DOUBTS = (*_DOUBTS, 0.3, 0.4, 0.5, 0.6, 0.7)
# Over the candidates of a row, where true labels are known.
_TRUE_LABEL_DOUBTS = (*_MORE_DOUBTS, 0.8, 0.9)
# How much the weights of candidates, such as votes, are believed: not at all, as given, twice.
_TRUSTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
# Of the product of two opinions that rest on the same evidence: their geometric mean.
_POOLED = 0.5
SMALLEST_PROBABILITY = 1e-9
# More rows change neither of the two by much, and cost time; so do fewer of very many classes.
_MOST_ROWS = 20_000
_MOST_PROBABILITIES = 5_000_000
_ROWS_AT_LEAST = 1_000
# Rows of a single label that say something together, and sets that each row is compared with.
_FEWEST_SINGLES = 20
_PARTNERS = 4
_HALVINGS = 25

# Of sharpened probabilities, for each of several doubts.
Losses = Callable[[FloatArray, FloatArray], FloatArray]


class Calibration(NamedTuple):
    """What probabilities are calibrated by.

    Attributes
    ----------
    power : float
        Log-probabilities are multiplied by it.
    doubt : float
        Share of the probability that is then spread evenly over the classes.
    """

    power: float = 1.0
    doubt: float = 0.0

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """Return calibrated probabilities; the order of the classes stays."""
        if self == Calibration():
            return probabilities
        spread = _sharpened(probabilities, self.power)
        calibrated: FloatArray = (1 - self.doubt) * spread + self.doubt / probabilities.shape[1]
        return calibrated


def calibrate_predictions(
    probabilities: FloatArray,
    candidates: CandidateLabels,
    *,
    miss_probability: FloatArray | None = None,
) -> Calibration:
    """Return the calibration under which sets of rows that the model has not seen are likeliest.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, classes)
        Of every class, by a model that was not trained on the row.
    candidates : CandidateLabels
        The sets. For true labels, give sets of one.
    miss_probability : ndarray of shape (rows,), optional
        Probability that the set misses the truth: such rows count less.
    """
    rows = some_rows(*candidates.shape)
    counts = _counts(candidates, miss_probability)[rows]
    candidates = candidates[rows]
    inside = candidates.to_mask()
    blind = candidates.sizes / candidates.shape[1]

    def surprises(spread: FloatArray, doubts: FloatArray) -> FloatArray:
        on_sets = np.where(inside, spread, 0).sum(axis=1)
        of_sets = _doubted(on_sets, blind, doubts)
        return -np.log(np.maximum(of_sets, SMALLEST_PROBABILITY)) @ counts

    return _best(surprises, probabilities[rows], _MORE_DOUBTS)


def calibrate_choices(
    probabilities: FloatArray,
    candidates: CandidateLabels,
    *,
    miss_probability: FloatArray | None = None,
    truth: IntArray | None = None,
    beliefs: bool = False,
) -> FloatArray:
    """Return how sure one can be of every candidate, in the order of ``candidates.pairs()``.

    The candidates of a row sum to one: that its set may miss the truth is not in it.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, classes)
        Of every class, by a model that was not trained on the row.
    candidates : CandidateLabels
        The sets. Weights are believed as far as the probabilities bear them out.
    miss_probability : ndarray of shape (rows,), optional
        Probability that the set misses the truth: such rows count less.
    truth : ndarray of int of shape (rows,), optional
        Column of the true label where it is known, else -1. If any is known, the candidates of
        these rows alone decide how sure one can be.
    beliefs : bool, default=False
        Whether weights are beliefs of somebody who knew what the features say, instead of votes.
    """
    rows = some_rows(*candidates.shape)
    sample, said = candidates[rows], probabilities[rows]
    if truth is not None and (truth >= 0).any():
        return _by_true_labels(probabilities, candidates, truth, _trust_in_weights(said, sample))
    counts = _counts(candidates, miss_probability)[rows]
    telling = _telling_weights(said, sample) if beliefs else None
    if telling is not None:
        calibration = _best(_surprise_at_weights(sample, counts * telling), said, _DOUBTS)
        return _shares(calibration.apply(probabilities), candidates, 1.0, _POOLED)
    calibration = _best(_own_set_or_other(said, sample, counts), said, _DOUBTS)
    said = calibration.apply(said)
    trust = _trust_in_weights(said, sample)
    evenness = _evenness(said, sample, trust, counts)
    return _shares(calibration.apply(probabilities), candidates, trust, evenness)


def _telling_weights(probabilities: FloatArray, candidates: CandidateLabels) -> BoolArray | None:
    """Return in which rows weights say how likely labels are; None if they seldom do.

    A row of a single label is sure of it, be there weights or not. Weights that are believed less
    than they claim say little of how far to believe the model.
    """
    if candidates.weights is None or _trust_in_weights(probabilities, candidates) < 1:
        return None
    weights, starts = candidates.values_of(candidates.prior()), candidates.starts
    unequal = group_maxima(weights, starts) > -group_maxima(-weights, starts) + 1e-9
    if 2 * unequal.sum() < (candidates.sizes > 1).sum() or not unequal.any():
        return None
    telling: BoolArray = unequal | (candidates.sizes == 1)
    return telling


def _surprise_at_weights(candidates: CandidateLabels, counts: FloatArray) -> Losses:
    """Return the cross-entropy of the weights of rows under their probabilities."""
    rows, columns = candidates.pairs()
    weights = counts[rows] * candidates.values_of(candidates.prior())

    def losses(spread: FloatArray, doubts: FloatArray) -> FloatArray:
        said, even = spread[rows, columns], np.full(len(rows), 1 / candidates.shape[1])
        surprises = -np.log(np.maximum(_doubted(said, even, doubts), SMALLEST_PROBABILITY))
        total: FloatArray = surprises @ weights
        return total

    return losses


def _counts(candidates: CandidateLabels, miss_probability: FloatArray | None) -> FloatArray:
    return np.ones(len(candidates)) if miss_probability is None else 1 - miss_probability


def some_rows(n_rows: int, n_classes: int = 1) -> IntArray | slice:
    """Return all rows or, of a large table, some of them, always the same."""
    most = min(_MOST_ROWS, max(_ROWS_AT_LEAST, _MOST_PROBABILITIES // n_classes))
    if n_rows <= most:
        return slice(None)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def _sharpened(probabilities: FloatArray, power: float) -> FloatArray:
    logarithms = np.log(np.maximum(probabilities, SMALLEST_PROBABILITY))
    sharpened: FloatArray = softmax(power * logarithms, axis=1)
    return sharpened


def _least_change_first() -> list[float]:
    return sorted(_POWERS, key=lambda power: abs(np.log(power)))


def _best(losses: Losses, probabilities: FloatArray, doubts: tuple[float, ...]) -> Calibration:
    """Return the power and the doubt of the smallest loss; among equals what changes least."""
    tried = []
    for power in _least_change_first():
        of_doubts = losses(_sharpened(probabilities, power), np.array(doubts))
        tried += [
            (loss, Calibration(power, doubt))
            for loss, doubt in zip(of_doubts.tolist(), doubts, strict=True)
        ]
    return min(tried, key=lambda of_calibration: of_calibration[0])[1]


def _doubted(sums: FloatArray, blind: FloatArray, doubts: FloatArray) -> FloatArray:
    """Return sums of probabilities for each doubt (lines) and row, given their share of classes."""
    return np.outer(1 - doubts, sums) + np.outer(doubts, blind)


def _own_set_or_other(
    probabilities: FloatArray, candidates: CandidateLabels, counts: FloatArray
) -> Losses:
    """Return the squared share of probability on labels that joined the truth in other rows."""
    own = candidates.to_mask()
    joined = own.copy()  # without the candidate that is most probably the truth
    joined[np.arange(len(own)), np.where(own, probabilities, -1).argmax(axis=1)] = False
    ambiguous = np.flatnonzero(candidates.sizes > 1)
    random = np.random.default_rng(0)
    # Without ambiguous rows there is nothing to compare with, and no power is better than another.
    n_partners = _PARTNERS if len(ambiguous) else 0
    others = [joined[random.choice(ambiguous, len(own))] & ~own for _ in range(n_partners)]

    def losses(spread: FloatArray, doubts: FloatArray) -> FloatArray:
        def probability_of(sets: BoolArray) -> FloatArray:
            sums = np.where(sets, spread, 0).sum(axis=1)
            return _doubted(sums, sets.mean(axis=1), doubts)

        on_own = probability_of(own)
        total = np.zeros(len(doubts))
        for other in others:
            on_other = probability_of(other)
            total += (on_other / np.maximum(on_own + on_other, 1e-300)) ** 2 @ counts
        return total

    return losses


def _by_true_labels(
    probabilities: FloatArray, candidates: CandidateLabels, truth: IntArray, trust: float
) -> FloatArray:
    """Return the shares under which rows of known truth have the smallest loss.

    It is the Brier score of the candidates and the squared gap between stated and actual errors.
    Doubt is spread over the candidates of a row, not over all classes: the labels of a set may be
    confused with each other more than with any other.
    """
    known = np.flatnonzero(truth >= 0)
    sample, said = candidates[known], probabilities[known]
    rows, columns = sample.pairs()
    starts = sample.starts
    is_true = columns == truth[known][rows]
    counts = group_sums(is_true.astype(float), starts)  # 0 where the set misses the truth
    even = 1 / sample.sizes[rows]

    def loss(shares: FloatArray) -> float:
        brier = counts[rows] @ (shares - is_true) ** 2
        largest = group_maxima(shares, starts)
        is_right = group_maxima(is_true * (shares == largest[rows]), starts)
        gap = counts @ (largest - is_right)
        return float(brier + gap**2 / len(known))

    tried = []
    for power in _least_change_first():
        shares = _shares(said, sample, trust, power)
        tried += [(loss((1 - d) * shares + d * even), power, d) for d in _TRUE_LABEL_DOUBTS]
    _, power, doubt = min(tried, key=lambda of_pair: of_pair[0])
    sizes = candidates.sizes[candidates.pairs()[0]]
    return (1 - doubt) * _shares(probabilities, candidates, trust, power) + doubt / sizes


def _trust_in_weights(probabilities: FloatArray, candidates: CandidateLabels) -> float:
    """Return the power of the weights under which they agree best with the probabilities."""
    if candidates.weights is None:
        return 1.0
    said = candidates.values_of(probabilities)

    def agreement(trust: float) -> float:
        shares = _shares(np.ones_like(probabilities), candidates, trust, 1.0)
        of_rows = group_sums(shares * said, candidates.starts)
        return float(np.log(np.maximum(of_rows, SMALLEST_PROBABILITY)).sum())

    return float(max(_TRUSTS, key=agreement))


def _shares(
    probabilities: FloatArray, candidates: CandidateLabels, trust: float, evenness: float
) -> FloatArray:
    """Return the share of every candidate in its row, from its probability and its weight."""
    rows, _ = candidates.pairs()
    logarithms = np.log(np.maximum(candidates.values_of(probabilities), 1e-300))
    if candidates.weights is not None:
        weights = candidates.values_of(candidates.prior())
        logarithms = logarithms + trust * np.log(np.maximum(weights, 1e-300))
    logarithms = evenness * logarithms
    powers = np.exp(logarithms - group_maxima(logarithms, candidates.starts)[rows])
    shares: FloatArray = powers / group_sums(powers, candidates.starts)[rows]
    return shares


def _evenness(
    probabilities: FloatArray, candidates: CandidateLabels, trust: float, counts: FloatArray
) -> float:
    """Return the power, at most one, that makes ambiguous rows no surer than single labels allow.

    The truth of a row should be given as much probability where it came with others as where it
    came alone. Rows of a single label say how much that is. Where rows come in groups, such as the
    regions of pictures, these are compared with others of their group: a picture with a single
    label is unlike one with several. Rows that are alone in their group are compared with each
    other.
    """
    single = candidates.sizes == 1
    ambiguous = ~single
    if candidates.groups is not None:
        is_alone = np.bincount(candidates.groups)[candidates.groups] == 1
        groups = np.where(is_alone, -1, candidates.groups)
        mixed = np.isin(groups, groups[single]) & np.isin(groups, groups[ambiguous])
        single, ambiguous = single & mixed, ambiguous & mixed
    if counts[single].sum() < _FEWEST_SINGLES or not counts[ambiguous].any():
        return 1.0
    said = candidates.values_of(probabilities)

    def on_truth(evenness: float, rows: BoolArray) -> float:
        shares = _shares(probabilities, candidates, trust, evenness)
        expected = group_sums(shares * said, candidates.starts)
        return float(np.average(expected[rows], weights=counts[rows]))

    allowed = on_truth(1.0, single)
    low, high = 0.02, 1.0
    if on_truth(high, ambiguous) <= allowed:
        return high
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if on_truth(middle, ambiguous) > allowed else (middle, high)
    return high

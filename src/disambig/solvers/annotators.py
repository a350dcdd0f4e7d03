r"""Who gives which label to what: a confusion matrix per annotator, learned from answers alone.

Annotator :math:`a` has a label in mind, :math:`l` with probability :math:`\pi_a(l \mid k)` if the
truth is :math:`k`, and answers with a set :math:`S` that holds it: the label alone, "cat or dog",
or everything but what is ruled out. Why a set and not the label alone may depend on the set, not on
which of its labels was in mind (coarsening at random), so that this factor is the same for every
truth and cancels:

.. math:: P(S \mid k) \propto \sum_{l \in S} \pi_a(l \mid k)

A set of all labels has the likelihood 1 and says nothing, and so does "unsure", which is left out.
"Not a cat" has 1 less the probability of "cat". Given a prior over the labels of every item,
answers multiply, as annotators err independently of each other. With the class shares as prior and
without shrinkage this is the model of Dawid and Skene (1979).

Few answers say little of a whole matrix, so :math:`\pi_a(\cdot \mid k)` is as if ``shrinkage``
more answers had been seen, and these were right as often as the annotator's others are. Their
mistakes go where those of this annotator go whatever the truth, and where everybody's go for this
truth. How often somebody is right is in turn drawn to how often all are, and that to better than
guessing; class shares are drawn to equal ones. From answers alone nothing is learned of two
annotators, nor from an item that only one was asked about: these count alike.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, logsumexp

from disambig._core.typing import BoolArray, FloatArray, IntArray, Sparse

DEFAULT_SHRINKAGE = 20.0
# Chosen on simulated people, among them few and poor ones, whom a vote would serve as well: without
# it, labels swap places and the best are taken for the worst.
_SKILL_SHRINKAGE = 2.5  # times as much for how often somebody is right
_TRUST = 0.2  # share of all answers that is made up, more often right than guesses
_EVEN_SHARES = 0.5  # items that are made up, of classes in equal shares, for each that tells
_FEWEST_ANNOTATORS = 3  # two tell that they disagree, and not who is right
_STEPS = 200
_TOLERANCE = 1e-5
_SMALLEST = 1e-12
# How far a prior from a classifier is believed: the power under which answers are likeliest. None
# is made more sure: where few answers speak against it, that would be at the cost of annotators.
_POWERS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.12, 0.06, 0.0)


class Answers(NamedTuple):
    """What annotators said: at most one answer for every pair of an annotator and an item.

    Answers that say nothing ("unsure", or any label) are not among them. Equal answers of an
    annotator are one *kind*: few annotators and labels make few kinds for many answers.
    """

    given: Sparse  # (n_kinds, n_items): 1 where an item got an answer of this kind
    annotators: IntArray  # of every kind, in ascending order
    sets: BoolArray  # (n_kinds, n_classes): the labels that this kind of answer leaves possible
    n_annotators: int

    @property
    def n_classes(self) -> int:
        """Number of labels that an item may have."""
        return int(self.sets.shape[1])

    @property
    def counts(self) -> IntArray:
        """Number of answers by every annotator."""
        of_kinds = np.asarray(self.given.sum(axis=1)).ravel()
        return np.bincount(self.annotators, of_kinds, self.n_annotators).astype(np.int64)

    def by_annotator(self) -> Iterator[tuple[int, slice]]:
        """Yield every annotator who gave an answer, and which kinds are theirs."""
        ends = np.cumsum(np.bincount(self.annotators, minlength=self.n_annotators))
        for annotator, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if end > start:
                yield annotator, slice(int(start), int(end))


def collect_answers(
    items: IntArray,
    annotators: IntArray,
    codes: IntArray,
    sets: BoolArray,
    *,
    n_items: int,
    n_annotators: int,
) -> Answers:
    """Return answers by kind; those without a label, or with all of them, are left out.

    What an annotator says of one item in several lines is one answer, with all of these labels.

    Parameters
    ----------
    items, annotators, codes : ndarray of int of shape (n_answers,)
        Of what, by whom, and which of the sets, all counted from 0.
    sets : ndarray of bool of shape (n_sets, n_classes)
        Labels that an answer leaves possible.
    n_items, n_annotators : int
        How many there are, with those who gave no answer and got none.
    """
    sets, same = np.unique(sets, axis=0, return_inverse=True)
    codes = same.ravel()[codes]
    says = np.asarray(sets.any(axis=1))[codes]
    items, annotators, codes = items[says], annotators[says], codes[says]
    pairs, first, number = np.unique(
        items * n_annotators + annotators, return_index=True, return_inverse=True
    )
    if len(pairs) < len(items):
        sets, codes = _united(sets, codes, number.ravel(), len(pairs))
    else:
        codes = codes[first]
    says = ~np.asarray(sets.all(axis=1))[codes]
    pairs, codes = pairs[says], codes[says]
    items, annotators = np.divmod(pairs, n_annotators)
    kinds, kind_of = np.unique(annotators * len(sets) + codes, return_inverse=True)
    entries = (np.ones(len(items)), (kind_of.ravel(), items))
    given = sparse.csr_array(entries, shape=(len(kinds), n_items))
    return Answers(given, kinds // len(sets), sets[kinds % len(sets)], n_annotators)


def _united(
    sets: BoolArray, codes: IntArray, number: IntArray, n_pairs: int
) -> tuple[BoolArray, IntArray]:
    """Return the union of the sets of every pair: the distinct ones, and which it is."""
    union = np.zeros((n_pairs, sets.shape[1]), dtype=bool)
    np.logical_or.at(union, number, sets[codes])
    distinct, of_pair = np.unique(union, axis=0, return_inverse=True)
    return distinct, of_pair.ravel()


class Annotators(NamedTuple):
    """What is known of annotators.

    Attributes
    ----------
    confusions : ndarray of shape (n_annotators, n_classes, n_classes)
        Probability that an annotator has the label of the column in mind if the line is true.
    likelihood : ndarray of shape (n_items, n_classes)
        Of the answers to an item, for each label that it may have; the largest of a row is 1. No
        prior is in it, so that it can be multiplied with any.
    log_posterior : ndarray of shape (n_items, n_classes)
        Logarithm of the probability of every label, given the answers and the prior.
    prior_power : float
        The prior was raised to it, as answers bore it out.
    """

    confusions: FloatArray
    likelihood: FloatArray
    log_posterior: FloatArray
    prior_power: float

    @property
    def posterior(self) -> FloatArray:
        """Probability of every label, given the answers and the prior."""
        posterior: FloatArray = np.exp(self.log_posterior)
        return posterior


def fit_annotators(
    answers: Answers, prior: FloatArray | None = None, *, shrinkage: float = DEFAULT_SHRINKAGE
) -> Annotators:
    """Learn confusions and labels together, by expectation and maximisation.

    Parameters
    ----------
    answers : Answers
        As ``collect_answers`` gives them.
    prior : ndarray of shape (n_items, n_classes), optional
        Probabilities of labels by somebody who has not seen the answers to the item, such as a
        classifier that was trained on other items. By default class shares, which are learned.
    shrinkage : float, default=20
        Answers for each true label that are made up; 0 for none.
    """
    n_answers = np.asarray(answers.given.sum(axis=0)).ravel()
    if prior is None:
        posterior = _vote_shares(answers)
        # Where nobody else is asked, an answer would only confirm itself.
        tells = n_answers > 1
        if np.unique(answers.annotators).size < _FEWEST_ANNOTATORS:
            tells[:] = False
    else:
        log_said = np.log(np.maximum(prior, _SMALLEST))
        # What answers say comes second, or a single answer to an item would confirm itself.
        posterior = np.asarray(prior, dtype=float)
        tells = n_answers > 0
    power = 1.0
    confusions = _one_coin(answers)
    for _ in range(_STEPS):
        before = confusions
        heard = posterior * tells[:, np.newaxis]
        confusions = _shrunk(_expected_counts(answers, confusions, heard), shrinkage)
        log_likelihood: FloatArray = answers.given.T @ np.log(kind_likelihoods(answers, confusions))
        if prior is None:
            log_prior = np.log(_class_shares(heard, _EVEN_SHARES if shrinkage else 0.0))
        else:
            power, log_prior = _believed(log_said, log_likelihood)
        log_posterior = log_softmax(log_prior + log_likelihood, axis=1)
        posterior = np.exp(log_posterior)
        if np.abs(confusions - before).max(initial=0) < _TOLERANCE:
            break
    largest = log_likelihood.max(axis=1, keepdims=True)
    return Annotators(confusions, np.exp(log_likelihood - largest), log_posterior, power)


def _class_shares(posterior: FloatArray, even: float) -> FloatArray:
    """Return the share of every label, as if one more item had any, and so many for each item."""
    counts = posterior.sum(axis=0)
    shares = counts + (1 + even * counts.sum()) / len(counts)
    normalised: FloatArray = shares / shares.sum()
    return normalised


def _vote_shares(answers: Answers) -> FloatArray:
    """Return the share of every label in the answers to an item; without one, in all answers."""
    votes = answers.given.T @ (answers.sets / answers.sets.sum(axis=1, keepdims=True))
    totals = votes.sum(axis=1, keepdims=True)
    overall = votes.sum(axis=0) + _SMALLEST
    shares: FloatArray = np.where(
        totals > 0, votes / np.maximum(totals, 1), overall / overall.sum()
    )
    return shares


def _one_coin(answers: Answers) -> FloatArray:
    """Return confusions of people who are mostly right, to share sets out by."""
    n_classes = answers.n_classes
    one = np.full((n_classes, n_classes), 0.3 / max(1, n_classes - 1))
    np.fill_diagonal(one, 0.7)
    return np.repeat(one[np.newaxis], answers.n_annotators, axis=0)


def kind_likelihoods(answers: Answers, confusions: FloatArray) -> FloatArray:
    """Return the likelihood of every kind of answer for each truth: (n_kinds, n_classes)."""
    likelihoods = np.empty(answers.sets.shape)
    for annotator, kinds in answers.by_annotator():
        likelihoods[kinds] = answers.sets[kinds] @ confusions[annotator].T
    return np.maximum(likelihoods, _SMALLEST)


def _expected_counts(answers: Answers, confusions: FloatArray, posterior: FloatArray) -> FloatArray:
    """Return how often each annotator had each label in mind, for each truth."""
    of_kinds = (answers.given @ posterior) / kind_likelihoods(answers, confusions)
    counts = np.zeros_like(confusions)
    for annotator, kinds in answers.by_annotator():
        counts[annotator] = confusions[annotator] * (of_kinds[kinds].T @ answers.sets[kinds])
    return counts


def _shrunk(counts: FloatArray, shrinkage: float) -> FloatArray:
    """Return confusions from counts of truth and label, as if some more had been counted."""
    n_classes = counts.shape[1]
    other = ~np.eye(n_classes, dtype=bool)
    totals, pooled = counts.sum(axis=(1, 2)), counts.sum(axis=0)
    right = np.trace(counts, axis1=1, axis2=2)
    # Half of what is made up is right, the other half is any label.
    made_up = 2 + _TRUST * totals.sum()
    all_right = (right.sum() + made_up * (1 + 1 / n_classes) / 2) / (totals.sum() + made_up)
    # Of a label that is never true, all that is known is made up.
    weight = max(shrinkage, _SMALLEST)
    skill = right + _SKILL_SHRINKAGE * weight * all_right
    skill /= totals + _SKILL_SHRINKAGE * weight
    of_all = np.where(other, pooled + 1, 0.0)
    of_all /= np.maximum(of_all.sum(axis=1, keepdims=True), _SMALLEST)
    own = np.where(other, counts, 0.0).sum(axis=1)
    mistakes = np.where(other, own[:, np.newaxis] + weight * of_all, 0.0)
    mistakes /= np.maximum(mistakes.sum(axis=2, keepdims=True), _SMALLEST)
    expected = (1 - skill)[:, np.newaxis, np.newaxis] * mistakes
    expected += skill[:, np.newaxis, np.newaxis] * ~other
    seen = counts + weight * expected
    confusions: FloatArray = seen / seen.sum(axis=2, keepdims=True)
    return confusions


def _believed(log_said: FloatArray, log_likelihood: FloatArray) -> tuple[float, FloatArray]:
    """Return the power of the prior under which answers are likeliest, and that prior's logs."""
    best, believed = -np.inf, (1.0, log_said)
    for power in _POWERS:
        log_prior = log_softmax(power * log_said, axis=1)
        likelihood = float(logsumexp(log_prior + log_likelihood, axis=1).sum())
        if likelihood > best:
            best, believed = likelihood, (power, log_prior)
    return believed

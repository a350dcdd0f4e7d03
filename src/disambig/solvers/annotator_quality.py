r"""How good annotators are: how often right, whether they look at all, with whom they disagree.

Everybody is judged by the others. The labels of an item go by what is known without the answer in
question: the prior and all other answers give :math:`q(k)`. If the annotator is right in a share
:math:`r` of the items, an answer :math:`S` has the likelihood

.. math:: r \, P(S \mid \text{right}) + (1 - r) \, P(S \mid \text{wrong}), \qquad
          P(S \mid \text{right}) = \sum_{k \in S} q(k) \, \pi(k \mid k) / \bar \pi, \quad
          P(S \mid \text{wrong}) = \sum_k q(k) \, \pi(S \setminus k \mid k) / (1 - \bar \pi),

where :math:`\bar \pi` is how often the confusion matrix is right on these items. All answers of
the annotator together tell :math:`r`, with an interval: where the likelihood is not so much smaller
that chance would explain it in less than one case of twenty. Where nobody else was asked it is
nearly flat, and the interval is wide. In the same way somebody who *knows* the label in a share of
the items, and else says what he always says, is told from one who only guesses: the answer is right
for a truth in :math:`S`, or else drawn from all of his answers, whatever the truth.

That others may be wrong together is not in the intervals.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import softmax

from disambig._core.typing import BoolArray, FloatArray, IntArray
from disambig.solvers.annotators import Annotators, Answers, kind_likelihoods

_SHARES = np.linspace(0, 1, 201).round(3)
_HALF_CHI_SQUARE_95 = 1.92  # of one degree of freedom
_SMALLEST = 1e-12
# Whoever knows less than this, and tells less than this share of what there is to tell, guesses.
_MOST_KNOWN = 0.25
_MOST_TOLD = 0.1
# With so many expected, none at all has a chance of less than one in a hundred.
_FEWEST_EXPECTED = 5.0


class Interval(NamedTuple):
    """A share and the ends of its 95 % interval."""

    share: float
    low: float
    high: float


class AnnotatorQuality(NamedTuple):
    """What is known of one annotator.

    Attributes
    ----------
    n_answers : int
        Answers that say something.
    accuracy : Interval
        Share of the answers that hold the right label.
    knows : Interval
        Share of the items of which the annotator knows the label, rather than guessing.
    tells : float
        Information in an answer, as a share of what it takes to know the label.
    never : tuple of int
        Labels that the annotator never gives, though they are right for some of the items.
    """

    n_answers: int
    accuracy: Interval
    knows: Interval
    tells: float
    never: tuple[int, ...]

    @property
    def is_random(self) -> bool:
        """Whether the answers look as if they had nothing to do with the items."""
        return self.knows.high < _MOST_KNOWN and self.tells < _MOST_TOLD


def judge_annotators(answers: Answers, known: Annotators) -> list[AnnotatorQuality]:
    """Return how good every annotator is, judged by the others and by the prior.

    Parameters
    ----------
    answers : Answers
        All answers.
    known : Annotators
        What ``fit_annotators`` has learned from them.
    """
    posterior = known.posterior
    log_likelihoods = np.log(kind_likelihoods(answers, known.confusions))
    nothing = Interval(0.5, 0.0, 1.0)
    judged = [AnnotatorQuality(0, nothing, nothing, 0.0, ())] * answers.n_annotators
    for annotator, kinds in answers.by_annotator():
        given = answers.given[kinds].tocoo()
        of_answer, items = given.coords
        sets = answers.sets[kinds]
        others = softmax(known.log_posterior[items] - log_likelihoods[kinds][of_answer], axis=1)
        expected = posterior[items].sum(axis=0)
        confusion = known.confusions[annotator]
        skill = np.diag(confusion)
        mean_skill = float(np.clip(skill @ expected / len(items), _SMALLEST, 1 - _SMALLEST))
        if_right = (sets * skill)[of_answer]
        if_wrong = (sets @ confusion.T)[of_answer] - if_right
        usual = np.bincount(of_answer, minlength=len(sets)) / len(items)
        never = np.flatnonzero(~sets.any(axis=0) & (expected >= _FEWEST_EXPECTED))
        judged[annotator] = AnnotatorQuality(
            len(items),
            _likely_share(
                (others * if_right).sum(axis=1) / mean_skill,
                (others * if_wrong).sum(axis=1) / (1 - mean_skill),
            ),
            _likely_share((others * sets[of_answer]).sum(axis=1), usual[of_answer]),
            _information(confusion, expected / len(items)),
            tuple(never.tolist()),
        )
    return judged


def _likely_share(if_right: FloatArray, if_not: FloatArray) -> Interval:
    """Return the likeliest share of a mixture of two, and the shares that are not much less so."""
    likelihood = np.array([
        np.log(np.maximum(share * if_right + (1 - share) * if_not, _SMALLEST)).sum()
        for share in _SHARES
    ])  # fmt: skip
    likely = _SHARES[likelihood >= likelihood.max() - _HALF_CHI_SQUARE_95]
    return Interval(float(_SHARES[likelihood.argmax()]), float(likely[0]), float(likely[-1]))


def _information(confusion: FloatArray, shares: FloatArray) -> float:
    """Return the mutual information of truth and label over the entropy of the truth."""
    shares = np.maximum(shares, _SMALLEST)
    entropy = -float(shares @ np.log(shares))
    joint = shares[:, np.newaxis] * confusion
    of_labels = np.maximum(joint.sum(axis=0), _SMALLEST)
    ratio = np.log(np.maximum(confusion, _SMALLEST) / of_labels)
    return float((joint * ratio).sum()) / max(entropy, _SMALLEST)


class Agreement(NamedTuple):
    """How often two annotators agree on items that both answered; sets agree that overlap."""

    first: int
    second: int
    n_common: int
    share: float
    by_chance: float  # the share if neither had looked at the items


def agreements(answers: Answers, *, fewest: int = 10) -> list[Agreement]:
    """Return all pairs of annotators with enough items in common, those who agree least first.

    Parameters
    ----------
    answers : Answers
        All answers.
    fewest : int, default=10
        Items that both must have answered.
    """
    # Kinds are in the order of annotators: above the diagonal is every pair of them once.
    together = sparse.triu(answers.given @ answers.given.T, k=1, format="coo")
    first, second = (answers.annotators[kinds] for kinds in together.coords)
    pairs, number = np.unique(first * answers.n_annotators + second, return_inverse=True)
    counts = np.bincount(number, together.data, len(pairs))
    # Sets are compared once each: there may be millions of pairs of answers with the same two.
    distinct, set_of = np.unique(answers.sets, axis=0, return_inverse=True)
    overlap = distinct.astype(np.float32) @ distinct.T.astype(np.float32) > 0
    agree = overlap[tuple(set_of.ravel()[kinds] for kinds in together.coords)]
    agreed = np.bincount(number, together.data * agree, len(pairs))
    kinds = dict(answers.by_annotator())
    of_kinds = np.asarray(answers.given.sum(axis=1)).ravel()
    found = []
    for key, count, both in zip(pairs.tolist(), counts.tolist(), agreed.tolist(), strict=True):
        if count >= fewest:
            one, other = divmod(key, answers.n_annotators)
            by_chance = _chance(answers.sets, of_kinds, kinds[one], kinds[other])
            found.append(Agreement(one, other, int(count), both / count, by_chance))
    return sorted(found, key=lambda pair: pair.share)


def _chance(sets: BoolArray, counts: FloatArray | IntArray, first: slice, second: slice) -> float:
    shares = [counts[kinds] / counts[kinds].sum() for kinds in (first, second)]
    overlap = sets[first].astype(int) @ sets[second].T.astype(int) > 0
    return float(shares[0] @ overlap @ shares[1])

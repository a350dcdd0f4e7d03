"""``AnnotatorModel``: answers, what is known of those who gave them, and the sets that follow.

The weight of a candidate is the likelihood of the answers to its item if it were right, and nothing
else: no class shares, and nothing that a classifier said. So whoever multiplies weights with the
probabilities of a classifier counts neither of the two twice.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.typing import AnyArray, BoolArray, FloatArray
from disambig.candidates.groups import Promise
from disambig.candidates.labels import CandidateLabels
from disambig.solvers.annotator_quality import (
    Agreement,
    AnnotatorQuality,
    agreements,
    judge_annotators,
)
from disambig.solvers.annotators import Annotators, Answers, fit_annotators

# Beside the label that explains the answers best, another is possible if it explains them this much
# as well, and trained on if it does half as well as any label beside a single answer of somebody of
# whom nothing is known. Methods that look at weights at first only would be lost in longer sets.
_POSSIBLE = 0.02
_WORTH_TRAINING = 0.5  # divided by the number of labels
_MOST_PROBABILITIES = 100_000_000
# Weights that are never zero: a method would take the label for impossible.
_SMALLEST_WEIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class AnnotatorModel:
    """Answers of annotators, and what is known of those who gave them.

    Attributes
    ----------
    annotators : tuple
        Who they are.
    classes : ndarray
        All labels, in the order of columns.
    answers : Answers
        What they said, by kind of answer.
    known : Annotators
        Confusion matrices, and the probability of every label of every item.

    See Also
    --------
    weigh_annotators : Makes it from a long table.
    disambig.candidates.CandidateLabels : Its ``from_annotations`` counts all votes alike.

    Examples
    --------
    >>> from disambig import weigh_annotators
    >>> model = weigh_annotators(
    ...     ["a", "a", "a", "b", "b", "b", "c", "c"],
    ...     ["Ann", "Bob", "Eve", "Ann", "Bob", "Eve", "Bob", "Eve"],
    ...     ["cat", "cat", "dog", "dog", "dog", "dog", "cat", {"cat", "dog"}],
    ... )
    >>> model.choose().tolist()
    ['cat', 'dog', 'cat']
    >>> model.possible().to_strings()
    ['cat|dog', 'cat|dog', 'cat|dog']
    """

    annotators: tuple[Hashable, ...]
    classes: AnyArray
    answers: Answers
    known: Annotators

    @classmethod
    def of_answers(cls, answers: Answers, annotators: Iterable[Any], classes: AnyArray) -> Self:
        """Return what answers alone say, before any classifier is asked."""
        n_probabilities = answers.n_annotators * answers.n_classes**2
        if n_probabilities > _MOST_PROBABILITIES:
            raise ParameterError(
                f"To weigh {answers.n_annotators:,} annotators takes a matrix of "
                f"{answers.n_classes:,} by {answers.n_classes:,} labels for each, which is too "
                "much. Count everybody's votes alike (--equal-votes, in Python "
                "CandidateLabels.from_annotations)."
            )
        return cls(tuple(annotators), classes, answers, fit_annotators(answers))

    def given(self, probabilities: FloatArray) -> Self:
        """Return what is known once a classifier was asked.

        Parameters
        ----------
        probabilities : ndarray of shape (n_items, n_classes)
            Of the labels of every item, by a classifier that was not trained on it.
        """
        return replace(self, known=fit_annotators(self.answers, probabilities))

    @property
    def n_rounds(self) -> int:
        """How often it pays to train a method and to ask it.

        Where most items have a single answer, all that tells annotators apart is a method, and a
        method that was trained before it was asked knows them no better than that.
        """
        n_answers = np.asarray(self.answers.given.sum(axis=0)).ravel()
        return 1 if (n_answers > 1).sum() >= (n_answers == 1).sum() else 2

    @property
    def votes(self) -> FloatArray:
        """For every item and label, the number of annotators whose answer allows it."""
        votes: FloatArray = self.answers.given.T @ self.answers.sets.astype(float)
        return votes

    @property
    def said(self) -> CandidateLabels:
        """The labels that somebody named, with votes as weights; all where nobody did."""
        votes = self.votes
        votes[votes.sum(axis=1) == 0] = 1.0
        return CandidateLabels(votes > 0, self.classes, weights=votes)

    @property
    def candidates(self) -> CandidateLabels:
        """Labels that explain the answers well enough to be trained on, weighed by how well.

        An item without an answer may have any label.
        """
        return self.weights_on(self.known.likelihood >= _WORTH_TRAINING / len(self.classes))

    def possible(self, promise: Promise | None = None) -> CandidateLabels:
        """Return sets to choose from: labels that were named, and others that are possible.

        Where groups promise something, that is about labels that were named.
        """
        mask = self.said.to_mask()
        if promise is None:
            mask |= self.known.likelihood >= _POSSIBLE
        return self.weights_on(mask)

    def weights_on(self, mask: BoolArray) -> CandidateLabels:
        """Return candidate sets of these labels, with likelihoods as weights."""
        weights = np.maximum(self.known.likelihood, _SMALLEST_WEIGHT) * mask
        return CandidateLabels(mask, self.classes, weights=weights)

    def choose(self) -> AnyArray:
        """Return the most probable label of every item."""
        chosen: AnyArray = self.classes[self.known.log_posterior.argmax(axis=1)]
        return chosen

    def quality(self) -> dict[Hashable, AnnotatorQuality]:
        """Return how good every annotator is, judged by the others and by the classifier."""
        judged = judge_annotators(self.answers, self.known)
        return dict(zip(self.annotators, judged, strict=True))

    def agreements(self, *, fewest: int = 10) -> list[Agreement]:
        """Return pairs with so many items in common, by their numbers, least agreement first."""
        return agreements(self.answers, fewest=fewest)

    def fingerprint_parts(self) -> tuple[Any, ...]:
        """Return what tells these answers from others, for ``fingerprint_of``."""
        kinds, items = self.answers.given.nonzero()
        names = [repr(name) for name in self.annotators]
        return names, self.answers.annotators, self.answers.sets, kinds, items

"""The checks must fail where a method is wrong: one broken method for each."""

import numpy as np
import pytest
from scipy import sparse

from disambig import PLKNN, CandidateLabels
from disambig.methods.base import MethodCard
from disambig.testing import check_partial_label_estimator, checks, partial_label_checks


class OutsideTheSets(PLKNN):
    def _fit(self, X, candidates):
        super()._fit(X, candidates)
        return sparse.csr_array(np.full(candidates.shape, 1 / 3))


class NotNormalised(PLKNN):
    def _predict_proba(self, X):
        return super()._predict_proba(X) * 2


class ConfidencesNotNormalised(PLKNN):
    def _fit(self, X, candidates):
        return super()._fit(X, candidates) * 2


class LastOfTheSet(PLKNN):
    def disambiguate(self):
        confidence = self.candidate_confidence_.toarray()
        last = confidence.shape[1] - 1 - (confidence[:, ::-1] > 0).argmax(axis=1)
        return self.classes_[last]


class IgnoresTheSets(PLKNN):
    def _fit(self, X, candidates):
        super()._fit(X, candidates[::-1])
        return candidates.prior()


class ChangesFeatures(PLKNN):
    def _fit(self, X, candidates):
        confidence = super()._fit(X, candidates)
        X += 1
        return confidence


class ForgetsNothing(PLKNN):
    def _fit(self, X, candidates):
        confidence = super()._fit(X, candidates)
        self.times = getattr(self, "times", 0) + 1
        return confidence

    def _predict_proba(self, X):
        probabilities = super()._predict_proba(X) + (self.times - 1)
        return probabilities / probabilities.sum(axis=1, keepdims=True)


class UsesGlobalRandomness(PLKNN):
    def _fit(self, X, candidates):
        np.random.random()  # noqa: NPY002
        return super()._fit(X, candidates)


class Undocumented(PLKNN):
    """Has a parameter that neither it nor its base describes."""

    def __init__(self, *, n_neighbors=10, patience=3):
        super().__init__(n_neighbors=n_neighbors)
        self.patience = patience


class DocumentedInAnotherOrder(PLKNN):
    """Describe parameters otherwise than the signature has them.

    Parameters
    ----------
    weights : str
        Second in the signature.
    n_neighbors : int
        First in the signature.
    """


class PromisesAnAttribute(PLKNN):
    """Neighbours.

    Attributes
    ----------
    weights_ : int
        Never set.
    """


class LikesTheFirstClass(PLKNN):
    def _predict_proba(self, X):
        probabilities = super()._predict_proba(X)
        probabilities[:, 0] += 0.2
        return probabilities / probabilities.sum(axis=1, keepdims=True)


class LikesTheFirstRow(PLKNN):
    def _fit(self, X, candidates):
        confidence = super()._fit(X, candidates)
        self._votes = self._votes.tolil()
        self._votes[0] *= 3
        self._votes = self._votes.tocsr()
        return confidence


class ScoresHalf(PLKNN):
    def score(self, X, y):
        return 0.5


class LosesUnusedClasses(PLKNN):
    def _predict_proba(self, X):
        probabilities = super()._predict_proba(X)
        return probabilities[:, self._votes.sum(axis=0) > 0]


class BreaksOnFullSets(PLKNN):
    def _predict_proba(self, X):
        full = self._votes.nnz == np.prod(self._votes.shape)
        return super()._predict_proba(X) * (np.nan if full else 1)


class BreaksOnOneRow(PLKNN):
    def _predict_proba(self, X):
        if self._votes.shape[0] == 1:
            return super()._predict_proba(X)[:1]
        return super()._predict_proba(X)


class IgnoresShortCandidates(PLKNN):
    def fit(self, X, y):
        n = min(len(X), len(y)) if hasattr(y, "sizes") else len(X)
        return super().fit(X[:n], y)


class WeighsByIndex(PLKNN):
    def _fit(self, X, candidates):
        confidence = super()._fit(X, candidates)
        return confidence if candidates.weights is None else candidates.weights


class ReadsMasksInReverse(PLKNN):
    def fit(self, X, y):
        return super().fit(X, y[:, ::-1] if isinstance(y, np.ndarray) and y.ndim == 2 else y)


class ChoosesTheWorst(PLKNN):
    def _fit(self, X, candidates):
        confidence = super()._fit(X, candidates)
        confidence.data = 1.0001 - confidence.data
        totals = np.asarray(confidence.sum(axis=1)).ravel()
        confidence.data /= np.repeat(totals, np.diff(confidence.indptr))
        return confidence


class IgnoresWeights(PLKNN):
    def _fit(self, X, candidates):
        return super()._fit(X, CandidateLabels.from_mask(candidates.to_mask(), candidates.classes))


class ReturnsColumns(PLKNN):
    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class HoldsALambda(PLKNN):
    def _fit(self, X, candidates):
        self._shape = lambda: candidates.shape
        return super()._fit(X, candidates)


class LooksAtTheBatch(PLKNN):
    def _predict_proba(self, X):
        return super()._predict_proba(X - X.mean(axis=0))


class MixesOldAndNew(PLKNN):
    def fit(self, X, y):
        if getattr(self, "fitted_once", False):
            self._votes = self._votes[::-1]
            raise ValueError("refused")
        self.fitted_once = True
        return super().fit(X, y)


class CountsRawWeights(PLKNN):
    def _fit(self, X, candidates):
        confidence = super()._fit(X, candidates)
        if candidates.weights is not None:
            self._votes = candidates.weights
        return confidence


class CountsFeatures(PLKNN):
    def _predict_proba(self, X):
        probabilities = super()._predict_proba(X) + X.shape[1]
        return probabilities / probabilities.sum(axis=1, keepdims=True)


class DividesByTheSpread(PLKNN):
    def _predict_proba(self, X):
        spread = np.ptp(self._rows, axis=0).max()
        return super()._predict_proba(X) * (1 if spread > 0 else np.nan)


class PrefersLaterTwins(PLKNN):
    def _fit(self, X, candidates):
        confidence = super()._fit(X, candidates)
        _, first = np.unique(X, axis=0, return_index=True)
        prior = candidates.prior().tolil()
        prior[first] = confidence[first]
        return prior.tocsr()


class DeafToGroups(PLKNN):
    def _end_fit(self, candidates, confidence):
        self.candidate_confidence_ = confidence


class DeafToNewGroups(PLKNN):
    def candidate_confidences(self, X, y):
        return super().candidate_confidences(X, y.with_groups(None))


class HalfSureOfOneClass(PLKNN):
    def _predict_proba(self, X):
        probabilities = super()._predict_proba(X)
        return probabilities / 2 if probabilities.shape[1] == 1 else probabilities


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (OutsideTheSets(), checks.check_confidences),
        (ConfidencesNotNormalised(), checks.check_confidences),
        (NotNormalised(), checks.check_probabilities),
        (LastOfTheSet(), checks.check_disambiguation),
        (IgnoresTheSets(), checks.check_learns_from_candidates),
        (IgnoresTheSets(), checks.check_learns_from_plain_labels),
        (ChangesFeatures(), checks.check_inputs_unmodified),
        (ForgetsNothing(), checks.check_refit_forgets),
        (UsesGlobalRandomness(), checks.check_reproducible),
        (Undocumented(), checks.check_documentation),
        (DocumentedInAnotherOrder(), checks.check_documentation),
        (PromisesAnAttribute(), checks.check_documentation),
        (LikesTheFirstClass(), checks.check_class_order),
        (LikesTheFirstRow(), checks.check_sample_order),
        (ScoresHalf(), checks.check_score_is_covering_rate),
        (LosesUnusedClasses(), checks.check_unused_class),
        (BreaksOnFullSets(), checks.check_all_labels_everywhere),
        (BreaksOnOneRow(), checks.check_single_row),
        (IgnoresShortCandidates(), checks.check_bad_input),
        (WeighsByIndex(), checks.check_weights),
        (ReadsMasksInReverse(), checks.check_forms_of_y),
        (ChoosesTheWorst(), checks.check_disambiguates_better_than_a_guess),
        (IgnoresWeights(), checks.check_weights_count),
        (ReturnsColumns(), checks.check_class_names),
        (HoldsALambda(), checks.check_pickling),
        (LooksAtTheBatch(), checks.check_rows_are_independent),
        (MixesOldAndNew(), checks.check_refused_fit),
        (CountsRawWeights(), checks.check_equal_weights),
        (CountsFeatures(), checks.check_constant_features),
        (DividesByTheSpread(), checks.check_repeated_rows),
        (PrefersLaterTwins(), checks.check_repeated_rows),
        (HalfSureOfOneClass(), checks.check_single_class),
        (DeafToGroups(), checks.check_promises_of_groups),
        (DeafToNewGroups(), checks.check_promises_of_groups),
    ],
)
def test_a_broken_method_fails_its_check(broken, check):
    with pytest.raises(AssertionError):
        check(broken)
    with pytest.raises(AssertionError):
        check_partial_label_estimator(broken)


def test_every_check_is_shown_to_fail_somewhere():
    parameters = test_a_broken_method_fails_its_check.pytestmark[0].args[1]
    assert {check for _, check in parameters} == set(partial_label_checks())


class Foreign(PLKNN):
    card = None


def test_a_method_without_a_card_can_be_checked():
    check_partial_label_estimator(Foreign())


def test_only_a_baseline_on_true_labels_is_shown_them_by_the_checks():
    class Greedy(PLKNN):
        card = MethodCard(name="greedy", title="Refuses candidate sets")

        def _fit(self, X, candidates):
            if (candidates.sizes > 1).any():
                raise ValueError("wants the truth")
            return super()._fit(X, candidates)

    with pytest.raises(ValueError, match="wants the truth"):
        checks.check_probabilities(Greedy())
    Greedy.card = MethodCard(name="greedy", title="On true labels", role="true_label_baseline")
    checks.check_probabilities(Greedy())

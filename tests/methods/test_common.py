"""Both check suites over every method that discovery finds."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods import EMClassifier, NetworkClassifier, all_methods
from disambig.methods.base import MethodCard
from disambig.testing import check_partial_label_estimator, partial_label_checks
from methods.instances import INSTANCES


def test_every_method_is_registered():
    assert set(INSTANCES) == set(all_methods())
    for name, instance in INSTANCES.items():
        assert type(instance) is all_methods()[name]


EQUIVALENCE = "check_sample_weight_equivalence_on_{}_data"


def expected_failures(estimator):
    """Return the checks of scikit-learn that a method cannot pass, and why."""
    if isinstance(estimator, NetworkClassifier):
        reason = "a row that counts twice is not twice in a mini-batch, nor in its normalisation"
        return {EQUIVALENCE.format("dense"): reason}
    if estimator.card.name in ("auto", "boosting", "disambiguating", "forest"):
        reason = "a row that counts twice is dealt once to a fold or a sample"
        expected = {EQUIVALENCE.format("dense"): reason, EQUIVALENCE.format("sparse"): reason}
        if estimator.card.name == "forest":
            reason = "trees are grown until every row has a leaf, whatever it weighs"
            expected["check_class_weight_classifiers"] = reason
        return expected
    if isinstance(estimator, EMClassifier):
        reason = "features that are not centred make L-BFGS slow: rounding says where it stops"
        return {EQUIVALENCE.format("sparse"): reason}
    return {}


# A network of the literature is a rule: how features, labels and weights of rows are read is the
# business of its base classes. The checks below ask for nothing else. Two of these networks meet
# them, one with a ``Rule`` and one with a ``LossRule``, and so do NCPD, NCPD+ and all methods
# without networks. Every method meets all checks of partial labels.
OF_THE_BASE_CLASSES = {
    "check_array_api_input",
    "check_classifier_data_not_an_array",
    "check_complex_data",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_score_takes_y",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
    "check_supervised_y_2d",
}
MET_BY_TWO = {
    name
    for name, instance in INSTANCES.items()
    if type(instance).__module__.startswith("disambig.methods.deep.")
} - {"proden", "pico"}


@parametrize_with_checks(
    [instance for name, instance in INSTANCES.items() if name not in MET_BY_TWO],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def asks_for_more(check):
    """Return whether a check asks for more than base classes give."""
    if "readonly_memmap" in check.keywords:  # a check once more, with arrays of other kinds
        return False
    return check.func.__name__ not in OF_THE_BASE_CLASSES


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        (estimator, check)
        for name in sorted(MET_BY_TWO)
        for estimator, check in estimator_checks_generator(INSTANCES[name])
        if asks_for_more(check)
    ],
    ids=lambda value: getattr(value, "func", type(value)).__name__,
)
def test_scikit_learn_checks_of_rules(estimator, check):
    check(estimator)


def test_checks_that_few_networks_meet_are_checks_of_scikit_learn():
    names = {check.func.__name__ for _, check in estimator_checks_generator(INSTANCES["proden"])}
    assert names >= OF_THE_BASE_CLASSES


@pytest.mark.parametrize("check", partial_label_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", INSTANCES)
def test_partial_label_checks(name, check):
    check(INSTANCES[name])


def test_the_whole_suite_in_one_call():
    # The other methods have theirs in test_imports.py, where little is installed.
    check_partial_label_estimator(INSTANCES["plknn"])


@pytest.mark.parametrize("name", INSTANCES)
def test_candidates_of_weight_zero_are_no_candidates(name):
    data = make_partial_label_dataset(40, 3, 3, overlap=0.3, random_state=0)
    one_hot = np.eye(3)[data.true_labels]
    weighted = CandidateLabels.from_mask(np.ones((40, 3), dtype=bool), weights=one_hot)
    fitted = clone(INSTANCES[name]).fit(data.X, weighted)
    np.testing.assert_array_equal(fitted.candidate_confidence_.toarray(), one_hot)
    expected = clone(INSTANCES[name]).fit(data.X, data.true_labels).predict_proba(data.X)
    np.testing.assert_array_equal(fitted.predict_proba(data.X), expected)


@pytest.mark.parametrize("name", INSTANCES)
def test_cards_are_complete(name):
    card = type(INSTANCES[name]).card
    assert card.name == name
    assert card.title
    assert card.when
    if card.role == "method":
        assert card.paper
        assert card.year or card.paper.startswith("this package")
    if card.doi is not None:
        assert re.fullmatch(r"10\.\d{4,}/\S+", card.doi)


def test_a_role_that_nobody_knows_is_refused():
    # Read as a method, the baseline on true labels would silently be trained on candidate sets.
    with pytest.raises(ParameterError, match="'role' must be one of.*Got 'ceiling'"):
        MethodCard(name="oracle", title="On true labels", role="ceiling")

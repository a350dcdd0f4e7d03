import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma
from scipy.stats import dirichlet

from disambig import CandidateLabels
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods.classical.lsbcmm import (
    LSBCMM,
    _dirichlet_divergence,
    _expectation,
    _expected_log,
    _first_counts,
)
from disambig.solvers.stick_breaking import shares_of_gates
from methods.classical.problems import random_problem

# Labels of components ---------------------------------------------------------------------------


def test_components_begin_with_the_classes_in_order_of_frequency():
    candidates = CandidateLabels.from_sets([["b"], ["b", "c"], ["a", "c"], ["c"], ["c"]])
    expected = np.array([[1, 1, 11], [1, 11, 1], [11, 1, 1], [1, 1, 11]])
    np.testing.assert_array_equal(_first_counts(candidates, 4), expected)


def test_the_divergence_agrees_with_samples():
    counts = np.array([[3.0, 1.0, 0.5], [2.0, 2.0, 4.0]])
    generator = np.random.default_rng(0)
    expected = 0.0
    for row in counts:
        own, prior = dirichlet(row), dirichlet(np.full(3, 0.7))
        drawn = own.rvs(20000, random_state=generator).T
        expected += np.mean(own.logpdf(drawn) - prior.logpdf(drawn))
    assert _dirichlet_divergence(counts, 0.7) == pytest.approx(expected, abs=0.05)


def test_the_prior_does_not_diverge_from_itself():
    assert _dirichlet_divergence(np.full((3, 4), 0.05), 0.05) == pytest.approx(0)


# The expectation --------------------------------------------------------------------------------


def test_the_expectation_by_hand():
    # Two components of shares 1/4 and 3/4; label a has 0.8 and 0.2, b has 0.1 and 0.4.
    # Candidate a: 0.2 + 0.15 = 0.35, candidate b: 0.025 + 0.3 = 0.325; c is no candidate.
    candidates = CandidateLabels.from_sets([["a", "b"]], classes=["a", "b", "c"])
    labels = np.array([[0.8, 0.1, 0.1], [0.2, 0.4, 0.4]])
    found = _expectation(candidates, np.array([[0.25, 0.75]]), labels)
    total = 0.35 + 0.325
    np.testing.assert_allclose(found.posterior, [0.35 / total, 0.325 / total])
    np.testing.assert_allclose(found.shares, [[0.225 / total, 0.45 / total]])
    counts = np.array([[0.2, 0.025, 0], [0.15, 0.3, 0]])
    np.testing.assert_allclose(found.label_counts, counts / total)
    assert found.log_likelihood == pytest.approx(np.log(total / 2))


@given(st.integers(0, 1000), st.integers(1, 5), st.booleans())
def test_the_expectation_agrees_with_a_table_of_rows_components_and_classes(
    seed, n_components, weighted
):
    _, candidates, generator = random_problem(seed, weighted=weighted)
    shares = shares_of_gates(generator.normal(size=(20, n_components - 1)))
    labels = np.exp(_expected_log(generator.gamma(1, size=(n_components, 4)) + 0.1))
    table = shares[:, :, None] * labels * candidates.prior().toarray()[:, None, :]
    totals = table.sum(axis=(1, 2))
    table /= totals[:, None, None]
    found = _expectation(candidates, shares, labels)
    np.testing.assert_allclose(found.posterior, candidates.values_of(table.sum(axis=1)))
    np.testing.assert_allclose(found.shares, table.sum(axis=2))
    np.testing.assert_allclose(found.label_counts, table.sum(axis=0), atol=1e-12)
    assert found.log_likelihood == pytest.approx(np.log(totals).sum())


def test_a_label_that_its_component_never_saw_is_not_lost_to_rounding():
    # The row is all the first component's, which has a hundred thousand rows of another label.
    candidates = CandidateLabels.from_sets([["a", "b"]], classes=["a", "b", "c"])
    labels = np.exp(_expected_log(np.array([[0.01, 0.01, 1e5], [1.0, 1.0, 1.0]])))
    found = _expectation(candidates, np.array([[1.0, 0.0]]), labels)
    np.testing.assert_allclose(found.posterior, [0.5, 0.5])
    assert np.isfinite(found.log_likelihood)


# The method -------------------------------------------------------------------------------------


def bound_by_definition(method, X, candidates, penalty):
    """The bound with the responsibilities written out, entropy and divergence included."""
    counts, scores = method.label_counts_, method._gates.scores(X)
    expected_log = digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))
    prior = candidates.prior().toarray()
    bound = -penalty / 2 * np.sum(method._gates.weights**2)
    for row in range(len(X)):
        log_shares = np.log(shares_of_gates(scores[[row]])[0])
        inside = candidates.to_mask()[row].nonzero()[0]
        log_joint = log_shares[:, None] + expected_log[:, inside] + np.log(prior[row, inside])
        chosen = np.exp(log_joint) / np.exp(log_joint).sum()
        bound += np.sum(chosen * (log_joint - np.log(chosen)))
    return bound - _dirichlet_divergence(counts, method.concentration)


@given(st.integers(0, 100), st.booleans())
def test_the_bound_agrees_with_its_definition(seed, weighted):
    X, candidates, _ = random_problem(seed, weighted=weighted)
    method = LSBCMM(penalty=0.7, max_iter=4, concentration=0.3, scaling="none").fit(X, candidates)
    assert method.lower_bounds_[-1] == pytest.approx(
        bound_by_definition(method, X, candidates, 0.7)
    )


@given(
    st.integers(0, 1000),
    st.integers(1, 9),
    st.integers(1, 4),
    st.sampled_from([0.05, 1.0]),
    st.sampled_from([0.0, 1.0]),
)
def test_no_round_lowers_the_bound(seed, n_components, steps, concentration, penalty):
    X, candidates, _ = random_problem(seed, weighted=True)
    method = LSBCMM(
        n_components=n_components,
        concentration=concentration,
        penalty=penalty,
        steps_per_round=steps,
        max_iter=12,
        tol=0,
    ).fit(X, candidates)
    assert (np.diff(method.lower_bounds_) >= -1e-12 * np.abs(method.lower_bounds_[:-1])).all()


def test_probabilities_mix_the_labels_of_the_components():
    X, candidates, _ = random_problem(0)
    method = LSBCMM(n_components=3, scaling="none").fit(X, candidates)
    labels = np.array([dirichlet(row).mean() for row in method.label_counts_])
    expected = shares_of_gates(method._gates.scores(X)) @ labels
    np.testing.assert_allclose(method.predict_proba(X), expected)


def test_label_counts_are_the_prior_and_one_for_every_row():
    X, candidates, _ = random_problem(0)
    method = LSBCMM(n_components=5, concentration=0.05).fit(X, candidates)
    assert method.label_counts_.shape == (5, 4)
    assert method.label_counts_.sum() == pytest.approx(20 + 5 * 4 * 0.05)


def test_by_default_there_are_two_components_for_every_class():
    X, candidates, _ = random_problem(0)
    assert LSBCMM().fit(X, candidates).label_counts_.shape == (8, 4)


def test_one_component_predicts_the_same_everywhere():
    X, candidates, _ = random_problem(0)
    probabilities = LSBCMM(n_components=1).fit(X, candidates).predict_proba(X)
    np.testing.assert_allclose(probabilities, probabilities[[0] * 20])


def test_components_bend_what_one_linear_model_cannot():
    # One class in the middle of a line, the other on both sides of it.
    X = np.concatenate([np.linspace(-3, -2, 30), np.linspace(-0.5, 0.5, 20), np.linspace(2, 3, 20)])
    labels = ["out"] * 30 + ["in"] * 20 + ["out"] * 20
    method = LSBCMM(penalty=0.01).fit(X[:, np.newaxis], labels)
    assert method.predict([[-2.5], [0.0], [2.5]]).tolist() == ["out", "in", "out"]


def test_the_order_of_the_classes_does_not_matter():
    data = make_partial_label_dataset(61, 3, 4, average_candidates=2, random_state=0)
    expected = LSBCMM().fit(data.X, data.candidates).predict_proba(data.X)
    turned = LSBCMM().fit(data.X, data.candidates.with_classes([3, 1, 0, 2]))
    np.testing.assert_allclose(turned.predict_proba(data.X), expected[:, [3, 1, 0, 2]], atol=1e-6)


def test_a_class_that_is_nobodys_candidate_becomes_improbable():
    X, candidates, _ = random_problem(0)
    method = LSBCMM().fit(X, candidates.with_classes([0, 1, 2, 3, "nobody"]))
    assert method.predict_proba(X)[:, 4].max() < 0.05


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "'n_components' must be an integer >= 1. Got 0"),
        ({"concentration": 0}, "'concentration' must be a number >= 0.01. Got 0"),
        ({"penalty": -1}, "'penalty' must be a number >= 0. Got -1"),
        ({"max_iter": 0}, "'max_iter' must be an integer >= 1. Got 0"),
        ({"steps_per_round": 0}, "'steps_per_round' must be an integer >= 1. Got 0"),
        ({"tol": -1}, "'tol' must be a number >= 0. Got -1"),
        ({"scaling": "max"}, "'scaling' must be one of"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    with pytest.raises(ParameterError, match=message):
        LSBCMM(**parameters).fit([[0.0], [1.0]], ["a", "b"])

"""What SURE and AGGD have from their kernel."""

import pickle
import tracemalloc

import numpy as np
import pytest

from disambig import CandidateLabels
from disambig.datasets import make_partial_label_dataset
from disambig.methods import AGGD, SURE
from methods.classical.plain_kernel import explicit_outputs

both = pytest.mark.parametrize("method", [AGGD, SURE])


@both
def test_single_precision_is_good_for_three_digits(method):
    data = make_partial_label_dataset(700, 10, 5, average_candidates=2, random_state=0)
    single, double = (
        method(precision=precision, max_iter=3).fit(data.X[:600], data.candidates[:600])
        for precision in ("single", "double")
    )
    expected = double.predict_proba(data.X)
    found = single.predict_proba(data.X)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert not np.array_equal(found, expected)
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)


@both
def test_precision_is_double_for_few_rows(method):
    data = make_partial_label_dataset(80, 4, 4, random_state=0)
    automatic, double = (
        method(precision=precision, max_iter=3).fit(data.X, data.candidates)
        for precision in ("auto", "double")
    )
    np.testing.assert_array_equal(automatic.predict_proba(data.X), double.predict_proba(data.X))


@both
def test_sets_of_one_leave_plain_kernel_ridge_regression(method):
    data = make_partial_label_dataset(60, 4, 4, overlap=0.8, random_state=0)
    X, labels, query = data.X[:40], data.true_labels[:40], data.X[40:]
    fitted = method(scaling="none").fit(X, labels)
    one_hot = np.eye(4)[labels]
    assert fitted.candidate_confidence_.toarray().tolist() == one_hot.tolist()
    outputs = explicit_outputs(one_hot, X, query, fitted.penalty)
    assert (fitted.predict(query) == outputs.argmax(axis=1)).all()


@both
def test_features_that_are_all_the_same_leave_the_mean_of_the_confidences(method):
    sets = CandidateLabels.from_sets([["a"], ["a", "b"], ["b", "c"], ["a"]])
    fitted = method().fit(np.full((4, 3), 0.1), sets)
    mean = fitted.candidate_confidence_.toarray().mean(axis=0)
    probabilities = fitted.predict_proba([[0.1, 0.1, 0.1], [5.0, 5.0, 5.0]])
    np.testing.assert_allclose(probabilities, [mean, mean], atol=1e-9)


@pytest.mark.parametrize("method", [AGGD(unit_rows=False), SURE()])
@pytest.mark.parametrize("n_features", [1, 2])
def test_few_features_are_enough_for_separated_classes(method, n_features):
    generator = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = 5 * labels[:, np.newaxis] + generator.normal(0, 0.5, (90, n_features))
    false = (labels + generator.integers(1, 3, 90)) % 3
    mask = np.eye(3, dtype=bool)[labels] | np.eye(3, dtype=bool)[false]
    fitted = method.fit(X[:60], mask[:60])
    assert (fitted.disambiguate() == labels[:60]).all()
    assert (fitted.predict(X[60:]) == labels[60:]).all()


@both
def test_memory_is_that_of_a_few_arrays_of_all_pairs_of_rows(method):
    data = make_partial_label_dataset(1500, 20, 40, average_candidates=3, random_state=0)
    tracemalloc.start()
    fitted = method(max_iter=2).fit(data.X, data.candidates)
    fitted.predict_proba(data.X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 90e6  # all pairs of rows take 18 MB, with a value for every class 720 MB


@both
def test_all_pairs_of_rows_are_forgotten_after_the_fit(method):
    data = make_partial_label_dataset(500, 5, 3, random_state=0)
    fitted = method(max_iter=2).fit(data.X, data.candidates)
    assert len(pickle.dumps(fitted)) < 100e3  # all pairs of rows take 2 MB

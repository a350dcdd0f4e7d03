"""What several of the classical methods do alike, beyond the checks that all methods pass."""

from itertools import islice

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from disambig import CandidateLabels
from disambig.bench import cross_validate
from disambig.datasets import load_dataset, make_partial_label_dataset
from disambig.methods import AGGD, CLPL, IPAL, LSBCMM, M3PL, PLKNN, PLSVM, SURE, EMClassifier
from methods.classical.problems import random_problem

METHODS = [
    AGGD(),
    CLPL(),
    EMClassifier(),
    IPAL(),
    LSBCMM(),
    M3PL(),
    PLKNN(),
    PLSVM(random_state=0),
    SURE(),
]
# IPAL lets every class keep the share of rows that it begins with, be it nobody's label; and of
# rows that are equal it listens to one alone.
WITHOUT_IPAL = [method for method in METHODS if not isinstance(method, IPAL)]


def name_of(method):
    return method.card.name if hasattr(method, "card") else None


@pytest.mark.parametrize("method", WITHOUT_IPAL, ids=name_of)
def test_two_clusters_that_share_a_candidate_are_told_apart(method):
    generator = np.random.default_rng(0)
    X = np.concatenate([generator.normal(0, 0.1, (30, 2)), generator.normal(3, 0.1, (30, 2))])
    sets = CandidateLabels.from_sets([["a", "x"], ["a"]] * 15 + [["b", "x"], ["b"]] * 15)
    fitted = clone(method).fit(X, sets)
    assert fitted.disambiguate().tolist() == ["a"] * 30 + ["b"] * 30
    assert fitted.predict([[0.0, 0.0], [3.0, 3.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("method", WITHOUT_IPAL, ids=name_of)
def test_rows_of_all_candidates_follow_their_neighbours(method):
    generator = np.random.default_rng(0)
    X = np.repeat([[3.0, 0.0], [0.0, 3.0]], 20, axis=0) + generator.normal(0, 0.1, (40, 2))
    everything = ["a", "b", "c"]
    sets = CandidateLabels.from_sets([["a"], everything] * 10 + [["b"], everything] * 10)
    fitted = clone(method).fit(X, sets)
    assert fitted.disambiguate().tolist() == ["a"] * 20 + ["b"] * 20


@pytest.mark.parametrize("method", WITHOUT_IPAL, ids=name_of)
def test_repeated_rows_take_the_label_of_their_twins(method):
    X = np.repeat([[3.0, 0.0], [0.0, 2.0]], 6, axis=0)
    sets = CandidateLabels.from_sets([["a"], ["a", "b"], ["a", "c"]] * 2 + [["b"], ["b", "c"]] * 3)
    fitted = clone(method).fit(X, sets)
    assert fitted.disambiguate().tolist() == ["a"] * 6 + ["b"] * 6
    assert fitted.predict(X).tolist() == ["a"] * 6 + ["b"] * 6


@pytest.mark.parametrize("method", [AGGD(), CLPL(), EMClassifier(), PLKNN()], ids=name_of)
def test_sets_of_everything_prefer_no_class(method):
    X, candidates, _ = random_problem(0)
    fitted = clone(method).fit(X, np.ones(candidates.shape, dtype=bool))
    np.testing.assert_allclose(fitted.predict_proba(X), 1 / 4)
    np.testing.assert_allclose(fitted.candidate_confidence_.toarray(), 1 / 4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_a_class_that_is_nobodys_candidate_is_never_predicted(method):
    data = make_partial_label_dataset(60, 5, 3, average_candidates=2, random_state=0)
    fitted = clone(method).fit(data.X, data.candidates.with_classes([0, 9, 1, 2]))
    assert (fitted.predict(data.X) != 9).all()


@pytest.mark.parametrize("method", [AGGD(), IPAL(), M3PL(), PLKNN(), SURE()], ids=name_of)
def test_a_class_that_is_nobodys_candidate_takes_nothing_from_others(method):
    data = make_partial_label_dataset(60, 5, 3, average_candidates=2, random_state=0)
    expected = clone(method).fit(data.X, data.candidates).predict_proba(data.X)
    wider = data.candidates.with_classes([0, 9, 1, 2])
    found = clone(method).fit(data.X, wider).predict_proba(data.X)
    np.testing.assert_allclose(found[:, 1], 0, atol=1e-12)
    np.testing.assert_allclose(found[:, [0, 2, 3]], expected, atol=1e-6)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_scaling_is_learned_from_the_training_rows(method):
    data = make_partial_label_dataset(60, 5, 3, random_state=0)
    X, sets, query = data.X[:57], data.candidates[:57], data.X[57:]
    factors, moved = np.array([1, 10, 100, 1000, 10000]), 7.0
    method = clone(method).set_params(scaling="standard")
    expected = method.fit(X, sets).predict_proba(query)
    found = method.fit(X * factors + moved, sets).predict_proba(query * factors + moved)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    "method",
    [
        *[method for method in METHODS if method.accepts_sparse],
        M3PL(unit_rows=False),
        PLKNN(unit_rows=False),
        PLKNN(unit_rows=True),
    ],
    ids=name_of,
)
def test_sparse_features_give_the_same_as_dense_ones(method):
    data = make_partial_label_dataset(60, 12, 3, random_state=0)
    X = np.where(np.abs(data.X) > 0.5, data.X, 0)
    # Sparse features keep their mean, so the scale is compared without moving the centre.
    on_dense = clone(method).set_params(scaling=StandardScaler(with_mean=False))
    expected = on_dense.fit(X, data.candidates).predict_proba(X)
    on_sparse = clone(method).set_params(scaling="standard")
    tolerance = 1e-3 if isinstance(method, M3PL) else 1e-5
    for form in (sparse.csr_array, sparse.csc_matrix):
        found = on_sparse.fit(form(X), data.candidates).predict_proba(form(X))
        np.testing.assert_allclose(found, expected, atol=tolerance)


@pytest.mark.parametrize(
    ("method", "measured"), [(EMClassifier, "objective_"), (LSBCMM, "lower_bounds_")]
)
def test_rounds_end_after_one_of_little_gain_or_the_last_one_allowed(method, measured):
    X, candidates, _ = random_problem(0)
    values = getattr(method(tol=0.02).fit(X, candidates), measured)
    gains = np.abs(np.diff(values) / values[:-1])
    assert (gains[:-1] > 0.02).all()
    assert gains[-1] <= 0.02
    fitted = method(max_iter=3, tol=0).fit(X, candidates)
    assert fitted.n_iter_ == 3
    assert getattr(fitted, measured).shape == (3,)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("method", "accuracy", "transductive_accuracy"),
    [(AGGD(), 0.7, 0.8), (IPAL(), 0.65, 0.7), (SURE(), 0.72, 0.75)],
    ids=name_of,
)
def test_accuracy_on_lost(method, accuracy, transductive_accuracy):
    scores = list(islice(cross_validate(method, load_dataset("lost")), 3))
    assert np.mean([score.accuracy for score in scores]) > accuracy
    assert np.mean([score.transductive_accuracy for score in scores]) > transductive_accuracy

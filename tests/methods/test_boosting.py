"""Gradient boosting on confidences: one tree by a plain loop, and what is learned by rounds."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.tree import DecisionTreeRegressor

from disambig import CandidateLabels, DisambiguatingBoosting
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods.boosting import _newton_steps

DATA = make_partial_label_dataset(60, 3, 4, average_candidates=2, overlap=0.5, random_state=0)


def plain_boosting(X, targets, weights, seed, n_trees, rate):
    """Return scores of the rows by a loop over trees, leaves and classes."""
    n_rows, n_classes = targets.shape
    generator = np.random.default_rng(seed)
    shares = (weights[:, None] * targets).sum(axis=0) / weights.sum()
    scores = np.tile(np.log(np.maximum(shares, 1e-4)), (n_rows, 1))
    for number in range(n_trees):
        sample = generator.choice(n_rows, round(0.7 * n_rows), replace=False)
        probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        residuals = targets - probabilities
        tree = DecisionTreeRegressor(
            max_leaf_nodes=4,
            min_samples_leaf=3,
            max_features=0.5 if number % 2 else None,
            random_state=int(generator.integers(2**31)),
        ).fit(X[sample], residuals[sample], sample_weight=weights[sample])
        leaf_of = tree.apply(X)
        for leaf in np.unique(leaf_of):
            members = [row for row in sample if leaf_of[row] == leaf]
            for label in range(n_classes):
                top = sum(weights[row] * residuals[row, label] for row in members)
                bottom = 1.0
                for row in members:
                    p = probabilities[row, label]
                    bottom += weights[row] * p * (1 - p)
                scores[leaf_of == leaf, label] += rate * top / bottom
    return scores


@pytest.mark.parametrize("n_trees", [1, 4])
def test_trees_and_newton_steps_are_those_of_a_loop(n_trees):
    method = DisambiguatingBoosting(
        n_trees=n_trees, learning_rate=0.3, max_leaf_nodes=4, min_samples_leaf=3
    )
    method.classes_ = DATA.candidates.classes
    rows, columns = DATA.candidates.pairs()
    weights = np.random.default_rng(1).uniform(0.2, 2, size=len(rows))
    X = DATA.X.astype(np.float32)
    model = method._train(X, rows, columns, weights, 5)
    dense = np.zeros(DATA.candidates.shape)
    for row, column, weight in zip(rows, columns, weights, strict=True):
        dense[row, column] = weight
    of_rows = dense.sum(axis=1)
    expected = plain_boosting(X, dense / of_rows[:, None], of_rows, 5, n_trees, 0.3)
    np.testing.assert_allclose(method._ask(model, X, 4), softmax(expected, axis=1))


def test_a_newton_step_worked_by_hand():
    leaves = np.array([1, 1, 2])
    residuals = np.array([[0.5, -0.5], [0.2, -0.2], [-0.4, 0.4]])
    probabilities = np.array([[0.5, 0.5], [0.8, 0.2], [0.4, 0.6]])
    found = _newton_steps(leaves, residuals, probabilities, np.array([1.0, 2.0, 1.0]), 3)
    first = 0.9 / (0.25 + 2 * 0.16 + 1)
    second = -0.4 / (0.24 + 1)
    np.testing.assert_allclose(found, [[0, 0], [first, -first], [second, -second]])


def test_what_cannot_be_learned_is_not_known_of_held_out_rows():
    generator = np.random.default_rng(0)
    X, labels = generator.normal(size=(200, 3)), generator.integers(3, size=200)
    fitted = DisambiguatingBoosting(min_samples_leaf=1, rounds=2, n_folds=3, random_state=0)
    fitted.fit(X, labels)
    assert fitted.score(X, labels) > 0.9
    assert np.mean(fitted.held_out_proba_.argmax(axis=1) == labels) < 0.45


def test_more_rounds_set_more_rows_right():
    data = make_partial_label_dataset(300, 3, 4, average_candidates=2, overlap=0.3, random_state=1)
    right = []
    for rounds in (1, 4):
        fitted = DisambiguatingBoosting(n_trees=15, n_folds=3, rounds=rounds, random_state=0)
        fitted.fit(data.X, data.candidates)
        right.append(np.mean(fitted.disambiguate() == data.true_labels))
        assert len(fitted.covering_rates_) <= rounds
    assert right[1] > right[0] + 0.02


def test_a_heavy_class_is_predicted_more_often():
    rare, often = (
        DisambiguatingBoosting(
            n_trees=10, rounds=1, n_folds=2, class_weight={0: weight, 1: 1, 2: 1, 3: 1},
            random_state=0,
        )
        .fit(DATA.X, DATA.candidates)
        .predict_proba(DATA.X)[:, 0]
        .mean()
        for weight in (0.1, 10)
    )  # fmt: skip
    assert rare < often / 2


def test_rows_without_weight_are_not_learned_from():
    generator = np.random.default_rng(0)
    X = np.tile(generator.normal(size=(40, 2)), (2, 1))
    labels = np.repeat([0, 1], 40) ^ (X[:, 0] > 0)  # the second half says the opposite
    for first in (0, 1):
        weights = np.repeat([first, 1 - first], 40)
        fitted = DisambiguatingBoosting(n_trees=10, rounds=2, n_folds=2, random_state=0)
        fitted.fit(X, labels, sample_weight=weights)
        assert fitted.score(X, labels, sample_weight=weights) > 0.9


def test_sparse_features_give_the_same_trees():
    thin = np.where(np.abs(DATA.X) > 0.3, DATA.X, 0)
    method = DisambiguatingBoosting(n_trees=5, rounds=1, n_folds=2, scaling="none", random_state=0)
    dense = method.fit(thin, DATA.candidates).predict_proba(thin)
    found = method.fit(sparse.coo_array(thin), DATA.candidates).predict_proba(thin)
    np.testing.assert_allclose(found, dense, atol=0.1)


def test_a_class_that_no_row_has_stays_unlikely():
    y = CandidateLabels.from_labels(["a", "b"] * 10, classes=["a", "b", "never"])
    X = [[float(number % 2)] for number in range(20)]
    fitted = DisambiguatingBoosting(
        n_trees=3, min_samples_leaf=1, rounds=1, n_folds=2, random_state=0
    ).fit(X, y)
    assert 0 < fitted.predict_proba(X)[:, 2].max() < 0.001


@pytest.mark.parametrize(
    "parameter", ["n_trees", "learning_rate", "max_leaf_nodes", "min_samples_leaf"]
)
def test_parameters_out_of_range_are_refused(parameter):
    with pytest.raises(ParameterError, match=parameter):
        DisambiguatingBoosting(**{parameter: 0}).fit(DATA.X, DATA.candidates)

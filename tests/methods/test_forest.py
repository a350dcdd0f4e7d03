"""A forest that judges every row by trees that were not grown on it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor

from disambig import CandidateLabels, DisambiguatingForest
from disambig._core.errors import ParameterError
from disambig.datasets import make_partial_label_dataset
from disambig.methods import forest as forest_module
from disambig.methods.class_weights import class_shares
from disambig.methods.forest import _sample

DATA = make_partial_label_dataset(60, 3, 4, average_candidates=2, overlap=0.5, random_state=0)


def plain_round(X, targets, weights, n_trees, generator, groups):
    """Return votes of a round by a loop: sums, and how many voted."""
    sums, counts = np.zeros(targets.shape), np.zeros(len(targets))
    n_groups = groups.max() + 1
    trees = []
    for number, seed in enumerate(generator.integers(2**31, size=n_trees)):
        drawn = np.random.default_rng(seed).integers(n_groups, size=n_groups)
        times = np.array([(drawn == group).sum() for group in groups], dtype=float)
        tree = DecisionTreeRegressor(
            max_features="sqrt" if number % 2 else 0.5, random_state=int(seed)
        ).fit(X, targets, sample_weight=times * weights)
        for row in np.flatnonzero(times == 0):
            sums[row] += tree.predict(X[row : row + 1])[0]
            counts[row] += 1
        trees.append(tree)
    return trees, sums, counts


@pytest.mark.parametrize("groups", [None, np.arange(60) // 3])
def test_two_rounds_are_those_of_a_loop(groups):
    y = DATA.candidates if groups is None else DATA.candidates.with_groups(groups)
    X = DATA.X.astype(np.float32)
    fitted = DisambiguatingForest(
        rounds=2, ramp_rounds=1, trees_per_round=6, power=2, scaling="none", random_state=3
    ).fit(DATA.X, y)
    generator = np.random.default_rng(3)
    group_of = np.arange(60) if groups is None else groups
    mask = y.to_mask()
    prior = mask / mask.sum(axis=1, keepdims=True)
    shares = class_shares(y)

    _, sums, counts = plain_round(X, prior, (prior**2).sum(axis=1), 6, generator, group_of)
    judged = [of_row / n if n else shares for of_row, n in zip(sums, counts, strict=True)]
    scores = mask * np.maximum(judged, 1e-4) ** 2
    confidences = scores / scores.sum(axis=1, keepdims=True)
    purity = (confidences**2).sum(axis=1)
    trees, sums, counts = plain_round(X, confidences, purity, 6, generator, group_of)

    held_out = [of_row / n if n else shares for of_row, n in zip(sums, counts, strict=True)]
    np.testing.assert_allclose(fitted.held_out_proba_, held_out, atol=1e-7)
    expected = np.mean([tree.predict(X) for tree in trees], axis=0)
    np.testing.assert_allclose(fitted.predict_proba(DATA.X), expected, atol=1e-7)
    inside = mask * held_out
    inside = np.where(inside.any(axis=1, keepdims=True), inside, prior)
    np.testing.assert_allclose(
        fitted.candidate_confidence_.toarray(),
        inside / inside.sum(axis=1, keepdims=True),
        atol=1e-7,
    )


def test_what_cannot_be_learned_is_not_known_of_held_out_rows():
    """Single labels of pure noise: trees know their own rows by heart, held-out ones by chance."""
    generator = np.random.default_rng(0)
    X, labels = generator.normal(size=(300, 3)), generator.integers(3, size=300)
    fitted = DisambiguatingForest(rounds=3, trees_per_round=20, random_state=0).fit(X, labels)
    assert fitted.score(X, labels) > 0.95
    assert np.mean(fitted.held_out_proba_.argmax(axis=1) == labels) < 0.45


def test_copies_of_a_row_in_one_group_never_vote_on_each_other():
    generator = np.random.default_rng(0)
    X, labels = generator.normal(size=(100, 3)), generator.integers(3, size=100)
    twice, labels = np.repeat(X, 2, axis=0), np.repeat(labels, 2)
    method = DisambiguatingForest(rounds=2, trees_per_round=20, random_state=0)
    apart = method.fit(twice, labels).held_out_proba_.argmax(axis=1)
    assert np.mean(apart == labels) > 0.8  # its copy gave it away
    groups = np.repeat(np.arange(100), 2)
    together = method.fit(twice, labels, groups=groups).held_out_proba_.argmax(axis=1)
    assert np.mean(together == labels) < 0.5


def test_a_sample_holds_whole_groups_and_only_those_that_count():
    groups = np.repeat(np.arange(50), 4)
    counts = _sample(groups, np.arange(10, 50), 200, np.random.default_rng(0))
    assert all(len(set(counts[groups == group])) == 1 for group in range(50))
    assert counts.sum() == 160
    assert (counts[groups < 10] == 0).all()
    assert 0 < (counts == 0).mean() < 0.6
    small = _sample(groups, np.arange(50), 20, np.random.default_rng(0))
    assert small.sum() == 20


def test_trees_of_small_samples_are_grown_on_them_alone():
    fitted = DisambiguatingForest(rounds=1, trees_per_round=3, max_samples=5, random_state=0).fit(
        DATA.X, DATA.candidates
    )
    assert len(fitted._trees.feature) <= 3 * (2 * 5 - 1)
    assert (fitted.held_out_proba_.sum(axis=1) > 0.99).all()


def test_a_row_that_all_trees_were_grown_on_is_judged_by_the_shares_of_classes():
    y = CandidateLabels.from_sets([["a", "b"]])
    fitted = DisambiguatingForest(rounds=2, trees_per_round=2, random_state=0).fit([[1.0]], y)
    assert fitted.held_out_proba_.tolist() == [[0.5, 0.5]]


def test_some_judged_rows_and_trees_at_a_time_give_what_they_should(monkeypatch):
    method = DisambiguatingForest(rounds=2, trees_per_round=5, random_state=0)
    whole = method.fit(DATA.X, DATA.candidates).held_out_proba_
    monkeypatch.setattr(forest_module, "_MOST_NUMBERS", 1)
    np.testing.assert_array_equal(method.fit(DATA.X, DATA.candidates).held_out_proba_, whole)
    monkeypatch.setattr(forest_module, "_MOST_JUDGED", 4)
    few = method.fit(DATA.X, DATA.candidates).held_out_proba_
    np.testing.assert_allclose(few.sum(axis=1), 1)
    is_shares = np.isclose(few, class_shares(DATA.candidates)).all(axis=1)
    assert is_shares.sum() >= 60 - 5 * 4  # in the one round after the ramp


def test_a_heavy_class_is_predicted_more_often():
    rare, often = (
        DisambiguatingForest(
            rounds=2, trees_per_round=10, class_weight={0: weight, 1: 1, 2: 1, 3: 1}, random_state=0
        )
        .fit(DATA.X, DATA.candidates)
        .predict_proba(DATA.X)[:, 0]
        .mean()
        for weight in (0.1, 10)
    )
    assert rare < often / 2


def test_rows_without_weight_are_not_learned_from():
    generator = np.random.default_rng(0)
    X = np.tile(generator.normal(size=(40, 2)), (2, 1))
    labels = np.repeat([0, 1], 40) ^ (X[:, 0] > 0)  # the second half says the opposite
    for first in (0, 1):
        weights = np.repeat([first, 1 - first], 40)
        fitted = DisambiguatingForest(rounds=2, trees_per_round=10, random_state=0)
        fitted.fit(X, labels, sample_weight=weights)
        assert fitted.score(X, labels, sample_weight=weights) > 0.9


def test_only_one_of_many_rows_counts():
    weights = np.zeros(60)
    weights[7] = 1
    fitted = DisambiguatingForest(rounds=2, trees_per_round=3, random_state=0)
    fitted.fit(DATA.X, DATA.candidates, sample_weight=weights)
    assert set(fitted.predict(DATA.X)) <= set(np.flatnonzero(DATA.candidates.to_mask()[7]))


def test_sparse_features_give_the_same_forest():
    thin = np.where(np.abs(DATA.X) > 0.3, DATA.X, 0)
    method = DisambiguatingForest(rounds=2, trees_per_round=10, scaling="none", random_state=0)
    dense = method.fit(thin, DATA.candidates).predict_proba(thin)
    for kind in (sparse.csr_array, sparse.coo_array):
        found = method.fit(kind(thin), DATA.candidates).predict_proba(kind(thin))
        np.testing.assert_allclose(found, dense, atol=0.35)
        assert np.mean(found.argmax(axis=1) == dense.argmax(axis=1)) > 0.9


@pytest.mark.parametrize(
    "parameter",
    ["rounds", "trees_per_round", "ramp_rounds", "power", "min_samples_leaf", "max_samples"],
)
def test_parameters_out_of_range_are_refused(parameter):
    with pytest.raises(ParameterError, match=parameter):
        DisambiguatingForest(**{parameter: -1}).fit(DATA.X, DATA.candidates)

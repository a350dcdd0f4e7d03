"""Trees as arrays: sums that are those of scikit-learn, and what cannot be walked is refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from disambig.solvers import trees as tree_module
from disambig.solvers.trees import Tree, TreeEnsemble, tree_of_scikit

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(120, 4)).astype(np.float32)
TARGETS = GENERATOR.dirichlet(np.ones(3), size=120)
NEW = GENERATOR.normal(size=(50, 4)).astype(np.float32)


def arrays_of(model):
    return tree_of_scikit(model.tree_, model.tree_.value[:, :, 0])


def stump(left=(1, 1, 2), right=(2, 1, 2), feature=0, threshold=0.5, values=((0,), (1,), (2,))):
    """A tree of a root and two leaves, or what is left of it."""
    return Tree(
        feature=np.array([feature, 0, 0]),
        threshold=np.array([threshold, 0, 0]),
        left=np.array(left),
        right=np.array(right),
        values=sparse.csr_array(np.array(values, dtype=float)),
    )


@pytest.mark.parametrize("depth", [None, 1, 3])
def test_one_tree_says_what_that_of_scikit_learn_predicts(depth):
    model = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X, TARGETS)
    np.testing.assert_allclose(TreeEnsemble.of([arrays_of(model)]).sums(NEW), model.predict(NEW))


def test_the_sum_of_trees_is_the_forest_of_scikit_learn_times_their_number():
    forest = RandomForestRegressor(20, random_state=0).fit(X, TARGETS)
    ensemble = TreeEnsemble.of([arrays_of(tree) for tree in forest.estimators_])
    ensemble.check(4)
    np.testing.assert_allclose(ensemble.sums(NEW) / 20, forest.predict(NEW))
    assert len(ensemble.roots) == 20


def test_values_of_ones_own_are_those_of_the_leaf_that_a_row_comes_to():
    model = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, TARGETS.argmax(axis=1))
    values = GENERATOR.normal(size=(model.tree_.node_count, 2))
    found = TreeEnsemble.of([tree_of_scikit(model.tree_, values)])
    np.testing.assert_allclose(found.sums(NEW), values[model.apply(NEW)])
    is_leaf = model.tree_.children_left < 0
    assert (found.values.toarray()[~is_leaf] == 0).all()  # others take no room


def test_a_row_on_the_threshold_goes_left():
    ensemble = TreeEnsemble.of([stump()])
    rows = np.array([[0.5], [np.nextafter(np.float32(0.5), 1)], [-np.inf], [np.inf]])
    assert ensemble.sums(rows.astype(np.float32)).ravel().tolist() == [1, 2, 1, 2]


def test_a_tree_of_one_leaf_says_the_same_of_every_row():
    model = DecisionTreeRegressor().fit(X[:1], TARGETS[:1])
    found = TreeEnsemble.of([arrays_of(model)]).sums(NEW)
    np.testing.assert_allclose(found, np.tile(TARGETS[0], (len(NEW), 1)))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_are_walked_like_dense_ones(kind):
    thin = np.where(np.abs(NEW) > 0.5, NEW, 0)
    model = DecisionTreeRegressor(random_state=0).fit(X, TARGETS)
    ensemble = TreeEnsemble.of([arrays_of(model)])
    np.testing.assert_array_equal(ensemble.sums(kind(thin)), ensemble.sums(thin))
    np.testing.assert_allclose(ensemble.sums(kind(thin)), model.predict(thin))


@pytest.mark.parametrize("limit", ["_PAIRS_AT_A_TIME", "_NUMBERS_AT_A_TIME"])
def test_rows_in_blocks_give_the_same_as_all_at_once(limit, monkeypatch):
    forest = RandomForestRegressor(5, random_state=0).fit(X, TARGETS)
    ensemble = TreeEnsemble.of([arrays_of(tree) for tree in forest.estimators_])
    together = ensemble.sums(NEW)
    for size in (1, 37):
        monkeypatch.setattr(tree_module, limit, size)
        np.testing.assert_array_equal(ensemble.sums(NEW), together)


def test_no_rows_have_no_sums():
    ensemble = TreeEnsemble.of([stump(values=((0, 0), (1, 2), (3, 4)))])
    assert ensemble.sums(np.zeros((0, 1))).shape == (0, 2)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (stump(left=(3, 1, 2)), "left names nodes that are not below"),
        (stump(right=(2, 1, -1)), "right names nodes that are not below"),
        (stump(left=(1, 0, 2)), "left names nodes that are not below"),  # would never end
        (stump(right=(0, 1, 2)), "one child"),
        (stump(left=(0, 1, 2)), "one child"),
        (stump(feature=2), "feature that there is not"),
        (stump(feature=-1), "feature that there is not"),
        (stump(threshold=np.nan), "not a number"),
        (stump(values=((0,), (1,), (np.inf,))), "not a number"),
        (stump(values=((0,), (np.nan,), (1,))), "not a number"),
    ],
)
def test_what_cannot_be_walked_is_refused(tree, message):
    TreeEnsemble.of([stump()]).check(2)
    with pytest.raises(ValueError, match=message):
        TreeEnsemble.of([stump(), tree]).check(2)


@pytest.mark.parametrize("roots", [[], [-1], [0, 3]])
def test_trees_begin_at_nodes_that_there_are(roots):
    ensemble = TreeEnsemble.of([stump()])
    ensemble.roots = np.array(roots, dtype=np.int32)
    with pytest.raises(ValueError, match="begins at a node that there is not"):
        ensemble.check(1)


@pytest.mark.parametrize("roots", [[0, 0], [3, 0]])
def test_trees_are_there_once_and_in_their_order(roots):
    ensemble = TreeEnsemble.of([stump(), stump()])
    ensemble.roots = np.array(roots, dtype=np.int32)
    with pytest.raises(ValueError, match="one after the other"):
        ensemble.check(1)

"""Decision trees as plain arrays: taken over from scikit-learn, walked in NumPy, safe in a file.

Objects of scikit-learn can only be kept by pickling them. Arrays can be written to any file and
checked when they come back.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from disambig._core.typing import Features, FloatArray, IntArray, Sparse

# Pairs of a row and a tree whose leaves are added up together, and those that walk together: few,
# so that what they look at stays in the cache.
_PAIRS_AT_A_TIME = 2**20
_WALKING_AT_A_TIME = 2**15
# Features of the rows that are looked at together, made dense.
_NUMBERS_AT_A_TIME = 2**24


class Tree(NamedTuple):
    """One tree: its nodes, the first of which is the root.

    A child has a larger number than its parent. A leaf is its own child on both sides, so that a
    walk may go on at a leaf and stays there.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    values: Sparse  # of every node and output; only those of leaves count


def tree_of_scikit(fitted: Any, values: FloatArray) -> Tree:
    """Return the ``tree_`` of a fitted tree of scikit-learn, with values of its own.

    Parameters
    ----------
    fitted : sklearn.tree.Tree
        A tree.
    values : ndarray of shape (nodes, outputs)
        What its leaves are to add; those of other nodes do not count.
    """
    is_leaf = fitted.children_left < 0
    own = np.arange(len(is_leaf))
    return Tree(
        feature=np.where(is_leaf, 0, fitted.feature),
        threshold=np.where(is_leaf, 0, fitted.threshold),
        left=np.where(is_leaf, own, fitted.children_left),
        right=np.where(is_leaf, own, fitted.children_right),
        values=sparse.csr_array(np.where(is_leaf[:, np.newaxis], values, 0)),
    )


class TreeEnsemble:
    """Trees whose values are added up.

    Parameters
    ----------
    feature : ndarray of int of shape (nodes,)
        The feature that a node looks at.
    threshold : ndarray of shape (nodes,)
        A row goes left if its feature is not above it.
    left, right : ndarray of int of shape (nodes,)
        The next node on either side; both are the node itself for a leaf.
    roots : ndarray of int of shape (trees,)
        The first node of every tree.
    values : CSR array of shape (nodes, outputs)
        What a leaf adds to every output.
    """

    def __init__(
        self,
        feature: IntArray,
        threshold: FloatArray,
        left: IntArray,
        right: IntArray,
        roots: IntArray,
        values: Sparse,
    ) -> None:
        self.feature, self.threshold = feature, threshold
        self.left, self.right = left, right
        self.roots, self.values = roots, values

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Self:
        """Return an ensemble of these trees, in their order."""
        sizes = [len(tree.feature) for tree in trees]
        roots = np.cumsum([0, *sizes[:-1]])
        return cls(
            feature=np.concatenate([tree.feature for tree in trees]).astype(np.int32),
            threshold=np.concatenate([tree.threshold for tree in trees]),
            left=_joined([tree.left for tree in trees], roots),
            right=_joined([tree.right for tree in trees], roots),
            roots=roots.astype(np.int32),
            values=sparse.vstack([tree.values for tree in trees], format="csr"),
        )

    def check(self, n_features: int) -> None:
        """Raise ``ValueError`` where a walk could leave the arrays or never end."""
        own = np.arange(len(self.feature))
        for name in ("left", "right"):
            child = getattr(self, name)
            inside = (child >= own) & (child < len(own))
            if not inside.all():
                raise ValueError(f"{name} names nodes that are not below their parents")
        is_leaf = self.left == own
        if (is_leaf != (self.right == own)).any():
            raise ValueError("a node has one child")
        if ((self.feature < 0) | (self.feature >= n_features)).any():
            raise ValueError("a tree looks at a feature that there is not")
        if np.isnan(self.threshold).any() or not np.isfinite(self.values.data).all():
            raise ValueError("a threshold or a value is not a number")
        if len(self.roots) == 0 or (self.roots < 0).any() or (self.roots >= len(own)).any():
            raise ValueError("a tree begins at a node that there is not")
        if (self.roots[1:] <= self.roots[:-1]).any():
            raise ValueError("trees are not one after the other")

    def sums(self, X: Features) -> FloatArray:
        """Return the sum over the trees of the values of the leaves that every row comes to."""
        n_trees = len(self.roots)
        parts = []
        most = max(1, min(_PAIRS_AT_A_TIME // n_trees, _NUMBERS_AT_A_TIME // max(1, X.shape[1])))
        for rows in _blocks(X.shape[0], most):
            block = X[rows].toarray() if sparse.issparse(X) else np.asarray(X[rows])
            leaves = self._leaves(block)
            n_rows = len(block)
            visits = sparse.csr_array(
                (np.ones(leaves.size), leaves.ravel(), np.arange(n_rows + 1) * n_trees),
                shape=(n_rows, len(self.feature)),
            )
            parts.append((visits @ self.values).toarray())
        return np.concatenate(parts) if parts else np.zeros((0, self.values.shape[1]))

    def _leaves(self, X: FloatArray) -> IntArray:
        """Return the leaf of every row in every tree: shape (rows, trees)."""
        X = np.ascontiguousarray(X)
        most = max(1, _WALKING_AT_A_TIME // len(X))
        walks = [self._walk(X, self.roots[some]) for some in _blocks(len(self.roots), most)]
        return np.concatenate(walks, axis=1)

    def _walk(self, X: FloatArray, roots: IntArray) -> IntArray:
        """Return the same for some of the trees."""
        values = X.ravel()
        nodes = np.tile(roots, len(X))
        first_value = np.repeat(np.arange(len(X)) * X.shape[1], len(roots))
        walking = np.flatnonzero(self.left[nodes] != nodes)
        while len(walking):
            here = nodes[walking]
            value = values[first_value[walking] + self.feature[here]]
            further = np.where(value <= self.threshold[here], self.left[here], self.right[here])
            nodes[walking] = further
            walking = walking[self.left[further] != further]
        return nodes.reshape(len(X), len(roots))


def _joined(children: Sequence[IntArray], roots: IntArray) -> IntArray:
    moved = [of_tree + root for of_tree, root in zip(children, roots, strict=True)]
    return np.concatenate(moved).astype(np.int32)


def _blocks(n_rows: int, most: int) -> Iterator[slice]:
    return (slice(first, first + most) for first in range(0, n_rows, most))

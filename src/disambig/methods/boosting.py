r"""Gradient boosting on candidate sets, learned by rounds: trees that add to all classes at once.

Libraries for boosting ask for one label a row: candidates would be weighted copies of a row, and
every class would have trees of its own. Here a tree is fitted to the residuals of all classes,
:math:`q_{ij} - p_{ij}`, of confidences that may stay soft: fewer rows, fewer trees. The value of a
leaf is a Newton step, as usual: for class j

.. math:: \eta \, \frac{\sum_i w_i (q_{ij} - p_{ij})}{\sum_i w_i \, p_{ij} (1 - p_{ij}) + \lambda}

over the rows i of the leaf, with the learning rate :math:`\eta` and a penalty :math:`\lambda` of 1.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from disambig._core.parameters import (
    RandomState,
    check_integer,
    check_real,
    make_generator,
)
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import MethodCard
from disambig.methods.class_weights import ClassWeight
from disambig.methods.disambiguating import CrossFittedClassifier
from disambig.methods.forest import TREES
from disambig.methods.growth import seconds_of_fit
from disambig.methods.rounds import soft_targets
from disambig.methods.saving import SCALER, Learned, array
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.blocks import for_each
from disambig.solvers.trees import TreeEnsemble, tree_of_scikit

# Of the squared values of leaves.
_PENALTY = 1.0
# A class that no row has at first is unlikely, not impossible.
_SMALLEST_SHARE = 1e-4
# Every tree is grown on a new sample of the rows, every other one on a sample of the features.
_SHARE_OF_ROWS = 0.7
_SHARE_OF_FEATURES = 0.5
# Trees that tell how long all of them take.
_TREES_TIMED = 2


class BoostedTrees(NamedTuple):
    """Trees that add to the scores of all classes, and the scores before them."""

    trees: TreeEnsemble
    baseline: FloatArray


class DisambiguatingBoosting(CrossFittedClassifier):
    """Gradient boosting, trained on confidences from folds that were not trained on the row.

    It learns by rounds like ``DisambiguatingClassifier``. A tree adds to the scores of all classes
    at once and is fitted to confidences that may stay soft.

    Parameters
    ----------
    n_trees : int, default=40
        Number of trees.
    learning_rate : float, default=0.2
        What the values of a tree are multiplied by.
    max_leaf_nodes : int, default=15
        Largest number of leaves of a tree.
    min_samples_leaf : int, default=5
        Smallest number of rows in a leaf.
    rounds : int, default=4
        Largest number of rounds; each takes ``n_folds`` fits. From ``ramp_rounds`` on, learning
        stops when held-out rows are no longer covered better than before.
    ramp_rounds : int, default=3
        Number of rounds until all rows take new confidences.
    power : float, default=1.5
        Judgements are raised to this power.
    n_folds : int, default=5
        Each row is judged by a copy that was trained without its fold.
    class_weight : "balanced", dict or None, default=None
        What the weight of a candidate is multiplied by, by its label; labels that a dict does not
        name weigh 1.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows. Trees do not depend on it, but for
        rounding: they see features in single precision.
    random_state : int, generator or None, default=None
        Seed of the folds and of the trees.

    Attributes
    ----------
    covering_rates_ : ndarray of shape (rounds,)
        Share of the held-out rows that were predicted inside their sets, by round.
    held_out_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the training rows by copies that were not trained on them. Not kept in a
        file.

    See Also
    --------
    DisambiguatingForest : A random forest in the same way, out of the bag.
    DisambiguatingClassifier : Any classifier of yours, such as LightGBM.

    Examples
    --------
    >>> from disambig import DisambiguatingBoosting
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(200, 4, 3, random_state=0)
    >>> model = DisambiguatingBoosting(n_trees=10, rounds=2, random_state=0)
    >>> model.fit(data.X, data.candidates).score(data.X, data.true_labels) > 0.7
    True
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="boosting",
        title="Gradient boosting on held-out confidences",
        when="for tables with thresholds and exceptions",
        paper="this package",
    )
    accepts_sparse: ClassVar[bool] = True
    prefers_dense: ClassVar[bool] = True
    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "_trees": TREES,
        "_baseline": array("classes"),
        "covering_rates_": array("rounds"),
    }

    def __init__(
        self,
        *,
        n_trees: int = 40,
        learning_rate: float = 0.2,
        max_leaf_nodes: int = 15,
        min_samples_leaf: int = 5,
        rounds: int = 4,
        ramp_rounds: int = 3,
        power: float = 1.5,
        n_folds: int = 5,
        class_weight: ClassWeight = None,
        scaling: Any = "standard",
        random_state: RandomState = None,
    ) -> None:
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.rounds = rounds
        self.ramp_rounds = ramp_rounds
        self.power = power
        self.n_folds = n_folds
        self.class_weight = class_weight
        self.scaling = scaling
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_trees", self.n_trees, minimum=1)
        check_real("learning_rate", self.learning_rate, minimum=1e-6)
        check_integer("max_leaf_nodes", self.max_leaf_nodes, minimum=2)
        check_integer("min_samples_leaf", self.min_samples_leaf, minimum=1)
        check_scaling(self.scaling)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X, candidates.row_weights)
        (self._trees, self._baseline), confidence = self._learn(self._inputs(X), candidates)
        return confidence

    def _predict_proba(self, X: Features) -> FloatArray:
        model = BoostedTrees(self._trees, self._baseline)
        return self._ask(model, self._inputs(X), len(self.classes_))

    def _after_load(self) -> None:
        self._trees.check(self.n_features_in_)

    def _inputs(self, X: Features) -> Features:
        return apply_scaler(self._scaler, X).astype(np.float32)

    def _train(
        self, X: Features, rows: IntArray, columns: IntArray, weights: FloatArray, seed: int
    ) -> BoostedTrees:
        shape = X.shape[0], len(self.classes_)
        targets, row_weights = soft_targets(rows, columns, weights, shape)
        trained = np.flatnonzero(row_weights)
        X, targets, row_weights = X[trained], targets[trained], row_weights[trained]
        shares = np.average(targets, axis=0, weights=row_weights)
        baseline: FloatArray = np.log(np.maximum(shares, _SMALLEST_SHARE))
        generator = make_generator(seed)
        scores = np.tile(baseline, (len(trained), 1))
        n_sampled = max(1, round(_SHARE_OF_ROWS * len(trained)))
        trees = []
        for number in range(self.n_trees):
            sample = generator.choice(len(trained), n_sampled, replace=False)
            model = DecisionTreeRegressor(
                max_leaf_nodes=self.max_leaf_nodes,
                min_samples_leaf=self.min_samples_leaf,
                max_features=_SHARE_OF_FEATURES if number % 2 else None,
                random_state=int(generator.integers(2**31)),
            )
            probabilities = softmax(scores, axis=1)
            residuals = targets - probabilities
            model.fit(X[sample], residuals[sample], sample_weight=row_weights[sample])
            leaves = model.apply(X)
            values = self.learning_rate * _newton_steps(
                leaves[sample], residuals[sample], probabilities[sample], row_weights[sample],
                model.tree_.node_count,
            )  # fmt: skip
            scores += values[leaves]
            trees.append(tree_of_scikit(model.tree_, values))
        return BoostedTrees(TreeEnsemble.of(trees), baseline)

    def _estimate_seconds(self, X: Features, candidates: CandidateLabels) -> float:
        # Few trees of all rows tell more than all trees of few rows.
        few = clone(self).set_params(rounds=1, n_trees=_TREES_TIMED)
        n_fits = self.rounds * self.n_folds + 1
        one = seconds_of_fit(few, X, candidates) / (_TREES_TIMED * (self.n_folds + 1))
        return one * self.n_trees * n_fits

    def _ask(self, model: BoostedTrees, X: Features, n_classes: int) -> FloatArray:  # noqa: ARG002
        probabilities: FloatArray = softmax(model.baseline + model.trees.sums(X), axis=1)
        return probabilities

    def _for_each_fold(self, judge_fold: Callable[[int], None], folds: range) -> None:
        for_each(judge_fold, folds)


def _newton_steps(
    leaves: IntArray,
    residuals: FloatArray,
    probabilities: FloatArray,
    row_weights: FloatArray,
    n_nodes: int,
) -> FloatArray:
    """Return what every leaf is to add to the score of every class; 0 for other nodes."""
    members = sparse.csr_array(
        (row_weights, (leaves, np.arange(len(leaves)))), shape=(n_nodes, len(leaves))
    )
    curvature = members @ (probabilities * (1 - probabilities))
    steps: FloatArray = (members @ residuals) / (curvature + _PENALTY)
    return steps

"""A random forest on candidate sets, whose out-of-bag judgements are what it learns from next."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from disambig._core.parameters import RandomState, check_integer, check_real, make_generator
from disambig._core.typing import BoolArray, Features, FloatArray, IntArray, Sparse
from disambig.candidates.groups import group_numbers
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import MethodCard, PartialLabelClassifier, confidence_from_scores
from disambig.methods.class_weights import (
    ClassWeight,
    check_class_weight,
    class_shares,
    weights_of_classes,
)
from disambig.methods.growth import seconds_of_fit
from disambig.methods.rounds import (
    next_confidences,
    pair_weights,
    share_of_easy_rows,
    soft_targets,
)
from disambig.methods.row_weights import RowWeightsMixin
from disambig.methods.saving import SCALER, Learned, array, integers, part
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.blocks import for_each
from disambig.solvers.trees import Tree, TreeEnsemble, tree_of_scikit

# How a file holds trees.
TREES = part(
    TreeEnsemble,
    feature=integers("nodes"),
    threshold=array("nodes"),
    left=integers("nodes"),
    right=integers("nodes"),
    roots=integers("trees"),
    values=array("nodes", "classes"),
)
# Every other tree looks at half of the features at each node, the rest at their square root: where
# few features matter the first are better, where many say the same the second.
_SHARE_OF_FEATURES = 0.5
# How much the judgements of earlier rounds count in a later one, for each round between.
_MEMORY = 0.7
# Rows that one tree judges at the most; more would take longer than the tree itself.
_MOST_JUDGED = 100_000
# Trees that tell how long all of them take.
_TREES_TIMED = 4
# Judgements of trees that are in memory at the same time.
_MOST_NUMBERS = 2**25


class DisambiguatingForest(RowWeightsMixin, PartialLabelClassifier):
    """A random forest that learns by rounds from what its trees say of rows they have not seen.

    Trees are fitted to the confidences of all candidates at once (regression, so that an uncertain
    row may stay uncertain). Every tree is grown on a bootstrap sample. A row is judged by the trees
    whose sample it is not in, and these judgements become its confidences in the next round, those
    of easy rows first (see ``methods/rounds.py``). Rows of a group are in a sample together.

    Parameters
    ----------
    rounds : int, default=8
        Number of rounds.
    trees_per_round : int, default=100
        Trees of a round. Those of the rounds after the ramp are the forest that predicts.
    ramp_rounds : int, default=4
        Number of rounds until all rows take new confidences.
    power : float, default=1.5
        Judgements are raised to this power.
    min_samples_leaf : int, default=1
        Smallest number of rows in a leaf.
    max_samples : int, default=10000
        Largest size of a bootstrap sample.
    class_weight : "balanced", dict or None, default=None
        What the weight of a candidate is multiplied by, by its label; labels that a dict does not
        name weigh 1.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows. Trees do not depend on it, but for
        rounding: they see features in single precision.
    random_state : int, generator or None, default=None
        Seed of the samples and of the trees.

    Attributes
    ----------
    held_out_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the training rows by trees that were not trained on them. Not kept in a
        file.

    See Also
    --------
    DisambiguatingBoosting : Gradient boosting in the same way.
    DisambiguatingClassifier : Any classifier of yours.

    Examples
    --------
    >>> from disambig import DisambiguatingForest
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(200, 4, 3, random_state=0)
    >>> model = DisambiguatingForest(trees_per_round=10, random_state=0)
    >>> model.fit(data.X, data.candidates).score(data.X, data.true_labels) > 0.8
    True
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="forest",
        title="A random forest on out-of-bag confidences",
        when="for tables with dates, gaps, categories and heavy tails",
        paper="this package",
    )
    accepts_sparse: ClassVar[bool] = True
    prefers_dense: ClassVar[bool] = True
    # A fit leaves held_out_proba_ behind.
    judges_itself: ClassVar[bool] = True
    _learned: ClassVar[Learned] = {"_scaler": SCALER, "_trees": TREES}

    def __init__(
        self,
        *,
        rounds: int = 8,
        trees_per_round: int = 100,
        ramp_rounds: int = 4,
        power: float = 1.5,
        min_samples_leaf: int = 1,
        max_samples: int = 10_000,
        class_weight: ClassWeight = None,
        scaling: Any = "standard",
        random_state: RandomState = None,
    ) -> None:
        self.rounds = rounds
        self.trees_per_round = trees_per_round
        self.ramp_rounds = ramp_rounds
        self.power = power
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.scaling = scaling
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("rounds", self.rounds, minimum=1)
        check_integer("trees_per_round", self.trees_per_round, minimum=1)
        check_integer("ramp_rounds", self.ramp_rounds, minimum=1)
        check_real("power", self.power, minimum=0)
        check_integer("min_samples_leaf", self.min_samples_leaf, minimum=1)
        check_integer("max_samples", self.max_samples, minimum=1)
        check_class_weight(self.class_weight)
        check_scaling(self.scaling)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        generator = make_generator(self.random_state)
        self._scaler = fit_scaler(self.scaling, X, candidates.row_weights)
        inputs = self._inputs(X)
        of_classes = weights_of_classes(self.class_weight, candidates)
        groups = group_numbers(candidates.groups, len(candidates))
        # Rows that every tree was grown on are judged by the shares of the classes.
        shares = class_shares(candidates)
        confidences: FloatArray = candidates.prior().data
        recent, final = _Votes.none(candidates.shape), _Votes.none(candidates.shape)
        trees: list[Tree] = []
        for number in range(self.rounds):
            weights = pair_weights(candidates, confidences, of_classes)
            grown, votes = self._grow(inputs, candidates, weights, groups, generator)
            if number >= min(self.ramp_rounds, self.rounds - 1):
                trees += grown
                final = final.plus(votes)
            recent = recent.times(_MEMORY).plus(votes)
            share = share_of_easy_rows(number, self.ramp_rounds)
            confidences = next_confidences(
                candidates, recent.mean(shares), share=share, power=self.power
            )
        self._trees = TreeEnsemble.of(trees)
        self.held_out_proba_ = final.mean(shares)
        scores = candidates.prior().multiply(self.held_out_proba_).tocsr()
        return confidence_from_scores(candidates, scores)

    def _predict_proba(self, X: Features) -> FloatArray:
        probabilities = self._trees.sums(self._inputs(X))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities

    def _after_load(self) -> None:
        self._trees.check(self.n_features_in_)
        is_leaf = self._trees.left == np.arange(len(self._trees.left))
        values = self._trees.values
        if (values.data < 0).any() or (values.sum(axis=1)[is_leaf] <= 0).any():
            raise ValueError("a leaf says less than nothing, or nothing")

    def _inputs(self, X: Features) -> Features:
        """Return features as trees take them: in single precision."""
        return apply_scaler(self._scaler, X).astype(np.float32)

    def _estimate_seconds(self, X: Features, candidates: CandidateLabels) -> float:
        # Few trees of all rows tell more than all trees of few rows.
        few = clone(self).set_params(rounds=1, trees_per_round=_TREES_TIMED)
        n_trees = self.rounds * self.trees_per_round
        return seconds_of_fit(few, X, candidates) * n_trees / _TREES_TIMED

    def _grow(
        self,
        X: Features,
        candidates: CandidateLabels,
        weights: FloatArray,
        groups: IntArray,
        generator: np.random.Generator,
    ) -> tuple[list[Tree], "_Votes"]:
        """Return the trees of a round, and what they say of rows outside their samples."""
        targets, row_weights = soft_targets(*candidates.pairs(), weights, candidates.shape)
        columns = X.tocsc() if sparse.issparse(X) else X
        n_sampled = min(len(candidates), self.max_samples)
        # Nothing could be grown on a sample of rows that do not count.
        groups_that_count = np.unique(groups[row_weights > 0])

        def grow_one(seed_and_number: tuple[int, int]) -> "_Grown":
            seed, number = seed_and_number
            own = make_generator(seed)
            counts = _sample(groups, groups_that_count, n_sampled, own)
            model = DecisionTreeRegressor(
                max_features="sqrt" if number % 2 else _SHARE_OF_FEATURES,
                min_samples_leaf=self.min_samples_leaf,
                random_state=seed,
            )
            drawn = np.flatnonzero(counts) if n_sampled < len(counts) else slice(None)
            model.fit(columns[drawn], targets[drawn], sample_weight=(counts * row_weights)[drawn])
            judged = np.flatnonzero(counts == 0)
            if len(judged) > _MOST_JUDGED:
                judged = np.sort(own.choice(judged, _MOST_JUDGED, replace=False))
            said = model.predict(X[judged]).reshape(len(judged), -1) if len(judged) else targets[:0]
            return _Grown(tree_of_scikit(model.tree_, model.tree_.value[:, :, 0]), judged, said)

        seeds = generator.integers(2**31, size=self.trees_per_round).tolist()
        work = list(zip(seeds, range(len(seeds)), strict=True))
        # Some trees at a time, because what they say takes memory.
        at_once = max(1, _MOST_NUMBERS // targets.size)
        votes = _Votes.none(candidates.shape)
        trees = []
        for first in range(0, len(work), at_once):
            for grown in for_each(grow_one, work[first : first + at_once]):
                trees.append(grown.tree)
                votes.add(grown.judged, grown.said)
        return trees, votes


class _Grown(NamedTuple):
    """A tree, the rows outside its sample, and what it says of these."""

    tree: Tree
    judged: IntArray
    said: FloatArray


class _Votes(NamedTuple):
    """Sums of what trees say of rows that they have not seen, and how many said something."""

    sums: FloatArray
    counts: FloatArray

    @classmethod
    def none(cls, shape: tuple[int, int]) -> "_Votes":
        return cls(np.zeros(shape), np.zeros(shape[0]))

    def add(self, rows: IntArray, said: FloatArray) -> None:
        self.sums[rows] += said
        self.counts[rows] += 1

    def plus(self, other: "_Votes") -> "_Votes":
        return _Votes(self.sums + other.sums, self.counts + other.counts)

    def times(self, factor: float) -> "_Votes":
        return _Votes(factor * self.sums, factor * self.counts)

    def mean(self, otherwise: FloatArray) -> FloatArray:
        """Return the mean vote of every row, or something else where nobody voted."""
        counts = self.counts[:, np.newaxis]
        voted: BoolArray = counts > 0
        return np.where(voted, self.sums / np.where(voted, counts, 1), otherwise)


def _sample(
    groups: IntArray, drawn_from: IntArray, n_rows: int, generator: np.random.Generator
) -> FloatArray:
    """Return how often every row is in a bootstrap sample of whole groups of about so many rows.

    Only the groups ``drawn_from`` are drawn.
    """
    n_groups = int(groups.max()) + 1
    n_drawn = max(1, round(len(drawn_from) * n_rows / len(groups)))
    drawn = drawn_from[generator.integers(len(drawn_from), size=n_drawn)]
    counts: FloatArray = np.bincount(drawn, minlength=n_groups)[groups].astype(float)
    return counts

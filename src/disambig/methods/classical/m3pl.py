"""M3PL: a maximum-margin machine and the labels it is fitted to, found in turns."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.utils.extmath import row_norms

from disambig._core.parameters import check_boolean, check_integer, check_real
from disambig._core.typing import Features, FloatArray, IntArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import first_largest
from disambig.methods.base import (
    MethodCard,
    PartialLabelClassifier,
    confidence_from_logits,
    confidence_from_scores,
    relative_weights,
)
from disambig.methods.saving import SCALER, Learned, array, integers, part
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.crammer_singer import MarginMachine, fit_margin_machine
from disambig.solvers.transportation import assign_candidates

_FIRST_SHARE_OF_C = 1e-5
# Rougher machines settle other labels in another order of rows, or give other probabilities.
_TOLERANCE_OF_TURNS = 1e-3
_TOLERANCE_OF_LAST = 1e-4


class M3PL(PartialLabelClassifier):
    r"""Find the labels, one candidate per row, on which a linear machine has the largest margin.

    Class j has the score :math:`f_j(x) = w_j \cdot x + b_j`. With a label :math:`y_i` among the
    candidates :math:`S_i` of every row i, the objective is

    .. math::

        \frac{1}{2} \sum_j \left( \|w_j\|^2 + b_j^2 \right)
        + C \sum_i \max(0, 1 - m(i, y_i))

    where :math:`m(i, j) = f_j(x_i) - \max_{q \ne j} f_q(x_i)` is the margin of class j over the
    best other class. It is minimised over machines and labels together, and every class j is chosen
    :math:`n_j` times, as often as the candidate sets make one expect: :math:`n_j` is the sum over
    rows of :math:`1 / |S_i|` where j is a candidate, rounded so that all :math:`n_j` add up to the
    number of rows.

    1. Rows are first assigned to the candidates whose class means are nearest, at the least sum of
       squared distances that the :math:`n_j` allow. The mean of class j is taken over all rows that
       have j as a candidate, with weights :math:`1 / |S_i|`.
    2. At a fixed C two steps take turns: the machine is fitted to the labels, a support vector
       machine of Crammer and Singer; then labels are assigned anew at the least sum of the losses
       :math:`\max(0, 1 - m(i, j))` that the :math:`n_j` allow, a linear program. Neither step
       raises the objective by more than the tolerance of its solver. A machine that has not
       converged after 1000 passes over the rows is used as it is.
    3. C begins at 1e-5 of its final value and grows by the factor ``1 + growth``, so that labels
       are settled while the machine is still simple.

    While no margin of a candidate reaches one, scores grow in proportion to C and settled labels
    stay what they are: values of C below that point are left out after the first.

    Where candidates carry weights, shares of the weights stand in for :math:`1 / |S_i|`, and
    choosing candidate j for row i costs the logarithm of the largest weight of row i over the
    weight of j, on top of the loss.

    Probabilities are the softmax of the scores, which keeps their order; the loss itself does not
    make them probabilities. The confidences of a training row are the softmax of the scores of its
    candidates, in proportion to their weights: they follow the machine, not the labels that it was
    fitted to, which the :math:`n_j` bind.

    Parameters
    ----------
    C : float, default=1.0
        Strength of the losses of the rows against the squared coefficients, in the end.
    growth : float, default=0.5
        C grows by the factor ``1 + growth`` from one value to the next.
    max_iter : int, default=20
        Maximum number of turns of fitting and assigning at one value of C.
    tol : float, default=1e-3
        Labels are settled, at one value of C, where assigning them anew lowers the objective by
        no more than this share of its distance from the objective of a machine whose coefficients
        are all zero; or by no more than the solver was seen to miss the optimum.
    class_counts : bool, default=True
        Whether every class must be chosen n_j times. Without it some classes may take the rows of
        others, which then vanish.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.
    unit_rows : bool, default=True
        Whether rows are then scaled to length one, so that all weigh the same.

    Attributes
    ----------
    n_iter_ : int
        Number of machines that were fitted.

    See Also
    --------
    PLSVM : The margin of the best candidate, which is quicker.

    Examples
    --------
    >>> from disambig import M3PL, CandidateLabels
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> method = M3PL().fit(X, y)
    >>> method.predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="m3pl",
        title="The largest margin over machines and labels, each class as often as expected",
        when="with large sets and sparse features; it is slow",
        paper="Yu and Zhang, Maximum margin partial label learning, Machine Learning",
        year=2017,
        doi="10.1007/s10994-016-5606-4",
        deviations=(
            "The first labels are those of the nearest class means. In the paper all candidates of "
            "a row cost the same at first, which leaves the labels to the solver.",
            "Class counts are rounded up where the fraction is largest, smaller classes first "
            "where fractions are equal; in the paper they are rounded up for the smallest classes.",
            "Counts that cannot be met are missed by as little as possible, instead of choosing "
            "labels outside the candidate sets at a high cost.",
            "Intercepts are penalised like weights.",
            "Classes that are chosen for no row take no part in the fit and are ranked last.",
            "Values of C at which no margin of a candidate can reach one are left out; without "
            "weights of candidates they change no label.",
            "The tolerance of the turns is relative to what the machine gains over one without "
            "weights, so that it means the same for all values of C.",
            "At one value of C there are at most 20 turns.",
            "While labels are looked for, machines are fitted to a tolerance ten times that of the "
            "last; every fit stops after 1000 passes over the rows.",
            "Features are standardised and rows scaled to length one; scaling='none' with "
            "unit_rows=False is the plain method.",
            "Where candidates carry weights, they enter the class counts, the first means, the "
            "cost of labels and the confidences.",
        ),
    )
    accepts_sparse: ClassVar[bool] = True

    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "_machine": part(
            MarginMachine,
            weights=array("features", "present"),
            intercepts=array("present"),
            present=integers("present"),
            n_classes=integers(),
        ),
        "n_iter_": integers(),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        growth: float = 0.5,
        max_iter: int = 20,
        tol: float = 1e-3,
        class_counts: bool = True,
        scaling: Any = "standard",
        unit_rows: bool = True,
    ) -> None:
        self.C = C
        self.growth = growth
        self.max_iter = max_iter
        self.tol = tol
        self.class_counts = class_counts
        self.scaling = scaling
        self.unit_rows = unit_rows

    def _check_parameters(self) -> None:
        check_real("C", self.C, minimum=1e-6, maximum=1e6)
        check_real("growth", self.growth, minimum=0.01)
        check_integer("max_iter", self.max_iter, minimum=1)
        check_real("tol", self.tol, minimum=0)
        check_boolean("class_counts", self.class_counts)
        check_scaling(self.scaling)
        check_boolean("unit_rows", self.unit_rows)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        X = self._prepared(X)
        choices = _Choices.of(candidates, with_counts=self.class_counts)
        self._machine, self.n_iter_ = _learn(
            X,
            choices.assign(_start_costs(X, candidates, choices)),
            choices,
            C=self.C,
            growth=self.growth,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        confidence = confidence_from_logits(candidates, self._machine.logits(X))
        return confidence_from_scores(candidates, confidence.multiply(candidates.prior()).tocsr())

    def _after_load(self) -> None:
        present, n_classes = self._machine.present, len(self.classes_)
        if self._machine.n_classes != n_classes or not np.isin(present, range(n_classes)).all():
            raise ValueError("its machine is of other classes")

    def _predict_proba(self, X: Features) -> FloatArray:
        probabilities: FloatArray = softmax(self._machine.logits(self._prepared(X)), axis=1)
        return probabilities

    def _prepared(self, X: Features) -> Features:
        return apply_scaler(self._scaler, X, unit_rows=self.unit_rows)


@dataclass(frozen=True)
class _Choices:
    """The labels that may be chosen: pairs of a row and one of its candidates, row by row."""

    rows: IntArray
    columns: IntArray
    surprise: FloatArray  # what the weight of a pair costs, zero for the largest of its row
    counts: IntArray | None  # how often every class is to be chosen
    n_classes: int

    @classmethod
    def of(cls, candidates: CandidateLabels, *, with_counts: bool) -> Self:
        prior = candidates.prior()
        rows, columns = candidates.pairs()
        # A share may be rounded to zero, and its logarithm must stay finite.
        surprise = -np.log(np.maximum(relative_weights(candidates), np.finfo(np.float64).tiny))
        counts = _class_counts(prior) if with_counts else None
        return cls(rows, columns, surprise, counts, candidates.shape[1])

    @property
    def leave_a_choice(self) -> bool:
        """Whether some row has a choice."""
        return bool((np.diff(self.rows) == 0).any())

    def assign(self, costs: FloatArray) -> IntArray:
        """Return the class of every row that makes the sum of the costs the least."""
        if self.counts is None:
            chosen = first_largest(-costs, np.flatnonzero(np.diff(self.rows, prepend=-1)))
        else:
            chosen = assign_candidates(self.rows, self.columns, costs, self.counts)
        labels: IntArray = self.columns[chosen]
        return labels

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return how far each pair's score is above the best other score of its row."""
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        inside = scores[self.rows, self.columns]
        rival = np.where(inside == first[self.rows], second[self.rows], first[self.rows])
        margins: FloatArray = inside - rival
        return margins

    def of_labels(self, values: FloatArray, labels: IntArray) -> FloatArray:
        """Return for every row the value of the pair that has its label."""
        chosen: FloatArray = values[self.columns == labels[self.rows]]
        return chosen


def _class_counts(prior: Sparse) -> IntArray:
    """Return how often each class is expected, in whole numbers that add up to the rows."""
    expected = prior.sum(axis=0)
    counts: IntArray = np.floor(expected).astype(np.int64)
    # Rounded, so that fractions that are equal stay equal in whatever order they were added up.
    fractions = np.round(expected - counts, 9)
    # The units left are the sum of the fractions, so a class without one never gets any.
    first = np.lexsort((counts, -fractions))
    counts[first[: prior.shape[0] - counts.sum()]] += 1
    return counts


def _growing_values(last: float, growth: float) -> list[float]:
    """Return the growing values of C, the last one exactly."""
    rounds = int(np.ceil(-np.log(_FIRST_SHARE_OF_C) / np.log1p(growth)))
    shares = _FIRST_SHARE_OF_C * (1 + growth) ** np.arange(1, rounds)
    return [*(last * shares).tolist(), last]


def _start_costs(X: Features, candidates: CandidateLabels, choices: _Choices) -> FloatArray:
    """Return the squared distance from every row to the means of its candidates, one on average."""
    prior = candidates.prior()
    totals = prior.sum(axis=0)
    shares = prior.multiply(1 / np.where(totals > 0, totals, 1)).tocsr()
    means = shares.T @ X
    if sparse.issparse(means):
        means = means.toarray()
    crossed = X @ means.T
    distances = (
        row_norms(X, squared=True)[choices.rows]
        - 2 * crossed[choices.rows, choices.columns]
        + row_norms(means, squared=True)[choices.columns]
    )
    average = distances.mean()
    scaled: FloatArray = distances / average if average > 0 else np.zeros_like(distances)
    return scaled + choices.surprise


def _learn(
    X: Features,
    labels: IntArray,
    choices: _Choices,
    *,
    C: float,
    growth: float,
    max_iter: int,
    tol: float,
) -> tuple[MarginMachine, int]:
    """Return the machine at the last value of C, and how many machines were fitted."""
    if not choices.leave_a_choice:
        return fit_margin_machine(X, labels, choices.n_classes, C=C, tol=_TOLERANCE_OF_LAST), 1
    fits, needed = 1, 0.0
    for value in _growing_values(C, growth):
        if value < needed:
            continue
        machine, labels, more = _in_turns(X, labels, choices, value, max_iter=max_iter, tol=tol)
        fits += more
        if more <= max_iter:  # labels are settled
            # Until the largest margin is one, scores are in proportion to C and labels stay.
            largest = choices.margins(machine.scores(X)).max()
            needed = C if largest * C <= value else value / largest
    return fit_margin_machine(X, labels, choices.n_classes, C=C, tol=_TOLERANCE_OF_LAST), fits


def _in_turns(
    X: Features, labels: IntArray, choices: _Choices, C: float, *, max_iter: int, tol: float
) -> tuple[MarginMachine, IntArray, int]:
    """Fit machines and assign labels in turns, at one C, until labels are settled.

    Returns the last machine, the labels it was fitted to, and how many machines were fitted.
    """
    for fits in range(1, max_iter + 1):
        machine = fit_margin_machine(X, labels, choices.n_classes, C=C, tol=_TOLERANCE_OF_TURNS)
        margins = choices.margins(machine.scores(X))
        costs = np.maximum(0, 1 - margins) + choices.surprise
        others = choices.assign(costs)
        gain = C * np.sum(choices.of_labels(costs, labels) - choices.of_labels(costs, others))
        # Below the objective of a machine of zeros, whose loss is one on every row.
        reached = C * np.sum(np.minimum(1, choices.of_labels(margins, labels))) - machine.penalty
        # A machine above it misses the optimum by at least that much: lesser gains mean nothing.
        if gain <= max(tol * reached, -reached):
            return machine, labels, fits
        labels = others
    machine = fit_margin_machine(X, labels, choices.n_classes, C=C, tol=_TOLERANCE_OF_TURNS)
    return machine, labels, max_iter + 1

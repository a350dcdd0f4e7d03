"""LSB-CMM: regions of the feature space, each with its own distribution of labels."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from disambig._core.parameters import check_integer, check_real
from disambig._core.typing import Features, FloatArray, Sparse
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_sums
from disambig.methods.base import MethodCard, PartialLabelClassifier, confidence_from_pairs
from disambig.methods.saving import SCALER, Learned, array, integers, part
from disambig.methods.scaling import apply_scaler, check_scaling, fit_scaler
from disambig.solvers.linear_model import LinearModel, fit_linear_model
from disambig.solvers.stick_breaking import even_gates, gate_loss, shares_of_gates

# What a component believes at first: so many rows of its own class, one of every other.
_FIRST_COUNT_OF_OWN_CLASS = 11


class LSBCMM(PartialLabelClassifier):
    r"""A mixture of components, each with a region of the features and a distribution of labels.

    Gate m of K - 1 takes the share :math:`\sigma(v_m \cdot x + a_m)` of what the gates before it
    left of a row, with :math:`\sigma` the logistic function, and the last component takes the rest
    (logistic stick-breaking): :math:`\phi_m(x)` is what component m gets. Component m gives label l
    with probability :math:`\theta_{ml}`; :math:`\theta_m` has a Dirichlet prior whose parameters
    all are ``concentration``. The true label of row i is one of its candidates :math:`S_i`, with
    the prior :math:`\pi_{il}`: equal shares, or the weights of the candidates divided by their sum.
    Every round raises a bound of the log-likelihood (variational EM),

    .. math::

        \sum_i \log \left( \sum_{l \in S_i} \pi_{il} \sum_m \phi_m(x_i) \,
        e^{E[\log \theta_{ml}]} \right) - D - \frac{\alpha}{2} \sum_m \|v_m\|^2

    with :math:`D` the divergence of the :math:`\theta_m` from their prior and :math:`\alpha` the
    ``penalty``.

    1. Candidate l and component m of row i get the probability
       :math:`\phi_m(x_i) \, \pi_{il} \, e^{E[\log \theta_{ml}]}`, divided by its sum over m and
       over l in :math:`S_i`.
    2. :math:`\theta_m` becomes Dirichlet with ``concentration`` plus the expected number of rows
       with component m and each label.
    3. All gates together make some steps of L-BFGS towards the expected components, each a logistic
       regression, from where the last round ended.

    It begins with equal shares for all components, which prefer one class each: frequent classes
    first (by the sum of their prior; ties in the order of the classes), then over again.

    The probability of label l is :math:`\sum_m \phi_m(x) \, E[\theta_{ml}]`; the confidences of a
    training row are the last probabilities of its candidates.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None is twice the number of classes.
    concentration : float, default=0.05
        Parameter of the Dirichlet prior, at least 0.01; below one, components prefer few labels.
    penalty : float, default=1.0
        Strength of the penalty on the squared coefficients of the gates (intercepts are free)
        against the log-likelihood of all rows; 0 for none. It is the inverse variance of a normal
        prior of the coefficients.
    max_iter : int, default=100
        Maximum number of rounds.
    steps_per_round : int, default=5
        Maximum number of L-BFGS steps in a round.
    tol : float, default=0.001
        Stop after a round that raises the bound by no more than this share of it.
    scaling : {"half", "standard", "global", "quantile", "none"} or transformer, default="standard"
        How features are scaled, fitted on the training rows.

    Attributes
    ----------
    label_counts_ : ndarray of shape (n_components, n_classes)
        Parameters of the Dirichlet distribution of the labels of every component.
    lower_bounds_ : ndarray of shape (rounds,)
        The bound after every round; it never falls.
    n_iter_ : int
        Number of rounds.

    See Also
    --------
    EMClassifier : A single linear model.

    Examples
    --------
    >>> from disambig import LSBCMM, CandidateLabels
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateLabels.from_strings(
    ...     ["cat|dog", "cat", "cat|fox", "dog", "dog|fox", "dog|cat"]
    ... )
    >>> method = LSBCMM().fit(X, y)
    >>> method.predict([[0.0], [1.0]]).tolist()
    ['cat', 'dog']
    >>> method.disambiguate().tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """

    card: ClassVar[MethodCard] = MethodCard(
        name="lsbcmm",
        title="A mixture of regions, each with its own distribution of labels",
        when="where classes form separate regions in a few features",
        paper="Liu and Dietterich, A conditional multinomial mixture model for superset label "
        "learning, NIPS",
        year=2012,
        deviations=(
            "Gates make a few steps in a round instead of going to the optimum, and rounds end "
            "after one of little gain.",
            "Twice as many components as classes; other work takes one to five for each class.",
            "The mean of the logarithm of a label's probability is computed, not sampled.",
            "Components begin with classes ordered by frequency.",
            "Features are standardised; scaling='none' is the plain method.",
            "Where candidates carry weights, these are the prior of the labels of a row.",
        ),
    )
    accepts_sparse: ClassVar[bool] = True

    _learned: ClassVar[Learned] = {
        "_scaler": SCALER,
        "_gates": part(
            LinearModel,
            weights=array("features", "gates"),
            intercepts=array("gates"),
            n_iter=integers(),
        ),
        "label_counts_": array("components", "classes"),
        "lower_bounds_": array("rounds"),
        "n_iter_": integers(),
    }

    def __init__(
        self,
        *,
        n_components: int | None = None,
        concentration: float = 0.05,
        penalty: float = 1.0,
        max_iter: int = 100,
        steps_per_round: int = 5,
        tol: float = 1e-3,
        scaling: Any = "standard",
    ) -> None:
        self.n_components = n_components
        self.concentration = concentration
        self.penalty = penalty
        self.max_iter = max_iter
        self.steps_per_round = steps_per_round
        self.tol = tol
        self.scaling = scaling

    def _check_parameters(self) -> None:
        if self.n_components is not None:
            check_integer("n_components", self.n_components, minimum=1)
        # A component gives labels that it never saw about exp(-1 / concentration), in doubles.
        check_real("concentration", self.concentration, minimum=0.01)
        check_real("penalty", self.penalty, minimum=0)
        check_integer("max_iter", self.max_iter, minimum=1)
        check_integer("steps_per_round", self.steps_per_round, minimum=1)
        check_real("tol", self.tol, minimum=0)
        check_scaling(self.scaling)

    def _fit(self, X: Features, candidates: CandidateLabels) -> Sparse:
        self._scaler = fit_scaler(self.scaling, X)
        X = apply_scaler(self._scaler, X)
        n_components = self.n_components or 2 * candidates.shape[1]
        self._gates = even_gates(X.shape[1], n_components)
        self.label_counts_ = _first_counts(candidates, n_components)
        expected = self._expect(X, candidates)
        bounds = [self._bound(expected)]
        for _ in range(self.max_iter):
            self.label_counts_ = self.concentration + expected.label_counts
            self._gates = fit_linear_model(
                X,
                gate_loss(expected.shares),
                self._gates,
                penalty=self.penalty,
                max_iter=self.steps_per_round,
            )
            expected = self._expect(X, candidates)
            bounds.append(self._bound(expected))
            if bounds[-1] - bounds[-2] <= self.tol * abs(bounds[-2]):
                break
        self.lower_bounds_ = np.array(bounds[1:])
        self.n_iter_ = len(self.lower_bounds_)
        return confidence_from_pairs(candidates, expected.posterior)

    def _after_load(self) -> None:
        if self.label_counts_.min() <= 0:
            raise ValueError("counts of labels must be above 0")

    def _predict_proba(self, X: Features) -> FloatArray:
        shares = shares_of_gates(self._gates.scores(apply_scaler(self._scaler, X)))
        labels = self.label_counts_ / self.label_counts_.sum(axis=1, keepdims=True)
        probabilities: FloatArray = shares @ labels
        return probabilities

    def _expect(self, X: Features, candidates: CandidateLabels) -> "_Expectation":
        labels = np.exp(_expected_log(self.label_counts_))
        return _expectation(candidates, shares_of_gates(self._gates.scores(X)), labels)

    def _bound(self, expected: "_Expectation") -> float:
        divergence = _dirichlet_divergence(self.label_counts_, self.concentration)
        squares = float(np.sum(self._gates.weights**2))
        return expected.log_likelihood - divergence - self.penalty / 2 * squares


class _Expectation(NamedTuple):
    """What the candidates say about labels and components.

    The probability of every candidate, in the order of ``candidates.pairs()``; that of every
    component for every row; how many rows each component has of each label.
    """

    posterior: FloatArray
    shares: FloatArray
    label_counts: FloatArray
    log_likelihood: float


def _expectation(
    candidates: CandidateLabels, shares: FloatArray, labels: FloatArray
) -> _Expectation:
    """Weigh every candidate and component of a row by its prior, its share and its label.

    What belongs to a row, a component and a candidate is a product of three factors, so sums over
    one of these are matrix products and the table of all three is never made.
    """
    rows, _ = candidates.pairs()
    prior = candidates.prior().data
    joint = prior * candidates.values_of(shares @ labels)
    totals = group_sums(joint, candidates.starts)
    per_total = confidence_from_pairs(candidates, prior / totals[rows])
    return _Expectation(
        posterior=joint / totals[rows],
        shares=shares * (per_total @ labels.T),
        label_counts=labels * (per_total.T @ shares).T,
        log_likelihood=float(np.log(totals).sum()),
    )


def _first_counts(candidates: CandidateLabels, n_components: int) -> FloatArray:
    """Return counts under which every component prefers one class, frequent classes first."""
    mass = candidates.prior().sum(axis=0)
    # Rounded, because the order of the rows moves the last digits of a sum.
    order = np.argsort(-np.round(mass, 6), kind="stable")
    counts = np.ones((n_components, len(order)))
    preferred = order[np.arange(n_components) % len(order)]
    counts[np.arange(n_components), preferred] = _FIRST_COUNT_OF_OWN_CLASS
    return counts


def _expected_log(counts: FloatArray) -> FloatArray:
    """Return the mean of log theta under the Dirichlet distribution of every row of counts."""
    means: FloatArray = digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))
    return means


def _dirichlet_divergence(counts: FloatArray, concentration: float) -> float:
    """Return the divergence of the Dirichlet distributions of all rows of counts from the prior."""
    n_classes = counts.shape[1]
    log_norms = gammaln(counts.sum(axis=1)) - gammaln(counts).sum(axis=1)
    log_norm = gammaln(n_classes * concentration) - n_classes * gammaln(concentration)
    moved = np.sum((counts - concentration) * _expected_log(counts), axis=1)
    return float(np.sum(log_norms - log_norm + moved))

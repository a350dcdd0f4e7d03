"""Find candidate sets that do not contain the truth, by judges that have not seen them.

A network that trains on a row learns its set by heart, wrong or not, so every row is judged by a
copy of the method that was trained on the other rows. A set model (``solvers/set_model.py``) then
says which sets miss the truth. A set that probably does gets the likeliest label outside of it as
one more candidate, and judges are trained again: each round they learn from fewer wrong sets. A
label too many costs next to nothing, a truth that is missing costs a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from disambig._core.errors import CandidateError, ParameterError
from disambig._core.parameters import check_integer, spawn_seeds
from disambig._core.typing import AnyArray, Features, FloatArray, IntArray
from disambig.candidates.groups import deal_rows
from disambig.candidates.labels import CandidateLabels
from disambig.methods.base import PartialLabelClassifier
from disambig.methods.side_by_side import judge_by_others
from disambig.solvers.set_model import SetModel, fit_set_model

# Below this, the first judges may as well be wrong themselves: the sets are left alone.
_SMALLEST_RATE = 0.03
# A set gets one more label where what it rules out misleads by more than this share of what the
# label costs. Rounds are quick to suspect; what is reported in the end is not.
_WORTH = 0.6
_FINAL_DOUBT = 0.03
ROUNDS = 3
# Where much is wrong, judges get better for longer: rounds go on while the rate still rises so far.
_MOST_ROUNDS = 6
_STILL_RISING = 0.01
_FOLDS = 5
# Of judges, as a rule: where hardly any set misses the truth a single round is enough.
FITS_OF_A_SEARCH = ROUNDS * _FOLDS
_NORMAL_95 = 1.96


@dataclass(frozen=True, eq=False)
class Misses:
    """Which candidate sets seem to miss the truth.

    Attributes
    ----------
    rate : float
        Share of the sets that miss the truth, as estimated or as given.
    interval : tuple of two floats
        95 % of where the rate lies, by the number of rows. That judges may be wrong is not in it.
        A rate that was given is both of its ends.
    probability : ndarray of shape (rows,)
        Of each set, the probability that it misses the truth.
    label : ndarray of shape (rows,)
        The label that each row would have then: the likeliest outside its set. Where a set holds
        every class, its likeliest candidate.
    candidates : CandidateLabels
        The sets, with one more label where that may well be the truth. Train with these.

    See Also
    --------
    find_misses : Makes it.

    Examples
    --------
    >>> from disambig import SURE, find_misses
    >>> from disambig.candidates import leave_out_truth
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(200, 5, 3, random_state=0)
    >>> y = leave_out_truth(
    ...     data.candidates, data.true_labels, rate=0.2, random_state=0
    ... )
    >>> found = find_misses(SURE(), data.X, y, random_state=0)
    >>> 0.1 < found.rate < 0.3
    True
    """

    rate: float
    interval: tuple[float, float]
    probability: FloatArray
    label: AnyArray
    candidates: CandidateLabels

    def __str__(self) -> str:
        return miss_sentence(self.rate, *self.interval)


def miss_sentence(rate: float, low: float, high: float) -> str:
    """Return how many sets miss the truth, in words."""
    ends = "" if low == high else f" ({100 * low:.0f} to {100 * high:.0f} %)"
    return f"About {100 * rate:.0f} % of the sets{ends} do not contain the right label."


def check_miss_rate(miss_rate: Any) -> None:
    """Refuse what is neither a share nor "auto"."""
    is_number = isinstance(miss_rate, Real) and not isinstance(miss_rate, bool)
    is_share = is_number and 0 <= miss_rate < 1
    if not is_share and not (isinstance(miss_rate, str) and miss_rate == "auto"):
        raise ParameterError(
            "'miss_rate' must be a number from 0 to below 1, the share of the sets that do not "
            f"contain the right label, or 'auto' to have it estimated. Got {miss_rate!r}."
        )


def find_misses(
    method: PartialLabelClassifier,
    X: Any,
    y: Any,
    *,
    miss_rate: float | Literal["auto"] = "auto",
    n_folds: int = _FOLDS,
    random_state: Any = None,
) -> Misses:
    """Find the candidate sets that miss the truth; no true label is needed.

    It takes ``n_folds`` fits where hardly any set misses the truth, and three to six times as many
    where some do.

    Parameters
    ----------
    method : PartialLabelClassifier
        Copies of it judge the rows. It is left as it is.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : CandidateLabels, boolean mask, sparse mask, or plain labels
        Candidate sets.
    miss_rate : float or "auto", default="auto"
        Share of the sets that miss the truth, where it is known.
    n_folds : int, default=5
        Each row is judged by a copy that was trained without its fold.
    random_state : int, generator or None, default=None
        Seed of the folds and of the copies.

    See Also
    --------
    Misses : What it returns.
    NCPDPlusClassifier : Finds them by itself, with ``miss_rate``.

    Examples
    --------
    >>> from disambig import CandidateLabels, PLKNN, find_misses
    >>> X = [[0.0], [0.1], [0.2], [0.3], [0.4], [2.0], [2.1], [2.2], [2.3], [2.4]]
    >>> labels = ["cat"] * 5 + ["dog", "dog", "cat", "dog", "dog"]
    >>> y = CandidateLabels.from_labels(labels)
    >>> found = find_misses(PLKNN(n_neighbors=3), X, y, random_state=0)
    >>> int(found.probability.argmax()), str(found.label[7])
    (7, 'dog')
    >>> model = PLKNN(n_neighbors=3).fit(X, found.candidates)
    """
    check_miss_rate(miss_rate)
    check_integer("n_folds", n_folds, minimum=2)
    seed, method_seed = spawn_seeds(random_state, 2)
    judge = clone(method)
    if "random_state" in judge.get_params():
        judge.set_params(random_state=method_seed)
    data = judge._begin_fit(X, y)
    return find_misses_side_by_side([judge], [data], miss_rate, [seed], n_folds)[0]


def find_misses_side_by_side(
    methods: Sequence[PartialLabelClassifier],
    data: Sequence[tuple[Features, CandidateLabels]],
    miss_rate: float | Literal["auto"],
    seeds: Sequence[int],
    n_folds: int = _FOLDS,
) -> list[Misses]:
    """Return what ``find_misses`` finds in each of several tables, judged side by side."""
    fewest = min(len(candidates) for _, candidates in data)
    if fewest < n_folds:
        raise CandidateError(
            f"To judge every row by others takes at least {n_folds} rows. Got {fewest}. Give more, "
            "lower the 'n_folds' of find_misses, or leave the 'miss_rate' of NCPD+ at 0."
        )
    folds = [
        deal_rows(len(candidates), candidates.groups, n_folds, seed)
        for seed, (_, candidates) in zip(seeds, data, strict=True)
    ]
    searches = [MissSearch(candidates, miss_rate) for _, candidates in data]
    unsettled = list(range(len(data)))
    while unsettled:
        judged = judge_by_others(
            [(methods[n], data[n][0], searches[n].sets, folds[n]) for n in unsettled]
        )
        for n, probabilities in zip(unsettled, judged, strict=True):
            searches[n].take(probabilities)
        unsettled = [n for n in unsettled if not searches[n].settled]
    return [search.found() for search in searches]


class MissSearch:
    """The search for sets that miss the truth, round by round, in one table.

    Until it is ``settled``, train judges with ``sets``, each without some rows, and let ``take``
    know what they say of these.

    Parameters
    ----------
    candidates : CandidateLabels
        The sets as given.
    miss_rate : float or "auto"
        Share of the sets that miss the truth, where it is known.
    """

    def __init__(self, candidates: CandidateLabels, miss_rate: float | Literal["auto"]) -> None:
        self.sets = candidates
        self.settled = False
        self._given = candidates
        self._known = None if miss_rate == "auto" else float(miss_rate)
        self._rates: list[float] = []
        self._said: FloatArray = np.empty(0)

    def take(self, probabilities: FloatArray) -> None:
        """Learn from a round: every row as judged by somebody who was not trained on it."""
        self._said = probabilities
        model = fit_set_model(probabilities, self._given, miss_rate=self._known)
        self._rates.append(model.miss_rate)
        # Who gives a rate is believed; where it is 0, there is nothing to be found.
        if len(self._rates) == 1 and model.miss_rate < (self._known or _SMALLEST_RATE):
            self.settled = True
            return
        self.sets = _widen(self._given, model)
        n_rounds = len(self._rates)
        rises = n_rounds > 1 and self._rates[-1] > self._rates[-2] + _STILL_RISING
        self.settled = n_rounds >= (_MOST_ROUNDS if rises else ROUNDS)

    def found(self) -> Misses:
        """Return what is found after the last round."""
        return describe_misses(self._said, self._given, self._known, self.sets)


def _outside(candidates: CandidateLabels, model: SetModel) -> IntArray:
    """Return the column of the likeliest class outside each set, if there is one."""
    outside = np.where(candidates.to_mask(), -1.0, model.posterior)
    everything = candidates.sizes == candidates.shape[1]
    columns: IntArray = np.where(everything, model.posterior.argmax(axis=1), outside.argmax(axis=1))
    return columns


def _widen(candidates: CandidateLabels, model: SetModel) -> CandidateLabels:
    """Add the likeliest label outside to the sets that may well miss the truth."""
    # What a set rules out misleads if it misses the truth; one more candidate rules out less.
    k, c = candidates.sizes, candidates.shape[1]
    misled = model.miss_probability * np.log(c / k)
    lost = (1 - model.miss_probability) * np.log((k + 1) / k)
    rows = np.flatnonzero(misled > _WORTH * lost)
    columns = _outside(candidates, model)[rows]
    mask = candidates.to_mask()
    mask[rows, columns] = True
    weights = None
    if candidates.weights is not None:
        weights = candidates.prior().toarray()
        weights[rows] *= 1 - model.miss_probability[rows, np.newaxis]
        weights[rows, columns] = model.miss_probability[rows]
    widened = CandidateLabels(mask, candidates.classes, weights=weights)
    promise = candidates.promise
    if promise is not None and promise.kind == "cover":
        promise = None  # nobody promises that a label occurs which was only added in case
    return widened.with_rows_of(candidates).with_groups(candidates.groups, promise=promise)


def describe_misses(
    probabilities: FloatArray,
    candidates: CandidateLabels,
    miss_rate: float | None = None,
    trained: CandidateLabels | None = None,
) -> Misses:
    """Return what probabilities say of sets that whoever gave them had not seen."""
    model = fit_set_model(probabilities, candidates, miss_rate=miss_rate, doubt=_FINAL_DOUBT)
    margin = _NORMAL_95 * model.standard_error
    return Misses(
        rate=model.miss_rate,
        interval=(max(0.0, model.miss_rate - margin), min(1.0, model.miss_rate + margin)),
        probability=model.miss_probability,
        label=candidates.classes[_outside(candidates, model)],
        candidates=candidates if trained is None else trained,
    )

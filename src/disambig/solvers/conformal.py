r"""Which labels a model cannot rule out: thresholds calibrated on candidate sets (conformal).

A label is in the prediction set of a row if its probability is at least a threshold. The threshold
comes from rows that the model was not trained on, whose probabilities and candidate sets are known;
no true label is needed. How unusual (nonconforming) a label is, is one minus its probability, and
there are three kinds of calibration:

safe
    A row counts by its most unusual candidate. The truth is at most as unusual, so the prediction
    set of a new row holds the truth with a probability of at least ``coverage``, however ambiguous
    the sets and however wrong the probabilities are. It assumes that the calibration rows and the
    new one are exchangeable, and that candidate sets hold the truth: where a share :math:`e` of
    them does not, coverage may be lower by :math:`e`. (Javanmardi, Stutz, Hüllermeier, 2023,
    arXiv 2306.01191.)
weak
    A row counts by its least unusual candidate. The prediction set of a new row has a label in
    common with its candidate set with a probability of at least ``coverage``; nothing is promised
    about the truth, unless sets have one candidate. It assumes exchangeable rows only. (Cauchois,
    Gupta, Ali, Duchi, JMLR 25, 2024.)
estimated
    Every candidate of a row counts by its confidence: the model's probability times the weight of
    the candidate, over those of the whole set. The truth is in about ``coverage`` of the prediction
    sets if the confidences are right; nothing is guaranteed.

With sets of one candidate the three are the same: split conformal prediction.

Rows of one group (a patient, a photograph) are not exchangeable with others, groups may be. Every
group then counts as much as any other, whatever its number of rows, and what is promised holds for
a row drawn at random from a new group (Lee, Barber, Willett, 2023, arXiv 2306.06342).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Literal, get_args

import numpy as np

from disambig._core.errors import CandidateError, ParameterError
from disambig._core.messages import plural
from disambig._core.parameters import check_choice, check_real
from disambig._core.typing import BoolArray, FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_maxima, group_sums
from disambig.candidates.target import without_weightless

Kind = Literal["safe", "weak", "estimated"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Sums of shares are rounded.
_ROUNDING = 1e-9
_SINGLE_PRECISION = 1e-5


@dataclass(frozen=True)
class ConformalCalibration:
    """What was calibrated, and what it promises. ``str()`` gives it in two sentences.

    Attributes
    ----------
    kind : {"safe", "weak", "estimated"}
        How candidate sets were used.
    coverage : float
        Share of new rows for which it is promised.
    threshold : float
        Least probability of a label in a prediction set; at 0 no label is ruled out.
    n_rows : int
        Number of rows that it was calibrated on.
    n_groups : int or None
        Number of their groups, where there are any.
    n_classes : int
        Number of labels to choose from.
    mean_size : float
        Labels in the prediction sets of these rows, on average, none of them left empty by
        ``abstain``.
    exact : bool
        Whether the probabilities are those of the model that is used from now on, rather than of
        others like it, one per fold.
    """

    kind: Kind
    coverage: float
    threshold: float
    n_rows: int
    n_groups: int | None
    n_classes: int
    mean_size: float
    exact: bool

    def __str__(self) -> str:
        about = "About" if self.kind == "estimated" else "At least"
        if not self.exact and self.kind != "estimated":
            about += " about"
        whose = "" if self.n_groups is None else " of new groups"
        promise = {
            "safe": "the right label, if every candidate set does",
            "weak": "a label of the candidate set",
            "estimated": "the right label, if the probabilities are right",
        }[self.kind]
        from_rows = plural(self.n_rows, "row")
        if self.n_groups is not None:
            from_rows += f" of {plural(self.n_groups, 'group')}"
        ruled_out = (
            f"They have {self.mean_size:.1f} of {self.n_classes} labels on average, each with a "
            f"probability of at least {self.threshold:.2g}"
            if self.threshold > 0
            else f"No label can be ruled out, so they have all {self.n_classes} labels"
        )
        return (
            f"{about} {100 * self.coverage:g} % of the prediction sets{whose} hold {promise}. "
            f"{ruled_out} (calibrated on {from_rows})."
        )


def calibrate_coverage(
    probabilities: FloatArray,
    candidates: CandidateLabels,
    *,
    coverage: float,
    kind: Kind = "safe",
    groups: Iterable[Any] | None = None,
    exact: bool = True,
    abstain: float = 0.0,
) -> ConformalCalibration:
    """Return the threshold of ``conformal_threshold``, and what it promises.

    Parameters
    ----------
    probabilities, candidates, coverage, kind, groups
        As in ``conformal_threshold``.
    exact : bool, default=True
        Whether ``probabilities`` are those of the model that is used from now on; False for
        out-of-fold probabilities, whose model is a similar one.
    abstain : float, default=0
        Share of ordinary rows that get no label for other reasons. Labels are calibrated for so
        much more coverage.
    """
    threshold = conformal_threshold(
        probabilities, candidates, coverage=coverage + abstain, kind=kind, groups=groups
    )
    return ConformalCalibration(
        kind=kind,
        coverage=coverage,
        threshold=threshold,
        n_rows=len(candidates),
        n_groups=None if groups is None else len(np.unique(np.asarray(groups))),
        n_classes=candidates.shape[1],
        mean_size=float(prediction_mask(probabilities, threshold).sum(axis=1).mean()),
        exact=exact,
    )


def conformal_threshold(
    probabilities: FloatArray,
    candidates: CandidateLabels,
    *,
    coverage: float,
    kind: Kind = "safe",
    groups: Iterable[Any] | None = None,
) -> float:
    """Return the least probability of a label that is in a prediction set, from 0 to 1.

    It is 0, so that no label is ruled out, where there are too few rows to rule any out
    (``fewest_units``) or where too many candidates have a probability of 0.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, classes)
        Of every class, in the column order of ``candidates``, by a model that was not trained on
        these rows.
    candidates : CandidateLabels
        Their candidate sets.
    coverage : float
        Share of new rows for which the promise of ``kind`` holds, between 0 and 1.
    kind : {"safe", "weak", "estimated"}, default="safe"
        How candidate sets are used; this module says what each promises.
    groups : iterable of length rows, optional
        Which group each row belongs to.

    Examples
    --------
    >>> import numpy as np
    >>> from disambig import CandidateLabels
    >>> from disambig.solvers.conformal import conformal_threshold, prediction_mask
    >>> p = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.5, 0.1, 0.4]])
    >>> y = CandidateLabels.from_strings(["cat|dog", "dog", "cat|fox"])
    >>> conformal_threshold(p, y, coverage=0.75, kind="safe")
    0.2
    >>> conformal_threshold(p, y, coverage=0.75, kind="weak")
    0.5
    >>> prediction_mask(np.array([[0.5, 0.3, 0.2]]), 0.25)
    array([[ True,  True, False]])
    """
    check_coverage(coverage)
    check_choice("kind", kind, KINDS)
    _check_probabilities(probabilities, candidates)
    candidates = without_weightless(candidates)
    row_weights, n_units = unit_weights(len(candidates), groups)
    inside: FloatArray = candidates.values_of(probabilities)
    if kind == "safe":
        unusual, weights = group_maxima(-inside, candidates.starts), row_weights
    elif kind == "weak":
        unusual, weights = -group_maxima(inside, candidates.starts), row_weights
    else:
        rows, _ = candidates.pairs()
        unusual, weights = -inside, _confidences(candidates, inside) * row_weights[rows]
    quantile = conformal_quantile(unusual, coverage, weights=weights, n_units=n_units)
    return max(0.0, -quantile)


def prediction_mask(probabilities: FloatArray, threshold: float) -> BoolArray:
    """Return which labels are in the prediction set of every row; a row may have none."""
    mask: BoolArray = probabilities >= threshold
    return mask


def conformal_quantile(
    scores: FloatArray, coverage: float, *, weights: FloatArray, n_units: int
) -> float:
    """Return the least score that a new one does not exceed with a probability of ``coverage``.

    At or below it are ``coverage * (n_units + 1)`` of the weight: one more than there are, because
    the new unit may be the most unusual of all. Infinite where there is not so much.
    """
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    enough = reached >= (coverage - _ROUNDING) * (n_units + 1)
    return float(scores[order[enough.argmax()]]) if enough.any() else inf


def unit_weights(n_rows: int, groups: Iterable[Any] | None) -> tuple[FloatArray, int]:
    """Return how much every row counts, and how many units there are: rows, or groups.

    The weights of a group sum to one.
    """
    if groups is None:
        return np.ones(n_rows), n_rows
    _, numbers, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    if numbers.shape != (n_rows,):
        raise ParameterError(
            f"'groups' must name a group for each of the {n_rows} rows. Got the shape "
            f"{numbers.shape}."
        )
    return 1 / sizes[numbers], len(sizes)


def fewest_units(coverage: float) -> int:
    """Return how many rows (or groups) it takes until any label can be ruled out."""
    return ceil(coverage / (1 - coverage) - _ROUNDING)


def check_coverage(coverage: Any) -> None:
    """Refuse what is not a share of the rows between none and all."""
    check_real("coverage", coverage, minimum=0, maximum=1)
    if coverage in (0, 1):
        raise ParameterError(
            "'coverage' must be above 0 and below 1: no finite number of rows can promise all. "
            f"Got {coverage!r}. Try 0.9."
        )


def _check_probabilities(probabilities: FloatArray, candidates: CandidateLabels) -> None:
    if np.shape(probabilities) != candidates.shape or not len(candidates):
        raise CandidateError(
            "To calibrate takes at least one row, and a probability for each of its classes, "
            f"{candidates.shape}. Got probabilities of the shape {np.shape(probabilities)}."
        )
    # Written so that a missing value is refused too.
    if not (np.min(probabilities) >= 0 and np.max(probabilities) <= 1 + _SINGLE_PRECISION):
        raise ParameterError(
            "Probabilities must be from 0 to 1. Got values from "
            f"{np.min(probabilities):g} to {np.max(probabilities):g}."
        )


def _confidences(candidates: CandidateLabels, inside: FloatArray) -> FloatArray:
    """Return the confidence of every candidate, in the order of ``candidates.pairs()``."""
    rows, _ = candidates.pairs()
    prior: FloatArray = candidates.prior().data
    scores = prior * inside
    totals = group_sums(scores, candidates.starts)[rows]
    return np.divide(scores, totals, out=prior.copy(), where=totals > 0)

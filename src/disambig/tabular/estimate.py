"""How good a model is likely to be, judged on rows that it was not trained on."""

import math
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from disambig._core.messages import plural
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from disambig.candidates.groups import group_numbers
from disambig.candidates.labels import CandidateLabels
from disambig.metrics import approximated_accuracy, covering_rate
from disambig.tabular.labels.row_groups import groups_of
from disambig.tabular.true_labels import is_known

if TYPE_CHECKING:
    from disambig.methods.misses import Misses

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
_CONFIDENCE_LEVEL = 0.95
_NOTICEABLE = 0.03


class Measured(BaseModel):
    """Numbers as they were measured: none of them changes, and others have no place."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Accuracy(Measured):
    """Share of correct labels among rows with a known true label, with its 95 % interval.

    Where rows come in groups, the interval is that of drawing groups, not rows.
    ``str()`` gives it as a sentence.
    """

    share: Share
    low: Share
    high: Share
    n_rows: Count

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if not self.low <= self.share <= self.high:
            raise ValueError("an accuracy lies inside its interval")
        return self

    def __str__(self) -> str:
        return (
            f"Right in {self.share:.3f} of the {self.n_rows:,} rows whose true label is known "
            f"({self.low:.3f} to {self.high:.3f}, 95 %)."
        )


class MissRate(Measured):
    """Share of the sets that do not contain the right label, with its 95 % interval.

    ``str()`` gives it as a sentence.
    """

    rate: Share
    low: Share
    high: Share

    @property
    def is_noticeable(self) -> bool:
        """Whether so many sets miss it that training should allow for it."""
        return self.rate >= _NOTICEABLE and self.low > 0

    @classmethod
    def of(cls, misses: "Misses") -> Self:
        """Return the rate of misses that were found."""
        low, high = misses.interval
        return cls(rate=misses.rate, low=low, high=high)

    def __str__(self) -> str:
        from disambig.methods.misses import miss_sentence  # slow to import

        return miss_sentence(self.rate, self.low, self.high)


class DoubtfulSet(Measured):
    """A training row whose set may miss the right label, as judged by a model without the row."""

    row: Count  # counted from 1
    candidates: tuple[str, ...]  # its set
    probability: Share  # that the set misses the right label
    label: str  # the label that it would then have


def named_sets(candidates: CandidateLabels) -> list[tuple[str, ...]]:
    """Return the names of the candidates of every row, in the order of the classes."""
    names = [str(name) for name in candidates.classes.tolist()]
    _, columns = candidates.pairs()
    ends = candidates.starts + candidates.sizes
    return [
        tuple(names[column] for column in columns[start:end].tolist())
        for start, end in zip(candidates.starts.tolist(), ends.tolist(), strict=True)
    ]


class Estimate(Measured):
    """How well a model predicts held-out rows.

    Attributes
    ----------
    covering_rate : float
        Share of the rows whose predicted label is one of their candidates.
    blind_covering_rate : float
        The same for labels drawn blindly, to compare the covering rate with.
    approximated_accuracy : float
        Mean share of the candidates' probability that the predicted label holds.
    n_rows, n_folds : int
        Number of held-out rows, and of folds.
    n_groups : int or None
        Number of groups, if whole groups were held out; None if rows were.
    group : str or None
        What the groups were read from: a column, or "runs".
    accuracy : Accuracy or None
        Accuracy on the rows whose true label is known; None if there are none.
    misses : MissRate or None
        Share of the sets that do not contain the right label; None if the model knows too little
        to say.
    doubtful_sets : tuple of DoubtfulSet
        The sets that most probably miss it; ``audit_table`` lists them with ``model``.

    See Also
    --------
    fit_table : Makes it, from rows that were held out.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import fit_table
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> model = fit_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=2
    ... )
    >>> model.estimate.n_rows, model.estimate.n_folds
    (60, 2)
    >>> model.estimate.covering_rate > model.estimate.blind_covering_rate
    True
    """

    covering_rate: Share
    blind_covering_rate: Share
    approximated_accuracy: Share
    n_rows: Count
    n_folds: Count
    n_groups: Count | None = None
    group: str | None = None
    accuracy: Accuracy | None = None
    misses: MissRate | None = None
    doubtful_sets: tuple[DoubtfulSet, ...] = ()

    @model_serializer(mode="wrap")
    def _without_groups(self, serialised: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Say nothing of groups where there are none, as models of rows always did."""
        values: dict[str, Any] = serialised(self)
        if self.n_groups is None:
            del values["n_groups"], values["group"]
        return values

    @property
    def held_out(self) -> str:
        """What was held out, in words."""
        folds = f"{self.n_rows:,} rows, {self.n_folds} folds"
        if self.n_groups is None:
            return folds
        return f"{folds} by {groups_of(self.group)}: {plural(self.n_groups, 'group')}"

    def __str__(self) -> str:
        lines = [
            f"On held-out rows ({self.held_out}):",
            f"  covering rate          {self.covering_rate:.3f}  the prediction is one of the "
            "row's labels",
            f"    by blind guessing    {self.blind_covering_rate:.3f}",
            f"  approximated accuracy  {self.approximated_accuracy:.3f}  the same, counting how "
            "sure it is",
        ]
        if self.accuracy is not None:
            known = self.accuracy
            lines.append(
                f"  accuracy               {known.share:.3f}  {known.low:.3f} to {known.high:.3f} "
                f"(95 %), from {known.n_rows:,} true labels"
            )
        if self.misses is not None:
            lines.append(str(self.misses))
        return "\n".join(lines)


def estimate_quality(
    candidates: CandidateLabels,
    probabilities: FloatArray,
    *,
    n_folds: int,
    group: str | None = None,
    truth: AnyArray | None = None,
    misses: MissRate | None = None,
    doubtful_sets: tuple[DoubtfulSet, ...] = (),
) -> Estimate:
    """Judge probabilities of rows by ``n_folds`` models that were not trained on them.

    Where the sets have groups, nor on others of their group; ``group`` says what names these.
    """
    predicted = candidates.classes[probabilities.argmax(axis=1)]
    return Estimate(
        covering_rate=covering_rate(candidates, predicted),
        blind_covering_rate=float(candidates.sizes.mean() / len(candidates.classes)),
        # Sums of probabilities are rounded: a share may come out a hair above one.
        approximated_accuracy=min(1.0, approximated_accuracy(candidates, probabilities)),
        n_rows=len(candidates),
        n_folds=n_folds,
        n_groups=None if candidates.groups is None else len(np.unique(candidates.groups)),
        group=group,
        accuracy=None if truth is None else known_accuracy(truth, predicted, candidates.groups),
        misses=misses,
        doubtful_sets=doubtful_sets,
    )


def known_accuracy(
    truth: AnyArray, predicted: AnyArray, groups: IntArray | None = None
) -> Accuracy | None:
    """Return the accuracy where the true label is known, or None if it is nowhere."""
    known = is_known(truth)
    if not known.any():
        return None
    right: BoolArray = truth[known] == predicted[known]
    return accuracy_of(right, None if groups is None else groups[known])


def accuracy_of(right: BoolArray, groups: IntArray | None = None) -> Accuracy:
    """Return the share of rows that are right, with its 95 % interval."""
    low, high = share_interval(right, groups)
    return Accuracy(share=int(right.sum()) / len(right), low=low, high=high, n_rows=len(right))


def share_interval(is_counted: BoolArray, groups: IntArray | None = None) -> tuple[float, float]:
    """Return the 95 % interval of the share of rows that count.

    Rows of a group are often right or wrong together, so that they tell as much as fewer rows
    that have nothing to do with each other.
    """
    n_rows = len(is_counted)
    share = int(is_counted.sum()) / n_rows
    if groups is None:
        return wilson_interval(share, n_rows)
    number = group_numbers(groups, n_rows)
    n_groups = int(number.max()) + 1
    if n_groups == 1 or share in (0, 1):
        return wilson_interval(share, n_groups)
    effect = clustering(is_counted - share, number) * n_groups / (n_groups - 1)
    return wilson_interval(share, n_rows / max(1.0, effect))


def clustering(deviations: FloatArray, groups: IntArray) -> float:
    """Return the variance of sums over groups, over what it would be if rows were independent."""
    of_groups = np.bincount(groups, weights=deviations)
    return float((of_groups**2).sum() / (deviations**2).sum())


def wilson_interval(share: float, n_rows: float) -> tuple[float, float]:
    """Return the 95 % interval of a share of independent rows (Wilson)."""
    from scipy.special import ndtri  # slow to import

    deviations = float(ndtri((1 + _CONFIDENCE_LEVEL) / 2))
    scale = 2 * (n_rows + deviations**2)
    middle = (2 * n_rows * share + deviations**2) / scale
    half = deviations / scale * math.sqrt(4 * n_rows * share * (1 - share) + deviations**2)
    # Rounding may put an end of the interval a hair inside a share of 0 or 1.
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))

"""The share of labels that are right, with its interval; and the recall of every label.

True labels judge here, and models never see them.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from disambig._core.messages import plural, printable, row_count
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from disambig.candidates.groups import group_numbers
from disambig.tabular.true_labels import is_known

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
_CONFIDENCE_LEVEL = 0.95
# So many labels are listed, with the worst first; of more, the worst five.
_MOST_LISTED = 10
_WORST = 5


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
            f"Right in {self.share:.3f} of the {row_count(self.n_rows)} whose true label is known "
            f"({self.low:.3f} to {self.high:.3f}, 95 %)."
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


class ClassRecall(Measured):
    """Share of the rows of a label that are predicted to have it."""

    label: str
    recall: Share
    n_rows: Count  # whose true label it is


def class_recalls(truth: AnyArray, predicted: AnyArray) -> tuple[ClassRecall, ...]:
    """Return the recall of every label that is the true one of some row, the worst first."""
    known = is_known(truth)
    right = truth[known] == predicted[known]
    labels, numbers = np.unique(truth[known].astype(str), return_inverse=True)
    n_rows, n_right = np.bincount(numbers), np.bincount(numbers, weights=right)
    found = [
        ClassRecall(label=str(label), recall=float(hits / count), n_rows=int(count))
        for label, hits, count in zip(labels, n_right, n_rows, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: each.recall))


def recall_lines(recalls: Sequence[ClassRecall], indent: int) -> list[str]:
    """Return a line for every label, or for the worst of many; numbers begin at ``indent``."""
    shown = recalls if len(recalls) <= _MOST_LISTED else recalls[:_WORST]
    titles = ["  recall of each label" if shown is recalls else "  recall, the worst"]
    titles += [""] * (len(shown) - 1)
    return [
        f"{title:<{indent}}{each.recall:.3f}  {printable(each.label)}, "
        f"{plural(each.n_rows, 'true label')}"
        for title, each in zip(titles, shown, strict=True)
    ]

"""The most probable labels of new rows, and those that cannot be ruled out, as columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from disambig._core.typing import AnyArray, FloatArray, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.solvers.conformal import prediction_mask
from disambig.tabular.labels.label_cells import write_cells
from disambig.tabular.labels.new_sets import rank_candidates

# Of what people read; predict_proba gives all of them.
_DECIMALS = 6
POSSIBLE = "possible_labels"


@dataclass(frozen=True, eq=False)
class RankedLabels:
    """The first labels of every row, the most probable one first.

    ``columns`` are those of the classes, -1 where a row has fewer candidates; ``possible`` has the
    columns of the labels that cannot be ruled out, where the model says which those are.
    """

    classes: AnyArray
    columns: IntArray  # (rows, labels)
    shares: FloatArray  # (rows, labels)
    possible: list[list[int]] | None

    def to_columns(self) -> dict[str, Any]:
        """Return ``predicted_label``, ``probability``, ``label_2`` and so on, as arrays."""
        names = self.classes
        if (self.columns < 0).any():  # sets of fewer labels: the last name is none
            names = np.array([*names.tolist(), None], dtype=object)
        result: dict[str, Any] = {}
        for place in range(self.columns.shape[1]):
            ending = f"_{place + 1}" if place else ""
            label = f"label{ending}" if place else "predicted_label"
            result[label] = names[self.columns[:, place]]
            result[f"probability{ending}"] = self.shares[:, place].round(_DECIMALS)
        return result

    def possible_labels(self) -> list[list[Any]] | None:
        """Return the labels that cannot be ruled out, the most probable first."""
        if self.possible is None:
            return None
        names = self.classes.tolist()
        return [[names[column] for column in row] for row in self.possible]

    def possible_cells(self) -> list[str] | None:
        """Return the labels that cannot be ruled out, as the cells of a table."""
        if self.possible is None:
            return None
        classes = [str(name) for name in self.classes.tolist()]
        return write_cells(([classes[column] for column in row] for row in self.possible), classes)


def rank_labels(
    classes: AnyArray,
    said: Iterable[FloatArray],
    *,
    top: int,
    threshold: float | None,
    sets: CandidateLabels | None,
) -> RankedLabels:
    """Rank labels by the probabilities of some rows at a time.

    With ``sets`` only candidates are ranked, and a label that is no longer a candidate is no longer
    possible. Without ``threshold`` nothing is said of what is possible.
    """
    count = min(top, len(classes))
    if sets is not None:
        ranked = rank_candidates(sets, said)
        likely = None if threshold is None else ranked.likely(threshold)
        return RankedLabels(classes, *ranked.first(count), likely)
    parts = []
    possible: list[list[int]] | None = None if threshold is None else []
    for probabilities in said:
        parts.append(_most_probable(probabilities, count))
        if possible is not None and threshold is not None:
            possible += _possible_columns(probabilities, threshold)
    columns, shares = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return RankedLabels(classes, columns, shares, possible)


def _most_probable(probabilities: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    if count == 1:
        columns = probabilities.argmax(axis=1)[:, np.newaxis]
    else:
        # Stable, so that ties go to the first class, as in predict.
        columns = np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
    return columns, np.take_along_axis(probabilities, columns, axis=1)


def _possible_columns(probabilities: FloatArray, threshold: float) -> list[list[int]]:
    """Return the columns of the labels that cannot be ruled out, the most probable first.

    The predicted one is always among them, which covers more than was asked for, never less.
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    counts = np.maximum(prediction_mask(probabilities, threshold).sum(axis=1), 1)
    return [row[:count] for row, count in zip(order.tolist(), counts.tolist(), strict=True)]

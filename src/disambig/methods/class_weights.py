"""Weights of classes: what ``class_weight`` means where a row has several candidates."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_real
from disambig._core.typing import FloatArray, Label
from disambig.candidates.checks import known_columns_of
from disambig.candidates.labels import CandidateLabels

ClassWeight = Literal["balanced"] | Mapping[Label, float] | None


def check_class_weight(class_weight: Any) -> None:
    """Refuse what is neither "balanced" nor a mapping from labels to numbers, nor None."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            "'class_weight' must be 'balanced', a dict from labels to weights, or None. "
            f"Got {class_weight!r} instead."
        )
    for label, weight in class_weight.items():
        check_real(f"class_weight[{label!r}]", weight, minimum=0)
    if class_weight and not any(class_weight.values()):
        raise ParameterError(
            f"'class_weight' must be above 0 for some label. Got {class_weight!r} instead."
        )


def weights_of_classes(class_weight: ClassWeight, candidates: CandidateLabels) -> FloatArray | None:
    """Return the weight of every class, in column order; None if all count the same.

    The loss of a candidate is multiplied by the weight of its class. "balanced" is the inverse of
    the share of a class that the sets imply, the mean of their priors (over weighted rows, where
    rows have weights), so that all classes count the same in sum. With one label per row that is
    scikit-learn's "balanced". Labels that a mapping does not name weigh 1.

    Parameters
    ----------
    class_weight : {"balanced"}, mapping from labels to numbers, or None
        The parameter of a method; see ``check_class_weight``.
    candidates : CandidateLabels
        The training sets.
    """
    if class_weight is None:
        return None
    weights = np.ones(len(candidates.classes))
    if isinstance(class_weight, Mapping):
        columns = known_columns_of(class_weight, candidates.classes)
        known = columns >= 0
        # More labels than a fold has are fine, a name beside one that is missing is a slip.
        if not known.all() and known.sum() < len(weights):
            raise ParameterError(
                f"'class_weight' names {list(class_weight)[int(known.argmin())]!r}, which is not a "
                f"class of y, and leaves others out. Name some of {candidates.classes.tolist()}."
            )
        weights[columns[known]] = np.array(list(class_weight.values()), dtype=float)[known]
        return weights
    shares = class_shares(candidates)
    seen = shares > 0
    weights[seen] = 1 / (seen.sum() * shares[seen])
    return weights


def class_shares(candidates: CandidateLabels) -> FloatArray:
    """Return the share of every class that the sets imply: the mean of the priors of the rows."""
    prior = candidates.prior()
    rows = np.full(len(candidates), 1 / len(candidates))
    if candidates.row_weights is not None:
        rows = candidates.row_weights / candidates.row_weights.sum()
    shares: FloatArray = prior.T @ rows
    return shares

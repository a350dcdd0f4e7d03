"""Weights of rows, for methods that can use them: ``fit(X, y, sample_weight=...)``."""

from typing import Any, ClassVar, Self

from disambig._core.errors import CandidateError
from disambig._core.typing import FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.target import as_candidates

# Named in errors. The catalogue is not imported for that: all methods would be.
WITH_ROW_WEIGHTS = (
    "AutoDisambiguator, NCPDPlusClassifier, DisambiguatingForest or EMClassifier, for example"
)


class RowWeightsMixin:
    """A method whose ``_fit`` uses ``candidates.row_weights``; to be named before its base class.

    Only then does ``fit`` have ``sample_weight``, which is how scikit-learn knows who takes it.
    """

    uses_row_weights: ClassVar[bool] = True

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn from features and candidate sets.

        Parameters
        ----------
        X : array-like (or sparse array, where the method takes it) of shape (n_samples, n_features)
            Training features.
        y : CandidateLabels, boolean mask, sparse mask, or plain labels
            Candidate sets. A plain label is a set of one; a candidate of weight zero is ignored.
        groups : iterable of length n_samples, optional
            Which rows come together; by default the groups of ``y``. Rows that a method holds out
            by itself are whole groups. ``set_fit_request(groups=True)`` has scikit-learn pass them
            on. What groups promise is part of ``y``: see ``CandidateLabels.with_groups``.
        sample_weight : iterable of numbers of length n_samples, optional
            How much every row counts; by default the row weights of ``y``, see
            ``CandidateLabels.with_row_weights``, or all the same.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if sample_weight is not None and y is not None:
            y = as_candidates(y).with_row_weights(sample_weight)
        fitted: Self = super().fit(X, y, groups)  # type: ignore[misc]  # of the base class
        return fitted


def check_row_weights(candidates: CandidateLabels, method: str, uses_row_weights: bool) -> None:
    """Refuse weights of rows that are all zero, or that a method has no use for."""
    if candidates.row_weights is None:
        return
    if not uses_row_weights:
        raise CandidateError(
            f"{method} cannot use weights of rows, and 'y' has some. Use {WITH_ROW_WEIGHTS}, or "
            "take them out: y.with_row_weights(None)."
        )
    if not candidates.row_weights.any():
        raise CandidateError(
            f"The weights of all {len(candidates)} rows are zero: nothing could be learned. Give "
            "rows that count."
        )


def relative_row_weights(candidates: CandidateLabels) -> FloatArray | None:
    """Return weights of rows with a mean of one; None where rows have none, or only zeros.

    So that equal weights, whatever they are, give the same as no weights at all. Some row of a
    table always counts; of those that are held out, perhaps none.
    """
    if candidates.row_weights is None or not candidates.row_weights.any():
        return None
    # Over the largest first: so that no sum overflows, and equal ones are exactly one.
    weights: FloatArray = candidates.row_weights / candidates.row_weights.max()
    weights /= weights.mean()
    return weights

"""How good a model is likely to be, judged on rows that it was not trained on."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from disambig._core.messages import join_names, plural
from disambig._core.typing import AnyArray, FloatArray
from disambig.candidates.labels import CandidateLabels
from disambig.metrics.without_truth import approximated_accuracy, covering_rate
from disambig.tabular.accuracy import (
    Accuracy,
    ClassRecall,
    Count,
    Measured,
    Share,
    class_recalls,
    known_accuracy,
    recall_lines,
)
from disambig.tabular.labels.row_groups import groups_of

if TYPE_CHECKING:
    from disambig.methods.misses import Misses

_NOTICEABLE = 0.03


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


class NeverPredicted(Measured):
    """Labels that no held-out row is predicted to have. ``str()`` gives them as a sentence."""

    labels: tuple[str, ...] = Field(min_length=1)
    share: Share  # of all candidate labels

    def __str__(self) -> str:
        make = "It makes" if len(self.labels) == 1 else "They make"
        return (
            f"Never predicted: {join_names(self.labels)}. {make} up "
            f"{_percent(self.share)} of the candidate labels."
        )


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
    recalls : tuple of ClassRecall
        Recall of every label that is the true one of some row, the worst first.
    never_predicted : NeverPredicted or None
        Labels that no held-out row is predicted to have; None if every label is predicted.
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
    recalls: tuple[ClassRecall, ...] = ()
    never_predicted: NeverPredicted | None = None
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
                f"(95 %), from {plural(known.n_rows, 'true label')}"
            )
            lines += recall_lines(self.recalls, indent=25)
        if self.never_predicted is not None:
            lines.append(str(self.never_predicted))
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
        recalls=() if truth is None else class_recalls(truth, predicted),
        never_predicted=_never_predicted(candidates, predicted),
        misses=misses,
        doubtful_sets=doubtful_sets,
    )


def _never_predicted(candidates: CandidateLabels, predicted: AnyArray) -> NeverPredicted | None:
    """Return the labels that are candidates of some row and predicted for none."""
    _, columns = candidates.pairs()
    counts = np.bincount(columns, minlength=len(candidates.classes))
    missed = (counts > 0) & ~np.isin(candidates.classes, predicted)
    if not missed.any():
        return None
    names = tuple(map(str, candidates.classes[missed].tolist()))
    return NeverPredicted(labels=names, share=float(counts[missed].sum() / counts.sum()))


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 else "less than 1 %"

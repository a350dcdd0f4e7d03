"""``PartialLabelDataset``: features, candidate sets and, for evaluation only, the truth."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from disambig._core.errors import DatasetFormatError, TableError, describe_rows
from disambig._core.typing import AnyArray, FloatArray
from disambig.candidates.checks import as_list, first_repeated, known_columns_of
from disambig.candidates.labels import CandidateLabels


@dataclass(frozen=True, eq=False)  # arrays do not compare to one answer
class PartialLabelDataset:
    """Features, candidate sets and, for evaluation only, true labels.

    Attributes
    ----------
    name : str
        Name of the dataset, or of its file.
    X : ndarray of shape (n_samples, n_features)
        Features.
    candidates : CandidateLabels
        Candidate sets; each holds the true label alone if the data has no other candidates.
    true_labels : ndarray of shape (n_samples,) or None
        For evaluation; no method may read them.
    feature_names : list of str
        Names of the columns of ``X``.
    card : DatasetCard or None
        Source, licence and shape of a named dataset; None for your own file.

    See Also
    --------
    load_dataset : Reads one by its name, or from a file.
    make_partial_label_dataset : Makes a synthetic one.

    Examples
    --------
    >>> from disambig.datasets import make_partial_label_dataset
    >>> data = make_partial_label_dataset(30, 4, 3, random_state=0)
    >>> data.X.shape
    (30, 4)
    >>> data.candidates
    CandidateLabels(30 samples, 3 classes, 2.00 candidates on average)
    """

    name: str
    X: FloatArray = field(repr=False)
    candidates: CandidateLabels
    true_labels: AnyArray | None = field(repr=False)
    feature_names: list[str] = field(repr=False)
    card: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        lengths = {"X": len(self.X), "candidates": len(self.candidates)}
        if self.true_labels is not None:
            lengths["true_labels"] = len(self.true_labels)
        if len(set(lengths.values())) != 1 or self.X.shape[1] != len(self.feature_names):
            raise DatasetFormatError(
                f"The parts of {self.name} do not fit: rows {lengths}, {self.X.shape[1]} columns "
                f"of features and {len(self.feature_names)} names."
            )
        if self.true_labels is None:
            return
        # A true label outside the classes could never be predicted and would count as an error.
        true_labels = as_list(self.true_labels)
        unknown = known_columns_of(true_labels, self.candidates.classes) < 0
        if unknown.any():
            raise DatasetFormatError(
                f"Every true label of {self.name} must be one of its classes. This is not so for "
                f"{describe_rows(unknown)}: {true_labels[int(unknown.argmax())]!r}. Correct the "
                "label, or name all classes."
            )

    @property
    def frame_nbytes(self) -> int:
        """The memory that ``to_frame`` takes besides the features, about and at most."""
        n_pairs = int(self.candidates.sizes.sum())
        for_pair = 64 if self.candidates.weights is None else 160
        return for_pair * n_pairs + 400 * len(self.X) + 300 * len(self.feature_names)

    def to_frame(self, *, with_truth: bool = False, with_groups: bool = False) -> Any:
        """Return a data frame: the features, and a column ``label`` with the candidates.

        A row has a list of labels or, with weights, a mapping from label to weight. Labels are
        strings.

        Parameters
        ----------
        with_truth : bool, default=False
            Add a column ``truth`` with the true labels, if they are known.
        with_groups : bool, default=False
            Add a column ``groups`` with the number of every row's group, if rows have groups.
        """
        import pandas as pd  # slow to import, and needed here only

        added: dict[str, list[Any]] = {"label": self._label_cells()}
        if with_truth and self.true_labels is not None:
            added["truth"] = [str(label) for label in self.true_labels.tolist()]
        if with_groups and self.candidates.groups is not None:
            added["groups"] = self.candidates.groups.tolist()
        repeated = first_repeated([*self.feature_names, *added])
        if repeated is not None:
            raise TableError(
                f"The features of {self.name} need different names, and other ones than "
                f"{' and '.join(added)}. {repeated!r} is there twice. Rename it in the file."
            )
        return pd.DataFrame(self.X, columns=self.feature_names).assign(**added)

    def _label_cells(self) -> list[Any]:
        _, columns = self.candidates.pairs()
        classes = self.candidates.classes
        # The name of a class is one string, however many rows it is in.
        texts = np.empty(len(classes), dtype=object)
        used = np.flatnonzero(np.bincount(columns, minlength=len(classes)))
        texts[used] = [str(name) for name in classes[used].tolist()]
        names = texts[columns].tolist()
        ends = [*self.candidates.starts.tolist(), len(names)]
        rows = [slice(start, end) for start, end in pairwise(ends)]
        if self.candidates.weights is None:
            return [names[row] for row in rows]
        weights = self.candidates.values_of(self.candidates.weights).tolist()
        return [dict(zip(names[row], weights[row], strict=True)) for row in rows]

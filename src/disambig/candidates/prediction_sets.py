"""``PredictionSets``: for every row, the labels that a model cannot rule out."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from disambig._core.errors import CandidateError
from disambig._core.messages import percent
from disambig._core.typing import AnyArray, BoolArray, IntArray, Label
from disambig.candidates.checks import known_columns_of
from disambig.candidates.taxonomy import deepest_nodes


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """The labels that a model cannot rule out, row by row.

    Unlike candidate sets, they may be empty: no label is plausible.

    Attributes
    ----------
    mask : ndarray of bool, of shape (n_samples, n_classes)
        True where a label is in the set of a row.
    classes : ndarray of shape (n_classes,)
        Names of the columns.

    See Also
    --------
    disambig.methods.ConformalSets : Makes them, with a guarantee.
    CandidateLabels : The sets that models learn from.

    Examples
    --------
    >>> import numpy as np
    >>> from disambig.candidates import PredictionSets
    >>> mask = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]], dtype=bool)
    >>> sets = PredictionSets(mask, np.array(["lion", "lynx", "wolf"]))
    >>> sets.to_strings()
    ['lion|lynx', 'wolf', 'lion|wolf']
    >>> taxonomy = {"animal": ["cat", "wolf"], "cat": ["lion", "lynx"]}
    >>> sets.deepest_nodes(taxonomy).tolist()
    ['cat', 'wolf', 'animal']
    >>> print(sets)
    1.7 of 3 labels on average; one label in 33 % of 3 rows, none in 0 %.
    """

    mask: BoolArray
    classes: AnyArray

    @property
    def sizes(self) -> IntArray:
        """Number of labels of every row."""
        return np.asarray(self.mask.sum(axis=1))

    def __len__(self) -> int:
        return len(self.mask)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.mask, dtype=dtype, copy=copy)

    def __str__(self) -> str:
        if not len(self):
            return "No rows."
        return (
            f"{self.sizes.mean():.1f} of {len(self.classes)} labels on average; one label in "
            f"{percent((self.sizes == 1).mean())} of {len(self):,} rows, none in "
            f"{percent((self.sizes == 0).mean())}."
        )

    def to_sets(self) -> list[set[Label]]:
        """Return one set of labels per row."""
        return [set(self.classes[row].tolist()) for row in self.mask]

    def to_strings(self, separator: str = "|") -> list[str]:
        """Return one delimited string per row, labels in column order; empty where there is none.

        Parameters
        ----------
        separator : str, default="|"
            Separator between two labels.
        """
        names = np.array([str(name) for name in self.classes.tolist()], dtype=object)
        return [separator.join(names[row]) for row in self.mask]

    def contains(self, labels: Iterable[Label]) -> BoolArray:
        """Return for every row whether the given label is in its set.

        Its mean over checked rows is the coverage.

        Parameters
        ----------
        labels : iterable of labels
            One label per row. One that is not a class is in no set.
        """
        columns = known_columns_of(labels, self.classes)
        if len(columns) != len(self):
            raise CandidateError(
                f"One label is needed for each of the {len(self)} rows. Got {len(columns)}."
            )
        found: BoolArray = (columns >= 0) & self.mask[np.arange(len(self)), columns]
        return found

    def deepest_nodes(self, children: Mapping[Label, Collection[Label]]) -> AnyArray:
        """Return the deepest node of a taxonomy that has the whole set of a row below it.

        For "genus X, species open": the truth is below this node at least as often as it is in
        the set. None where the set is empty, or where no node has all of it below, so give the
        taxonomy a root.

        Parameters
        ----------
        children : mapping from a node to its children
            The taxonomy, as ``CandidateLabels.from_taxonomy`` takes it; classes must be leaves.
        """
        return deepest_nodes(self.mask, self.classes, children)

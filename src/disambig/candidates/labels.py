"""``CandidateLabels``: for every sample, the set of labels that it may have."""

import sys
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError
from disambig._core.parameters import check_choice
from disambig._core.typing import AnyArray, BoolArray, FloatArray, IntArray, Label, Sparse
from disambig.candidates import build, checks, storage
from disambig.candidates.groups import (
    DEFAULT_STRENGTH,
    Promise,
    PromiseKind,
    group_numbers,
    runs_of_equal_rows,
)
from disambig.candidates.row_facts import RowFacts, as_row_weights
from disambig.candidates.scikit_learn import refuse_scikit_learn

_ROWS_AT_A_TIME = 4096
_NOTHING_SAID = RowFacts()


class CandidateLabels:
    """Candidate sets: for every sample, the labels that it may have. Immutable.

    Use one of the ``from_...`` constructors; they accept sets, strings, masks, plain labels,
    exclusions, annotator votes and nodes of a taxonomy. scikit-learn accepts it wherever it
    hands labels on: it has a ``shape`` and a length, and can be indexed by rows.
    ``numpy.asarray`` turns it into a boolean mask; what in scikit-learn would read that as labels
    that are all right is refused. ``with_groups`` says which samples come
    together, such as the faces in one photo; ``with_row_weights`` how much each of them counts.

    Parameters
    ----------
    mask : array-like or sparse array of shape (n_samples, n_classes)
        True or 1 where a class is a candidate of a sample.
    classes : iterable of labels, optional
        Names of the columns, in order: hashable, distinct, not missing. By default 0 to c - 1, or
        the columns of a data frame. Columns of a frame that have these names are put in this order.
    weights : array-like or sparse array of shape (n_samples, n_classes), optional
        Prior weight of each candidate, such as votes or the probabilities of an LLM: finite, not
        negative, zero outside the set, and above zero for some candidate of each sample.

    See Also
    --------
    as_candidates : Reads whatever a method accepts as ``y``.
    audit_candidates : Describes the sets.
    disambig.tabular.LabelColumns : Reads the sets from the columns of a table.

    Examples
    --------
    >>> from disambig import CandidateLabels
    >>> y = CandidateLabels.from_strings(["cat|dog", "dog", "bird | cat"])
    >>> y
    CandidateLabels(3 samples, 3 classes, 1.67 candidates on average)
    >>> y.classes.tolist()
    ['bird', 'cat', 'dog']
    >>> y[[0, 2]].to_strings()
    ['cat|dog', 'bird|cat']
    """

    __slots__ = ("_classes", "_mask", "_rows", "_weights")

    _mask: storage.Storage
    _weights: storage.Storage | None
    _classes: AnyArray
    _rows: RowFacts

    def __init__(
        self, mask: Any, classes: Iterable[Label] | None = None, *, weights: Any = None
    ) -> None:
        names = None if classes is None else checks.as_list(classes)
        if hasattr(mask, "columns"):
            names = checks.as_list(mask.columns) if names is None else names
            ordered = checks.in_order_of(names, mask)
            mask = mask if ordered is None else ordered
        matrix = checks.as_mask_matrix(mask)
        n_classes = matrix.shape[1]
        if names is not None and len(names) != n_classes:
            raise CandidateError(
                "A mask needs one column for each class. "
                f"Got {n_classes} columns and {len(names)} classes."
            )
        checks.check_no_empty_row(storage.row_counts(matrix))
        class_array = checks.as_class_array(range(n_classes) if names is None else names)
        if weights is not None:
            weights = storage.compact(checks.as_weight_matrix(weights, matrix, class_array))
        self._set(storage.compact(matrix), class_array, weights)

    def _set(
        self,
        mask: storage.Storage,
        classes: AnyArray,
        weights: storage.Storage | None,
        rows: RowFacts = _NOTHING_SAID,
    ) -> None:
        # Not by assignment, which __setattr__ refuses.
        object.__setattr__(self, "_mask", mask)
        object.__setattr__(self, "_classes", classes)
        object.__setattr__(self, "_weights", weights)
        object.__setattr__(self, "_rows", rows)

    @classmethod
    def _from_parts(cls, parts: build.Parts) -> Self:
        return cls(parts.mask, parts.classes, weights=parts.weights)

    @classmethod
    def _unpickled(cls, parts: build.Parts, rows: RowFacts) -> Self:
        return cls._from_parts(parts)._with_facts(rows)

    # Constructors ----------------------------------------------------------------------------

    @classmethod
    def from_sets(
        cls, sets: Iterable[Iterable[Label]], *, classes: Iterable[Label] | None = None
    ) -> Self:
        """Make it from one collection of labels per sample.

        Rows that are mappings give weights: ``{"cat": 0.7, "dog": 0.3}``.

        Parameters
        ----------
        sets : iterable of collections of labels
            Lists, tuples, sets, arrays, or mappings from label to weight.
        classes : iterable of labels, optional
            All classes in column order. By default the labels that occur, sorted.
        """
        return cls._from_parts(build.parts_from_sets(sets, classes))

    @classmethod
    def from_strings(
        cls,
        strings: Iterable[str],
        *,
        separator: str = "|",
        classes: Iterable[Label] | None = None,
    ) -> Self:
        """Make it from delimited strings such as ``"cat|dog"``; spaces around a label are trimmed.

        Parameters
        ----------
        strings : iterable of str
            One string per sample. Blank pieces (``"cat||dog"``) are skipped.
        separator : str, default="|"
            Separator between two labels.
        classes : iterable of labels, optional
            All classes in column order. By default the labels that occur, sorted.
        """
        return cls._from_parts(build.parts_from_strings(strings, separator, classes))

    @classmethod
    def from_mask(
        cls, mask: Any, classes: Iterable[Label] | None = None, *, weights: Any = None
    ) -> Self:
        """Make it from a dense or sparse matrix of 0 and 1: rows are samples, columns classes.

        Takes the same parameters as the class. The classes of a data frame are its columns.
        """
        return cls(mask, classes, weights=weights)

    @classmethod
    def from_labels(
        cls, labels: Iterable[Label], *, classes: Iterable[Label] | None = None
    ) -> Self:
        """Make it from plain labels: every sample has one candidate.

        Parameters
        ----------
        labels : iterable of labels
            One label per sample.
        classes : iterable of labels, optional
            All classes in column order. By default the labels that occur, sorted.
        """
        return cls._from_parts(build.parts_from_labels(labels, classes))

    @classmethod
    def from_excluded(cls, excluded: Iterable[Any], *, classes: Iterable[Label]) -> Self:
        """Make it from what a sample is *not*: all other classes are its candidates.

        Parameters
        ----------
        excluded : iterable of labels, or of collections of labels
            For every sample the label, or labels, that are ruled out; an empty collection rules
            nothing out.
        classes : iterable of labels
            All classes in column order.
        """
        return cls._from_parts(build.parts_from_excluded(excluded, classes))

    @classmethod
    def from_annotations(
        cls,
        items: Iterable[Hashable],
        annotators: Iterable[Hashable],
        labels: Iterable[Label],
        *,
        min_votes: int = 1,
        order: Iterable[Hashable] | None = None,
        classes: Iterable[Label] | None = None,
    ) -> Self:
        """Make it from a long table with one row per annotation; votes become weights.

        Parameters
        ----------
        items, annotators, labels : iterables of the same length
            The columns of the table: which item, by whom, which label.
        min_votes : int, default=1
            Votes that a label needs to be a candidate; with 1 every label given is one.
        order : iterable of items, optional
            The items in the order of the rows of your features. By default the order in which
            they first appear.
        classes : iterable of labels, optional
            All classes in column order. By default the labels that occur, sorted.
        """
        return cls._from_parts(
            build.parts_from_annotations(
                items, annotators, labels, min_votes=min_votes, order=order, classes=classes
            )
        )

    @classmethod
    def from_taxonomy(
        cls,
        nodes: Iterable[Any],
        children: Mapping[Label, Collection[Label]],
        *,
        classes: Iterable[Label] | None = None,
    ) -> Self:
        """Make it from nodes of a taxonomy: an inner node means all the leaves below it.

        Parameters
        ----------
        nodes : iterable of nodes, or of collections of nodes
            What is known of each sample: a leaf, an inner node ("genus X"), or several.
        children : mapping from a node to its children
            The taxonomy. A node that is not a key is a leaf; leaves are the classes.
        classes : iterable of labels, optional
            All classes in column order. By default the leaves, sorted.
        """
        return cls._from_parts(build.parts_from_taxonomy(nodes, children, classes))

    @classmethod
    def from_csr(
        cls,
        indptr: IntArray,
        indices: IntArray,
        classes: Iterable[Label],
        *,
        weights: FloatArray | None = None,
    ) -> Self:
        """Make it from the arrays of a CSR matrix, which are used as they are and never copied.

        For sets that do not fit into memory: the arrays may be memory-mapped.

        Parameters
        ----------
        indptr : ndarray of integers of shape (n_samples + 1,)
            Where the candidates of every sample begin and end in ``indices``.
        indices : ndarray of integers of shape (n_candidates,)
            The column of every candidate, ascending within a sample. int32, like ``indptr``, takes
            least memory.
        classes : iterable of labels
            Names of the columns.
        weights : ndarray of floats of shape (n_candidates,), optional
            Prior weight of every candidate, some above zero in each sample.

        Examples
        --------
        >>> import numpy as np
        >>> from disambig import CandidateLabels
        >>> ends, columns = np.array([0, 2, 3]), np.array([0, 1, 1])
        >>> CandidateLabels.from_csr(ends, columns, ["cat", "dog"]).to_strings()
        ['cat|dog', 'dog']
        """
        names = checks.as_class_array(classes)
        mask = storage.csr_in_place(np.ones(len(indices), dtype=bool), indices, indptr, len(names))
        checks.check_no_empty_row(storage.row_counts(mask))
        weighted = None
        if weights is not None:
            weighted = storage.csr_in_place(weights, indices, indptr, len(names))
            checks.check_weights_of_candidates(weighted)
        sets = object.__new__(cls)
        sets._set(mask, names, weighted)
        return sets

    # Properties and the container protocol ---------------------------------------------------

    @property
    def classes(self) -> AnyArray:
        """Class names, in column order."""
        return self._classes

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and of classes."""
        rows, columns = self._mask.shape
        return rows, columns

    @property
    def sizes(self) -> IntArray:
        """Number of candidates of every sample."""
        return storage.row_counts(self._mask)

    @property
    def starts(self) -> IntArray:
        """Index in ``pairs`` at which the candidates of every sample begin."""
        ends: IntArray = self._csr().indptr
        return ends[:-1]

    @property
    def weights(self) -> Sparse | None:
        """A copy of the weights as a CSR array, or None if there are none."""
        return None if self._weights is None else storage.as_csr(self._weights).copy()

    @property
    def groups(self) -> IntArray | None:
        """Number of the group of every sample, read-only; None if samples stand alone."""
        return self._rows.groups

    @property
    def promise(self) -> Promise | None:
        """What is known of every group as a whole; None if nothing is."""
        return self._rows.promise

    @property
    def row_weights(self) -> FloatArray | None:
        """How much every sample counts, read-only; None if all count the same."""
        return self._rows.weights

    @property
    def nbytes(self) -> int:
        """Memory taken by the sets, weights, groups and weights of rows."""
        weights = 0 if self._weights is None else storage.nbytes(self._weights)
        return storage.nbytes(self._mask) + weights + self._rows.nbytes

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Return the set of one sample, or the candidate sets of several."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # how scikit-learn asks for rows
        if isinstance(key, int | np.integer):
            row = range(len(self))[key]
            return self[row : row + 1].to_sets()[0]
        if not isinstance(key, slice):
            key = _as_row_numbers(key)
        selected = object.__new__(type(self))
        selected._set(
            storage.rows_of(self._mask, key),
            self._classes,
            None if self._weights is None else storage.rows_of(self._weights, key),
            self._rows.at(key),
        )
        return selected

    def __iter__(self) -> Iterator[set[Label]]:
        # In blocks: one row at a time is slow, and all at once may not fit into memory.
        for start in range(0, len(self), _ROWS_AT_A_TIME):
            yield from self[start : start + _ROWS_AT_A_TIME].to_sets()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError("Candidate sets can only be turned into an array by copying them.")
        refuse_scikit_learn(sys._getframe(1))
        return self.to_mask().astype(bool if dtype is None else dtype, copy=False)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"CandidateLabels cannot be changed, so {name!r} cannot be set. Make a new one instead."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"CandidateLabels cannot be changed, so {name!r} cannot be deleted. Make a new one."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, because arrays come back from pickling writeable.
        parts = build.Parts(self._mask, self._classes, self._weights)
        return type(self)._unpickled, (parts, self._rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CandidateLabels):
            return NotImplemented
        return (
            self.shape == other.shape
            and self._classes.tolist() == other._classes.tolist()
            and _same_matrix(self._mask, other._mask)
            and _same_matrix(self._weights, other._weights)
            and self._rows.same_as(other._rows)
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares contents, as for arrays

    def __repr__(self) -> str:
        rows, columns = self.shape
        average = f"{self.sizes.mean():.2f} candidates on average" if rows else "empty"
        weighted = "" if self._weights is None else ", weighted"
        facts = self._rows.in_words()
        return f"CandidateLabels({rows} samples, {columns} classes, {average}{weighted}{facts})"

    # Conversions -----------------------------------------------------------------------------

    def to_sets(self) -> list[set[Label]]:
        """Return one set of labels per sample."""
        csr = self._csr()
        names = self._classes.tolist()
        labels = [names[column] for column in csr.indices.tolist()]
        ends = csr.indptr.tolist()
        return [set(labels[ends[row] : ends[row + 1]]) for row in range(len(self))]

    def to_strings(self, separator: str = "|") -> list[str]:
        """Return one delimited string per sample, labels in column order."""
        names = [str(name) for name in self._classes]
        clash = next((name for name in names if separator in name), None)
        if clash is not None:
            raise CandidateError(
                f"The label {clash!r} contains the separator {separator!r}, so the string could "
                "not be read back. Choose another separator."
            )
        csr = self._csr()
        return [
            separator.join(names[column] for column in csr.indices[start:end])
            for start, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True)
        ]

    def to_mask(self) -> BoolArray:
        """Return a dense boolean array of shape (n_samples, n_classes)."""
        return storage.as_dense(self._mask)

    def to_sparse(self) -> Sparse:
        """Return a boolean CSR array of shape (n_samples, n_classes)."""
        return self._csr().copy()

    # Computations ----------------------------------------------------------------------------

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return two arrays, the sample and the column of every candidate, sample by sample."""
        csr = self._csr()
        return np.repeat(np.arange(len(self)), np.diff(csr.indptr)), csr.indices

    def values_of(self, matrix: Any) -> AnyArray:
        """Return the value of every candidate, in the order of ``pairs``.

        Parameters
        ----------
        matrix : array-like or sparse array of shape (n_samples, n_classes)
            One value for every sample and class, such as scores.
        """
        values = matrix if sparse.issparse(matrix) else np.asarray(matrix)
        if values.shape != self.shape:
            raise CandidateError(
                f"One value is needed for every sample and class, {self.shape}. "
                f"Got the shape {values.shape}."
            )
        if storage.has_entries_of(values, self._csr()):
            return np.array(values.data)
        return storage.values_at(values, *self.pairs())

    def prior(self, *, copy: bool = True) -> Sparse:
        """Return the prior probability of every label: rows sum to one, zero outside the sets.

        Proportional to the weights if there are any, otherwise equal for all candidates.

        Parameters
        ----------
        copy : bool, default=True
            False leaves ``indices`` and ``indptr`` those of these sets: read-only, and no memory of
            their own.
        """
        csr = self._csr()
        starts, sizes = csr.indptr[:-1], np.diff(csr.indptr)
        if self._weights is None:
            shares = np.repeat(1 / sizes, sizes)
        else:
            shares = self.values_of(self._weights).astype(float)
            # Relative to the largest of the row, so that no sum overflows.
            shares /= np.repeat(storage.group_maxima(shares, starts), sizes)
            shares /= np.repeat(storage.group_sums(shares, starts), sizes)
        return sparse.csr_array((shares, csr.indices, csr.indptr), shape=csr.shape, copy=copy)

    def contains(self, labels: Iterable[Label]) -> BoolArray:
        """Return for every sample whether the given label is one of its candidates."""
        columns = checks.known_columns_of(labels, self._classes)
        if len(columns) != len(self):
            raise CandidateError(
                f"One label is needed for each of the {len(self)} samples. Got {len(columns)}."
            )
        found = columns >= 0
        found[found] = storage.values_at(self._mask, np.flatnonzero(found), columns[found])
        return found

    def choose(self, confidence: Any) -> AnyArray:
        """Return the most confident candidate of every sample; ties go to the first class.

        Parameters
        ----------
        confidence : array-like or sparse array of shape (n_samples, n_classes)
            Values outside the sets are ignored; a missing value is below all others.
        """
        _, columns = self.pairs()
        values = self.values_of(confidence).astype(float)
        values[np.isnan(values)] = -np.inf
        chosen: AnyArray = self._classes[columns[storage.first_largest(values, self.starts)]]
        return chosen

    def with_groups(
        self,
        groups: Iterable[Hashable] | Literal["runs"] | None,
        *,
        promise: PromiseKind | Promise | None = None,
        strength: float = DEFAULT_STRENGTH,
    ) -> Self:
        """Return the same sets, with samples that come together.

        Folds then hold out whole groups, wherever this package deals folds. A promise also says
        something about the labels of a group; see ``Promise``. Hold out whole groups yourself
        where you use a promise: part of a group need not keep it.

        Parameters
        ----------
        groups : iterable, "runs" or None
            For every sample a number or name that all samples of its group share. "runs" is for
            data that do not name them: neighbours with equal sets are a group, as regions of a
            picture are in most files. None: samples stand alone.
        promise : {"cover", "exclusive"} or Promise, optional
            "cover" if every label in the sets of a group belongs to at least one of its samples;
            "exclusive" if no label occurs twice in a group.
        strength : float, default=0.9
            Share of the groups for which the promise is believed; a ``Promise`` has its own.

        Examples
        --------
        >>> from disambig import CandidateLabels
        >>> y = CandidateLabels.from_strings(["cow|sky", "cow|sky", "car", "cow|sky"])
        >>> y.with_groups(["a", "a", "b", "b"]).groups.tolist()
        [0, 0, 1, 1]
        >>> y.with_groups("runs", promise="cover").groups.tolist()
        [0, 0, 1, 2]
        """
        if promise is not None and not isinstance(promise, Promise):
            promise = Promise(promise, strength)
        if groups is None:
            if promise is not None:
                raise CandidateError(
                    "A promise is about groups. Got groups=None. Name the group of every row."
                )
            return self._with_facts(self._rows._replace(groups=None, promise=None))
        if isinstance(groups, str):
            check_choice("groups", groups, ("runs",))
            numbers = runs_of_equal_rows(self._csr())
        else:
            numbers = group_numbers(groups, len(self))
        return self._with_facts(self._rows._replace(groups=numbers, promise=promise))

    def with_row_weights(self, weights: Iterable[float] | None) -> Self:
        """Return the same sets, with how much every sample counts in training.

        Not to be confused with ``weights``, which compare the candidates of one sample. Weights of
        rows travel with the sets, through splits and pipelines, and are what ``fit`` calls
        ``sample_weight``.

        Parameters
        ----------
        weights : iterable of numbers or None
            One for every sample: finite, not negative, not all zero. None: all count the same.

        Examples
        --------
        >>> from disambig import CandidateLabels
        >>> y = CandidateLabels.from_strings(["cat|dog", "dog", "cat|fox"])
        >>> y.with_row_weights([1, 2, 0.5])[1:].row_weights.tolist()
        [2.0, 0.5]
        """
        numbers = None if weights is None else as_row_weights(weights, len(self))
        return self._with_facts(self._rows._replace(weights=numbers))

    def with_rows_of(self, other: "CandidateLabels") -> Self:
        """Return the same sets with what is known of the rows of others, which have as many.

        That is their groups, the promise of these, and the weights of rows.

        Parameters
        ----------
        other : CandidateLabels
            Sets of the same samples.
        """
        if len(other) != len(self):
            raise CandidateError(
                f"Groups and weights of rows are needed for each of the {len(self)} samples. Got "
                f"{len(other)}. Give sets of the same samples."
            )
        return self._with_facts(other._rows)

    def _with_facts(self, rows: RowFacts) -> Self:
        same = object.__new__(type(self))
        same._set(self._mask, self._classes, self._weights, rows.read_only())
        return same

    def restrict(self, labels: Iterable[Label]) -> Self:
        """Keep only these labels, in the sets and as classes."""
        return self._keep(self._mark_columns(labels))

    def exclude(self, labels: Iterable[Label]) -> Self:
        """Remove these labels, from the sets and from the classes."""
        return self._keep(~self._mark_columns(labels))

    def intersect(self, other: "CandidateLabels") -> Self:
        """Keep labels that are candidates in both; weights multiply, no weight counts as one.

        Groups, and weights of rows, are those of these sets or, if they have none, of the others.
        """
        both = self._from_parts(build.parts_of_intersection(self._parts(), other._parts()))
        return both._with_facts(self._rows.or_else(other._rows))

    def union(self, other: "CandidateLabels") -> Self:
        """Keep labels that are candidates in either; weights add up, no weight counts as one.

        Groups, and weights of rows, are those of these sets or, if they have none, of the others.
        """
        either = self._from_parts(build.parts_of_union(self._parts(), other._parts()))
        return either._with_facts(self._rows.or_else(other._rows))

    def with_classes(self, classes: Iterable[Label]) -> Self:
        """Return the same sets over other classes, which must include all candidates."""
        moved = self._from_parts(build.put_on_classes(self._parts(), classes))
        return moved._with_facts(self._rows)

    def fingerprint_parts(self) -> tuple[Any, ...]:
        """Return what tells these sets from others, for ``fingerprint_of``."""
        names = [repr(name) for name in self._classes.tolist()]
        weights = None if self._weights is None else self.values_of(self._weights)
        return names, *self.pairs(), weights, *self._rows.fingerprint_parts()

    def _csr(self) -> Sparse:
        return storage.as_csr(self._mask)

    def _parts(self) -> build.Parts:
        return build.Parts(self._csr(), self._classes, self.weights)

    def _mark_columns(self, labels: Iterable[Label]) -> BoolArray:
        marked = np.zeros(self.shape[1], dtype=bool)
        marked[checks.columns_of(labels, self._classes)] = True
        return marked

    def _keep(self, keep: BoolArray) -> Self:
        kept = self._from_parts(build.keep_columns(self._parts(), keep))
        return kept._with_facts(self._rows)


def _as_row_numbers(key: Any) -> AnyArray:
    # A tuple would be one index per axis, as for arrays.
    array = np.asarray(key)
    if array.size == 0:
        array = array.astype(np.int64)  # NumPy takes an empty list for floats
    if isinstance(key, tuple) or array.ndim != 1 or array.dtype.kind not in "biu":
        raise IndexError(
            "Candidate sets are selected by sample: an integer, a slice, or a one-dimensional "
            f"array of integers or booleans. Got {key!r}. "
            "Use restrict or exclude to select classes."
        )
    return array


def _same_matrix(left: storage.Storage | None, right: storage.Storage | None) -> bool:
    if left is None or right is None:
        return left is right
    return bool((storage.as_csr(left) != storage.as_csr(right)).nnz == 0)

"""What a collection of candidate sets can and cannot teach, before any training."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import entr

from disambig._core.errors import CandidateError
from disambig._core.messages import join_names, percent, row_count
from disambig._core.typing import BoolArray, FloatArray, IntArray, Label, Sparse
from disambig.candidates.group_audit import GroupAudit, audit_groups
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_maxima

_PAIRS_AT_A_TIME = 2_000_000
_DENSE_FROM_SHARE = 1 / 16  # of the classes in an average set: from there on, BLAS is faster
_ROUNDING = 1e-9
# Of labels in one set, counted at most: about a gigabyte. 7,000 labels that all occur together.
_MOST_PAIRS = 50_000_000


def row_blocks(
    candidates: CandidateLabels, *, pairs: int = _PAIRS_AT_A_TIME
) -> Iterator[CandidateLabels]:
    """Yield all rows in order, about ``pairs`` pairs of a row and a candidate at a time."""
    total = int(candidates.sizes.sum())
    rows = max(1, len(candidates) * pairs // max(1, total))
    for start in range(0, len(candidates), rows):
        yield candidates[start : start + rows]


@dataclass(frozen=True, eq=False)  # arrays do not compare to one answer
class CandidateAudit:
    """Statistics of candidate sets; ``str()`` gives them as text.

    Attributes
    ----------
    n_samples, n_classes : int
        Number of samples and of classes.
    size_histogram : dict of int to int
        Number of samples by number of candidates.
    average_candidates : float
        Mean size of a set.
    singleton_share : float
        Share of samples with one candidate, whose label is therefore known.
    cooccurrence : sparse array of shape (n_classes, n_classes)
        In how many samples two labels are candidates together; on the diagonal, in how many a
        label is a candidate.
    alone_counts : array of shape (n_classes,)
        In how many samples a label is the only candidate.
    inseparable : list of tuples of labels
        Labels that always appear together: no method can tell them apart from these sets.
    never_alone : list of labels
        Labels that are never the only candidate.
    never_candidates : list of labels
        Classes that are not in any set.
    classes : list of labels
        Class names, in the order of ``cooccurrence``.
    groups : GroupAudit or None
        Facts about samples that come together, if some do.

    See Also
    --------
    audit_candidates : Makes it.
    disambig.tabular.audit_table : The same for a table, with its columns.

    Examples
    --------
    >>> from disambig import CandidateLabels, audit_candidates
    >>> y = CandidateLabels.from_strings(["cat|dog", "cat|dog", "fox"])
    >>> audit = audit_candidates(y)
    >>> audit.size_histogram
    {1: 1, 2: 2}
    >>> audit.inseparable
    [('cat', 'dog')]
    """

    n_samples: int
    n_classes: int
    size_histogram: dict[int, int]
    average_candidates: float
    singleton_share: float
    cooccurrence: Sparse
    alone_counts: IntArray
    inseparable: list[tuple[Label, ...]]
    never_alone: list[Label]
    never_candidates: list[Label]
    classes: list[Label]
    groups: GroupAudit | None = None

    def __str__(self) -> str:
        lines = [
            f"{self.n_samples} samples, {self.n_classes} classes, "
            f"{self.average_candidates:.2f} candidates on average",
            f"{self.singleton_share:.1%} of the samples have a single candidate",
            "Set sizes:",
            *_bars(self.size_histogram),
        ]
        common = self.most_common_pairs(5)
        if common:
            lines.append("Most often together:")
            lines += [f"  {count:>8}  {first} and {second}" for first, second, count in common]
        lines += [
            f"Cannot be told apart, always together: {', '.join(map(str, group))}"
            for group in self.inseparable
        ]
        if self.never_alone:
            lines.append(f"Never the only candidate: {join_names(self.never_alone, most=10)}")
        if self.never_candidates:
            lines.append(f"Never a candidate: {join_names(self.never_candidates, most=10)}")
        if self.groups is not None:
            lines += self.groups.lines()
        return "\n".join(lines)

    @property
    def candidate_counts(self) -> IntArray:
        """In how many samples each label is a candidate, in the order of ``classes``."""
        return np.asarray(self.cooccurrence.diagonal())

    def most_common_pairs(self, count: int) -> list[tuple[Label, Label, int]]:
        """Return the pairs of labels that are most often candidates together, with how often."""
        pairs = self.cooccurrence.tocoo()
        above = pairs.row < pairs.col
        rows, columns, values = pairs.row[above], pairs.col[above], pairs.data[above]
        order = np.lexsort((columns, rows, -values))[:count]
        return [
            (self.classes[rows[i]], self.classes[columns[i]], int(values[i]))
            for i in order.tolist()
        ]


def audit_candidates(candidates: CandidateLabels) -> CandidateAudit:
    """Describe candidate sets, and find labels that cannot be learned from them.

    Parameters
    ----------
    candidates : CandidateLabels
        The sets to describe.

    See Also
    --------
    disambig.tabular.audit_table : The same for a table, with its columns.

    Examples
    --------
    >>> from disambig import CandidateLabels, audit_candidates
    >>> y = CandidateLabels.from_strings(["cat|dog", "dog", "fox|cat"])
    >>> audit = audit_candidates(y)
    >>> audit.n_samples, audit.never_alone
    (3, ['cat', 'fox'])
    """
    sizes = candidates.sizes
    names = candidates.classes.tolist()
    together = sparse.csr_array((len(names), len(names)), dtype=np.int64)
    alone = np.zeros(len(names), dtype=np.int64)
    for block in row_blocks(candidates):
        # At most, because labels of these rows may be together in others too.
        n_pairs = together.nnz + int(np.square(block.sizes, dtype=np.int64).sum())
        if min(len(names) ** 2, n_pairs) > _MOST_PAIRS:
            raise CandidateError(
                f"An audit counts how often two labels are in one set. Here it would count up to "
                f"{n_pairs:,} pairs, because the largest set has {sizes.max():,} of {len(names):,} "
                f"labels. The limit is {_MOST_PAIRS:,}: drop the rows with the largest sets."
            )
        mask = block.to_sparse()
        together = together + _cooccurrence(mask)
        alone += mask[np.diff(mask.indptr) == 1].sum(axis=0, dtype=np.int64)
    occurrences = together.diagonal()
    values, frequencies = np.unique(sizes, return_counts=True)
    return CandidateAudit(
        n_samples=len(candidates),
        n_classes=len(names),
        size_histogram=dict(zip(values.tolist(), frequencies.tolist(), strict=True)),
        average_candidates=float(sizes.mean()) if len(sizes) else 0.0,
        singleton_share=float((sizes == 1).mean()) if len(sizes) else 0.0,
        cooccurrence=together,
        alone_counts=alone,
        inseparable=_inseparable(together, names),
        never_alone=[names[j] for j in np.flatnonzero((occurrences > 0) & (alone == 0))],
        never_candidates=[names[j] for j in np.flatnonzero(occurrences == 0)],
        classes=names,
        groups=None if candidates.groups is None or not len(sizes) else audit_groups(candidates),
    )


@dataclass(frozen=True)
class LabelInformation:
    """How much the candidate sets say about the labels; ``str()`` gives it in two sentences.

    ``known_share`` is the information in the sets, as a share of that in full labels: 1 if every
    set has one label, 0 if every set has all of them.
    """

    n_rows: int  # that have a set
    known_share: float
    blind_guess_share: float  # rows that a guess from the set alone is expected to get right
    weighted: bool = False  # both shares then take the weights as true

    @property
    def equivalent_rows(self) -> float:
        """How many rows with full labels would tell as much."""
        return self.known_share * self.n_rows

    def __str__(self) -> str:
        guess = "The label of highest weight" if self.weighted else "A blind guess inside the sets"
        condition = ", if the weights are right" if self.weighted else ""
        return (
            f"These labels are worth about as much as {row_count(round(self.equivalent_rows))} "
            f"({percent(self.known_share)}) with one certain label each.\n"
            f"{guess} would be right for {percent(self.blind_guess_share)} of the rows{condition}."
        )


def label_information(candidates: CandidateLabels) -> LabelInformation:
    r"""Return how much the sets tell, compared with full labels.

    With the prior :math:`p_i` of every row (equal shares, or the weights), their mean :math:`m`
    and the entropy :math:`H`, the known share is :math:`1 - \mathrm{mean}_i H(p_i) / H(m)`.
    It is 1 where :math:`H(m) = 0`, as with one class.
    """
    n_rows = len(candidates)
    weighted = candidates.weights is not None
    if not n_rows:
        return LabelInformation(0, 1.0, 1.0, weighted)
    totals = np.zeros(candidates.shape[1])
    left_open = 0.0
    for block in row_blocks(candidates):
        prior = block.prior()
        totals += prior.sum(axis=0)
        left_open += float(entr(prior.data).sum())
    to_tell = float(entr(totals / n_rows).sum())
    # The entropy of the mean is at least the mean entropy, but for rounding.
    known = max(0.0, 1 - left_open / n_rows / to_tell) if to_tell > 0 else 1.0
    return LabelInformation(n_rows, known, float(likeliest_shares(candidates).mean()), weighted)


def likeliest_shares(candidates: CandidateLabels) -> FloatArray:
    """Return the share of the likeliest candidate of every row, which a blind guess gets right."""
    if candidates.weights is None:
        return np.asarray(1 / candidates.sizes)
    largest = [np.zeros(0)]
    for block in row_blocks(candidates):
        prior = block.prior()
        largest.append(group_maxima(prior.data, prior.indptr[:-1]))
    return np.concatenate(largest)


def may_have_any_label(candidates: CandidateLabels, n_occurring: int) -> BoolArray:
    """Mark the rows for which all labels that occur, of this number, are equally likely."""
    return likeliest_shares(candidates) * n_occurring <= 1 + _ROUNDING


def _cooccurrence(mask: Sparse) -> Sparse:
    if mask.nnz > _DENSE_FROM_SHARE * mask.shape[0] * mask.shape[1]:
        # Counts of a block are far below 2^24, up to which this type counts without a gap.
        dense = mask.toarray().astype(np.float32)
        return sparse.csr_array((dense.T @ dense).astype(np.int64))
    counts = mask.astype(np.int64)
    return (counts.T @ counts).tocsr()


def _inseparable(together: Sparse, names: list[Label]) -> list[tuple[Label, ...]]:
    # As often together as either occurs at all: then never one without the other.
    occurrences = together.diagonal()
    pairs = together.tocoo()
    always = (pairs.data == occurrences[pairs.row]) & (pairs.data == occurrences[pairs.col])
    first = np.full(len(names), len(names))
    np.minimum.at(first, pairs.row[always], pairs.col[always])
    groups: dict[int, list[Label]] = {}
    for column in np.flatnonzero(occurrences):
        groups.setdefault(int(first[column]), []).append(names[column])
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _bars(histogram: dict[int, int], width: int = 40) -> list[str]:
    largest = max(histogram.values(), default=1)
    return [
        f"  {size:>4}  {count:>8}  {'#' * max(1, round(width * count / largest))}"
        for size, count in histogram.items()
    ]

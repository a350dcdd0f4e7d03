r"""What the rows of a group say about each other, where the group promises something.

Row i of a group has label j with the probability :math:`p_{ij}`, each row by itself. *Cover* says
that every label L in the sets of the group occurs in it, *exclusive* that none occurs twice. The
marginals given that are exact where a group has up to ``MOST_LABELS`` labels (and, with so many, no
more than a thousand rows):

- cover, by inclusion and exclusion over the sets A of labels that do not occur,

  .. math:: m_{ij} \propto p_{ij} \sum_{A \subseteq L \setminus j} (-1)^{|A|}
            \prod_{i' \ne i} \Big( 1 - \sum_{a \in A} p_{i'a} \Big)

- exclusive, by dynamic programming over the sets of labels that are taken, from both ends.

Otherwise they are taken label by label, as if labels were independent of each other: given that row
i is j, each other label still has to occur among the other rows, or label j must not. That comes
near where many rows may have each label.

A promise is believed with its strength s before anything is known. The rows weigh it against no
promise at all: by how much more often it holds under p than under the prior of the sets. A group in
which it is nearly impossible is left as it is.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from disambig._core.typing import FloatArray, IntArray, Sparse
from disambig.candidates.groups import Promise

# Beyond, 2^labels numbers for every row are too many.
MOST_LABELS = 12
# No candidate is ruled out by what other rows say.
SMALLEST_PROBABILITY = 1e-6
# What is less likely counts as impossible: inclusion and exclusion is off by as much.
_SMALLEST_EVIDENCE = 1e-9
_SMALLEST_FACTOR = 1e-12
# Of these, a few arrays are in memory. A group that takes more is not computed exactly.
_NUMBERS_AT_A_TIME = 2**22


class GroupMarginals:
    """Marginals of the candidates of rows that come together, for one way they are grouped.

    Parameters
    ----------
    prior : sparse CSR array of shape (rows, classes)
        An entry for every candidate, rows summing to one: what is believed without features.
    groups : ndarray of integers of shape (rows,)
        Number of the group of every row.
    promise : Promise
        What is known of a group as a whole.
    """

    def __init__(self, prior: Sparse, groups: IntArray, promise: Promise) -> None:
        self.n_pairs = prior.nnz
        self._strength = promise.strength
        self._starts = np.asarray(prior.indptr[:-1])
        self._sizes = np.diff(prior.indptr)
        self._buckets = _buckets(prior, groups, promise)
        clipped = self._clipped(prior.data[np.newaxis])
        # How likely each group is to keep the promise before anything is known of its rows.
        self._by_chance = [bucket.evidence(clipped) for bucket in self._buckets]

    def __call__(self, confidences: FloatArray) -> FloatArray:
        """Return the marginals that follow from confidences of rows by themselves.

        Parameters
        ----------
        confidences : ndarray of shape (n_pairs,) or (networks, n_pairs)
            Of every candidate, row by row as in ``prior``; each row sums to one.
        """
        found = np.array(np.atleast_2d(confidences), dtype=float)
        free = self._clipped(found)
        for bucket, by_chance in zip(self._buckets, self._by_chance, strict=True):
            for some in bucket.parts(len(free)):
                part = bucket.take(free, some)
                kept, evidence = bucket.marginals(part)
                believed = _believed(self._strength, evidence, by_chance[some.group])
                believed = believed[:, np.newaxis, np.newaxis]
                bucket.put(found, some, believed * kept + (1 - believed) * part)
        return found.reshape(np.shape(confidences))

    def log_changes(self, confidences: FloatArray) -> FloatArray:
        """Return the logarithm of marginals over confidences, of the same shape as these.

        What the other rows of a group say of a row, whatever it says itself.
        """
        free = self._clipped(np.atleast_2d(confidences).astype(float))
        marginals = np.maximum(self(free), SMALLEST_PROBABILITY)
        return np.log(marginals / free).reshape(np.shape(confidences))

    def _clipped(self, confidences: FloatArray) -> FloatArray:
        clipped: FloatArray = np.maximum(confidences, SMALLEST_PROBABILITY)
        totals = np.add.reduceat(clipped, self._starts, axis=1)
        clipped /= np.repeat(totals, self._sizes, axis=1)
        return clipped


def _believed(strength: float, evidence: FloatArray, by_chance: FloatArray) -> FloatArray:
    """Return the probability that each group keeps the promise."""
    ratio = evidence / np.maximum(by_chance, _SMALLEST_EVIDENCE)
    odds = np.where(evidence > _SMALLEST_EVIDENCE, strength * ratio, 0)
    against = 1 - strength
    return odds / np.where(odds + against > 0, odds + against, 1)


class _Some(NamedTuple):
    """Some of the groups of a bucket, each as one of the networks sees it."""

    network: IntArray
    group: IntArray


class _Bucket:
    """Groups of the same number of labels and about as many rows, computed side by side.

    ``places`` has the shape (groups, rows, labels): where each candidate is among all pairs, or
    -1 where a row does not have this candidate, or a group not as many rows.
    """

    def __init__(self, places: IntArray, kind: str) -> None:
        self._places = places
        _, n_rows, n_labels = places.shape
        exact = n_labels <= MOST_LABELS and n_rows * 2**n_labels <= _NUMBERS_AT_A_TIME
        functions: Any = {
            ("cover", True): _cover,
            ("cover", False): _cover_label_by_label,
            ("exclusive", True): _exclusive,
            ("exclusive", False): _exclusive_label_by_label,
        }
        self.marginals = functions[kind, exact]
        self._numbers = n_rows * (2**n_labels if exact else n_labels)

    def parts(self, n_networks: int) -> Iterator[_Some]:
        """Yield as many groups of as many networks at a time as memory is to be taken for."""
        n_all = n_networks * len(self._places)
        at_once = max(1, _NUMBERS_AT_A_TIME // self._numbers)
        for start in range(0, n_all, at_once):
            numbers = np.arange(start, min(start + at_once, n_all))
            yield _Some(*np.divmod(numbers, len(self._places)))

    def evidence(self, confidences: FloatArray) -> FloatArray:
        """Return how probable it is that each group keeps the promise, as one network sees it."""
        return np.concatenate(
            [self.marginals(self.take(confidences, some))[1] for some in self.parts(1)]
        )

    def take(self, confidences: FloatArray, some: _Some) -> FloatArray:
        """Return confidences of some groups: shape (groups, rows, labels)."""
        places = self._places[some.group]
        network = some.network[:, np.newaxis, np.newaxis]
        return np.where(places < 0, 0.0, confidences[network, places])

    def put(self, confidences: FloatArray, some: _Some, values: FloatArray) -> None:
        """Put values of some groups in their places."""
        group, row, label = np.nonzero(self._places[some.group] >= 0)
        places = self._places[some.group[group], row, label]
        confidences[some.network[group], places] = values[group, row, label]


def _buckets(prior: Sparse, groups: IntArray, promise: Promise) -> list[_Bucket]:
    """Return the groups in which the promise says something and can be kept."""
    order = np.argsort(groups, kind="stable")
    n_rows_of = np.unique(groups, return_counts=True)[1]
    by_shape: dict[tuple[int, int], list[IntArray]] = {}
    for rows in np.split(order, np.cumsum(n_rows_of)[:-1]):
        sizes = np.diff(prior.indptr)[rows]
        row = np.repeat(np.arange(len(rows)), sizes)
        before = np.repeat(np.cumsum(sizes) - sizes, sizes)
        pairs = np.repeat(prior.indptr[rows], sizes) + np.arange(sizes.sum()) - before
        labels, column = np.unique(prior.indices[pairs], return_inverse=True)
        is_open = len(rows) > 1 and len(labels) > 1
        fits = len(labels) <= len(rows) if promise.kind == "cover" else len(rows) <= len(labels)
        if not (is_open and fits):
            continue
        # Rows of nothing change nothing under cover: groups of similar length share a bucket.
        height = 2 ** (len(rows) - 1).bit_length() if promise.kind == "cover" else len(rows)
        places = np.full((height, len(labels)), -1)
        places[row, column] = pairs
        by_shape.setdefault(places.shape, []).append(places)
    return [_Bucket(np.stack(places), promise.kind) for places in by_shape.values()]


Found = tuple[FloatArray, FloatArray]  # marginals, and how probable it is that the promise holds


def _normalised(weights: FloatArray) -> FloatArray:
    weights = np.maximum(weights, 0)
    totals = weights.sum(axis=2, keepdims=True)
    return weights / np.where(totals > 0, totals, 1)


def _cover(p: FloatArray) -> Found:
    """Sum over all sets of labels that might not occur, with alternating signs."""
    n_labels = p.shape[2]
    absent = np.zeros((*p.shape[:2], 1))
    signs = np.ones(1)
    for label in range(n_labels):
        absent = np.concatenate([absent, absent + p[:, :, label, np.newaxis]], axis=2)
        signs = np.concatenate([signs, -signs])
    logs = np.log(np.maximum(1 - absent, _SMALLEST_FACTOR))
    of_all = logs.sum(axis=1, keepdims=True)
    others = signs * np.exp(of_all - logs)
    weights = np.empty_like(p)
    for label in range(n_labels):
        without = others.reshape(*p.shape[:2], -1, 2, 2**label)[:, :, :, 0]
        weights[:, :, label] = p[:, :, label] * without.sum(axis=(2, 3))
    evidence = (signs * np.exp(of_all[:, 0])).sum(axis=1)
    return _normalised(weights), evidence


def _cover_label_by_label(p: FloatArray) -> Found:
    """Let every other label occur among the other rows, whatever the remaining labels do."""
    logs = np.log(np.maximum(1 - p, _SMALLEST_FACTOR))
    of_all = logs.sum(axis=1, keepdims=True)
    occurs = np.log(np.maximum(1 - np.exp(of_all - logs), _SMALLEST_FACTOR))
    others = occurs.sum(axis=2, keepdims=True) - occurs
    weights = p * np.exp(others - others.max(axis=2, keepdims=True))
    evidence = np.prod(1 - np.exp(of_all[:, 0]), axis=1)
    return _normalised(weights), evidence


def _exclusive(p: FloatArray) -> Found:
    """Walk over the rows with the set of labels taken so far, and back with those still needed."""
    n_groups, n_rows, n_labels = p.shape
    taken = np.arange(2**n_labels)
    free = [taken[(taken >> label) & 1 == 0] for label in range(n_labels)]
    before = np.zeros((n_rows + 1, n_groups, 2**n_labels))
    before[0, :, 0] = 1
    after = np.ones((n_rows + 1, n_groups, 2**n_labels))
    for row in range(n_rows):
        for label, sets in enumerate(free):
            step = before[row][:, sets] * p[:, row, label, np.newaxis]
            before[row + 1][:, sets | (1 << label)] += step
    for row in reversed(range(n_rows)):
        after[row] = 0
        for label, sets in enumerate(free):
            step = after[row + 1][:, sets | (1 << label)] * p[:, row, label, np.newaxis]
            after[row][:, sets] += step
    weights = np.empty_like(p)
    for row in range(n_rows):
        for label, sets in enumerate(free):
            both = before[row][:, sets] * after[row + 1][:, sets | (1 << label)]
            weights[:, row, label] = p[:, row, label] * both.sum(axis=1)
    return _normalised(weights), after[0][:, 0]


def _exclusive_label_by_label(p: FloatArray) -> Found:
    """Let no other row have the label, whatever the remaining labels do."""
    rest = np.maximum(1 - p, _SMALLEST_FACTOR)
    logs = np.log(rest)
    of_all = logs.sum(axis=1, keepdims=True)
    others = of_all - logs
    weights = p * np.exp(others - others.max(axis=2, keepdims=True))
    at_most_once = np.exp(of_all[:, 0]) * (1 + (p / rest).sum(axis=1))
    return _normalised(weights), np.prod(at_most_once, axis=1)

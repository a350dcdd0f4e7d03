"""Rows that contradict those most like them: near duplicates, and sets that neighbours dispute."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import bdtrc  # scipy.stats takes long to import

from disambig._core.messages import percent, quote_value, row_count, row_name
from disambig._core.typing import BoolArray, FloatArray, IntArray, Sparse
from disambig.tabular.audit.findings import Finding, LabelledRows
from disambig.tabular.audit.neighbours import nearest, points

_SEED = 0
_N_NEIGHBOURS = 20
_FEWEST_ROWS = 3 * _N_NEIGHBOURS
_FEWEST_JUDGED = 500
_MOST_DISTANCES = 100_000_000  # a few seconds
_MOST_COUNTED = 20_000_000  # labels of neighbours
_EXPECTED_BY_CHANCE = 0.05  # rows in the whole table that may be reported by chance
_NEARLY_ALL = 0.9  # of the neighbours hold a label
_NO_SUPPORT = (
    0.01  # labels of the row are as frequent among neighbours by chance, at least so often
)
_TRUSTED = 0.85  # of the rows whose neighbours agree, hold that label too: or neighbours say little


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The rows most like each of some rows, nearest first; of all rows unless these are many."""

    labelled: LabelledRows
    where: FloatArray  # all rows as points
    judged: IntArray  # rows, by their place among the labelled ones
    near: IntArray  # judged rows by neighbours
    distances: FloatArray

    @classmethod
    def of(cls, labelled: LabelledRows) -> Self | None:
        """Look for neighbours, or return None if there are too few rows or nothing to compare."""
        n_rows = len(labelled.candidates)
        if labelled.values is None or n_rows < _FEWEST_ROWS:
            return None
        generator = np.random.default_rng(_SEED)
        where = points(labelled.values, np.arange(n_rows), generator)
        if not where.shape[1]:
            return None
        n_judged = max(_FEWEST_JUDGED, _MOST_DISTANCES // n_rows)
        around_each = _N_NEIGHBOURS * labelled.audit.average_candidates
        n_judged = min(n_judged, max(1, int(_MOST_COUNTED / around_each)))
        judged = np.sort(generator.permutation(n_rows)[:n_judged])
        return cls(labelled, where, judged, *nearest(where, judged, _N_NEIGHBOURS))

    @property
    def among(self) -> str:
        """Say how many rows were looked at, if not all."""
        n_rows = len(self.labelled.candidates)
        if len(self.judged) == n_rows:
            return ""
        return f"Of {row_count(len(self.judged))} that were looked at, "


def near_duplicates(around: Neighbourhoods) -> Iterator[Finding]:
    """Report rows that are nearly equal to another one and share no label with it."""
    distances, mask = around.distances, around.labelled.candidates.to_sparse()
    other = around.near[:, 0]
    shared = mask[around.judged].multiply(mask[other]).sum(axis=1)
    suspicious = nearly_equal(distances) & (shared == 0)
    suspicious[suspicious] = _same_words(around, around.judged[suspicious], other[suspicious])
    if not suspicious.any():
        return
    order = np.argsort(distances[suspicious, 0] / distances[suspicious, -1], kind="stable")
    rows, others = around.judged[suspicious][order], other[suspicious][order]
    numbers = around.labelled.numbers
    # Both rows of a pair, next to each other, each once.
    named = list(dict.fromkeys(np.stack([rows, others], axis=1).ravel().tolist()))
    example = f"rows {numbers[rows[0]] + 1:,} and {numbers[others[0]] + 1:,}"
    yield Finding.about(
        numbers[named],
        "near_duplicates_disagree",
        f"{around.among}{row_count(len(rows))} {'is' if len(rows) == 1 else 'are'} almost equal to "
        f"another row and {'has' if len(rows) == 1 else 'have'} no label in common with it, as "
        f"{example}.",
        "If they are the same thing entered twice, one of the two is labelled wrongly.",
    )


def _same_words(around: Neighbourhoods, rows: IntArray, others: IntArray) -> BoolArray:
    """Mark pairs of rows that have the same categories and texts; distances leave texts out."""
    values = around.labelled.values
    same = np.ones(len(rows), dtype=bool)
    for place, kind in enumerate([] if values is None else values.dtypes):
        if values is not None and not pd.api.types.is_numeric_dtype(kind):
            here, there = (values.iloc[some, place].fillna("") for some in (rows, others))
            same &= here.to_numpy() == there.to_numpy()
    return same


def nearly_equal(distances: FloatArray) -> BoolArray:
    """Mark rows whose nearest neighbour is far nearer than the others let one expect.

    If neighbours lie around a row as points in a small region of ``m`` dimensions do, the nearest
    of k is nearer than a share t of the k-th distance with probability 1 - (1 - t^m)^(k-1). The
    dimension is estimated from the distances (Levina and Bickel, 2004), around the row and around
    all rows; the smaller one counts. Equal rows, of distance zero, are not marked.
    """
    n_rows, count = distances.shape
    nearest_one, farthest = distances[:, 0], distances[:, -1]
    can_tell = (nearest_one > 0) & (distances[:, 1] > 0)
    if not can_tell.any():
        return can_tell
    with np.errstate(divide="ignore", invalid="ignore"):
        # The nearest is what is judged, so that it has no say.
        inverse = np.log(farthest[:, np.newaxis] / distances[:, 1:-1]).mean(axis=1)
        share = np.where(can_tell, nearest_one / farthest, 1)
    typical = np.median(inverse[can_tell])
    dimension = 1 / np.maximum(np.where(can_tell, inverse, typical), max(typical, 1e-9))
    by_chance = -np.expm1((count - 1) * np.log1p(-np.minimum(share**dimension, 1 - 1e-12)))
    marked: BoolArray = can_tell & (by_chance * n_rows <= _EXPECTED_BY_CHANCE)
    return marked


@dataclass(frozen=True, eq=False)
class Disputes:
    """What the neighbours of every judged row say of its set."""

    is_disputed: BoolArray
    label: IntArray  # one that neighbours hold and the row does not, most of them where disputed
    held_by: IntArray  # how many neighbours do
    support: FloatArray  # how often neighbours would hold labels of the row as often by chance
    trusted: float  # of the rows whose neighbours agree, the share that holds the label too


def disputes(around: Neighbourhoods) -> Disputes:
    """Compare every set with those of the neighbours.

    Neighbours agree if nearly all hold a label, and so many would not if sets were dealt at random.
    A set is disputed that lacks the label, if none of its own is more frequent among neighbours
    than chance explains.
    """
    mask = around.labelled.candidates.to_sparse().astype(np.int32)
    shares = np.asarray(mask.sum(axis=0)).ravel() / mask.shape[0]
    n_rows, count = around.near.shape
    rows, labels, held_by = sparse.find(_counts_around(mask, around.near))
    is_own = np.asarray(mask[around.judged][rows, labels]).ravel() > 0
    agreed = held_by >= _NEARLY_ALL * count
    by_chance = np.ones(len(rows))
    told = agreed | is_own
    by_chance[told] = bdtrc(held_by[told] - 1, count, shares[labels[told]])  # so many or more
    agreed &= by_chance * n_rows * mask.shape[1] <= _EXPECTED_BY_CHANCE
    support = np.ones(n_rows)
    np.minimum.at(support, rows[is_own], by_chance[is_own])
    others = np.flatnonzero(agreed & ~is_own)
    others = others[np.argsort(held_by[others], kind="stable")]
    label, most = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    label[rows[others]], most[rows[others]] = labels[others], held_by[others]  # the last one stays
    agree, follow = (np.unique(rows[chosen]) for chosen in (agreed, agreed & is_own))
    trusted = len(follow) / len(agree) if len(agree) else 0.0
    return Disputes((most > 0) & (support > _NO_SUPPORT), label, most, support, trusted)


def disputed_sets(around: Neighbourhoods) -> Iterator[Finding]:
    """Report rows whose neighbours nearly all hold a label that the row has not."""
    found = disputes(around)
    if not found.is_disputed.any() or found.trusted < _TRUSTED:
        return
    rows = np.flatnonzero(found.is_disputed)
    rows = rows[np.lexsort((-found.support[rows], -found.held_by[rows]))]
    labelled, n_neighbours = around.labelled, around.near.shape[1]
    one, first = len(rows) == 1, rows[0]
    held = labelled.candidates[[int(around.judged[first])]].to_strings()[0]
    yield Finding.about(
        labelled.numbers[around.judged[rows]],
        "neighbours_disagree",
        f"{around.among}{row_count(len(rows))} may miss the right label: nearly all rows like "
        f"{'it' if one else 'them'} hold another one. Of the {n_neighbours} rows most like "
        f"{row_name(int(labelled.numbers[around.judged[first]]))}, {found.held_by[first]} may be "
        f"{quote_value(labelled.audit.classes[found.label[first]])}; it has {quote_value(held)}.",
        f"Check {'it' if one else 'the first ones'}. Where neighbours agree like that, "
        f"{percent(found.trusted)} of all rows hold the label too; the others may be exceptions.",
    )


def _counts_around(mask: Sparse, near: IntArray) -> Sparse:
    """Return how many neighbours of every row hold each label."""
    n_rows, count = near.shape
    ends = np.arange(n_rows + 1) * count
    graph = sparse.csr_array(
        (np.ones(near.size, dtype=np.int32), near.ravel(), ends), (n_rows, mask.shape[0])
    )
    return graph @ mask

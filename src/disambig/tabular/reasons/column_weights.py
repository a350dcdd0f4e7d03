"""How much a distance in each column counts: the more, the better it tells labels apart."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from disambig._core.typing import IntArray
from disambig.tabular.reasons.comparable_columns import ComparableColumn
from disambig.tabular.reasons.sure_rows import SureRows

_PAIRS = 20_000
# A good number has 0.3 to 1. One that tells all must not be all that is compared.
_MOST_TELLING = 3.0
_LEAST_VARIANCE = 1e-6
_MOST_COLUMNS = 200
_MOST_NUMBERS = 50_000_000

Pairs = tuple[IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class WeighedColumn:
    """A column, and how much a distance in it counts: two rows at random are 1 apart in all."""

    column: ComparableColumn
    weight: float


@dataclass(frozen=True, eq=False)
class _RowPairs:
    """Pairs of sure rows: any two, two of one label, two of different labels."""

    any: Pairs
    alike: Pairs
    different: Pairs

    @classmethod
    def draw(cls, sure: SureRows) -> Self:
        """Return pairs drawn at random, the same every time."""
        generator = np.random.default_rng(0)
        n_rows = len(sure.rows)
        some, others = (generator.integers(n_rows, size=_PAIRS) for _ in range(2))
        starts = np.searchsorted(sure.labels, sure.labels[some])
        ends = np.searchsorted(sure.labels, sure.labels[some], side="right")
        mates = starts + (generator.random(_PAIRS) * (ends - starts)).astype(np.int64)
        distinct, of_one = some != others, some != mates
        differ = sure.labels[some] != sure.labels[others]
        rows = sure.rows
        return cls(
            (rows[some[distinct]], rows[others[distinct]]),
            (rows[some[of_one]], rows[mates[of_one]]),
            (rows[some[differ]], rows[others[differ]]),
        )


def weigh_columns(
    columns: Iterable[ComparableColumn], sure: SureRows, n_rows: int
) -> list[WeighedColumn]:
    """Return the columns in which rows can differ, each with its weight; of very many, the best.

    Distances are divided by those of rows drawn at random. A column then counts by how much nearer
    rows of one label are in it than rows of different labels, against how much such distances vary:
    Fisher's discriminant between pairs of one label and of two, as if columns were independent. All
    count alike where none tells labels apart.
    """
    if not len(sure.rows):
        return []
    pairs = _RowPairs.draw(sure)
    judged = [(column, *_judge(column, pairs)) for column in columns]
    usable = [(column, typical, telling) for column, typical, telling in judged if typical > 0]
    if not usable:
        return []
    most = max(1, min(_MOST_COLUMNS, _MOST_NUMBERS // max(1, n_rows)))
    shares = np.array([telling for _, _, telling in usable])
    if not shares.any():
        shares = np.ones(len(usable))
    kept = np.sort(np.argsort(-shares, kind="stable")[:most])
    total = shares[kept].sum()
    return [
        WeighedColumn(usable[place][0], float(shares[place] / total / usable[place][1]))
        for place in kept.tolist()
    ]


def _judge(column: ComparableColumn, pairs: _RowPairs) -> tuple[float, float]:
    """Return how far apart rows typically are in a column, and how well it tells labels apart."""
    typical = _mean(column, pairs.any)
    if not typical > 0 or not len(pairs.alike[0]) or not len(pairs.different[0]):
        return typical, 0.0
    alike, different = (column.apart(*each) for each in (pairs.alike, pairs.different))
    nearer = max(0.0, float(different.mean() - alike.mean()) / typical)
    variance = float(different.var() + alike.var()) / 2 / typical**2
    return typical, min(_MOST_TELLING, nearer / max(variance, _LEAST_VARIANCE))


def _mean(column: ComparableColumn, pairs: Pairs) -> float:
    return float(column.apart(*pairs).mean(dtype=np.float64)) if len(pairs[0]) else 0.0

"""Rows with equal sets that are neighbours: in the order of a table, or by their features.

Both compare with rows whose sets were drawn one by one, in random order or sorted by a label.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from disambig._core.typing import FloatArray, IntArray
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import row_numbers
from disambig.tabular.audit.neighbours import number_points

_SEED = 0
# Runs: more neighbours are equal than by chance, by this share and by as many standard deviations.
_FEWEST_RUNS = 20  # of two rows or more
_EQUAL_NEIGHBOURS = 0.3
_DEVIATIONS = 6
# How often a run that has ended goes on a row later, over how often neighbours are equal. Where
# sets are drawn one by one it is a half or more, also if rows of one true label are together.
_GOING_ON = 1 / 3
_RUNS_OF_A_SET = 1.05  # on average, at most, in a sorted table
# Near duplicates: the nearest row has the same set, and the tenth nearest has not. Where rows of
# a label lie together and are many, both have.
FAR_RANK = 10
_NEAREST_EQUAL = 0.15
_FEWEST_JUDGED = 50
_MOST_JUDGED = 500
_ROWS_OF_A_SET = 3 * FAR_RANK
_MOST_ROWS = 100_000
_MOST_DISTANCES = 10_000_000


class NumberedSets(NamedTuple):
    """Candidate sets by numbers, which are equal where the sets are."""

    candidates: CandidateLabels
    number: IntArray  # of the set of every row
    counts: IntArray  # in how many rows each set occurs
    n_labels: int  # that occur

    @classmethod
    def of(cls, candidates: CandidateLabels) -> "NumberedSets":
        """Return the sets of two rows or more with their numbers."""
        number = row_numbers(candidates.to_sparse())
        n_labels = len(np.unique(candidates.pairs()[1]))
        return cls(candidates, number, np.bincount(number), n_labels)

    @property
    def equal_by_chance(self) -> float:
        """Share of all pairs of rows that have equal sets."""
        n_rows = len(self.number)
        return float((self.counts * (self.counts - 1.0)).sum() / (n_rows * (n_rows - 1.0)))


class Runs(NamedTuple):
    """Runs of neighbouring rows with equal sets, where these are too long for chance."""

    n_runs: int
    expected: float  # in random order
    is_sorted: bool  # perhaps because the table is sorted by its labels


def find_runs(sets: NumberedSets) -> Runs | None:
    """Return the runs of equal sets, or None if they are as short as where rows stand alone."""
    number = sets.number
    equal = number[1:] == number[:-1]
    first = np.flatnonzero(np.append(True, ~equal))
    n_groups = int((np.diff(first, append=len(number)) > 1).sum())
    # Rows of a label that always comes with the same others make one run for each label.
    if n_groups <= max(_FEWEST_RUNS, sets.n_labels):
        return None
    expected, deviation = runs_in_random_order(sets.counts)
    has_ended = ~equal[:-1]
    going_on = (number[2:] == number[:-2])[has_ended]
    if (
        equal.mean() - sets.equal_by_chance < _EQUAL_NEIGHBOURS
        or expected - len(first) < _DEVIATIONS * deviation
        or going_on.mean() > _GOING_ON * equal.mean()
    ):
        return None
    is_sorted = _may_be_sorted(sets.candidates[first], len(sets.counts), sets.n_labels)
    return Runs(len(first), expected, is_sorted)


def runs_in_random_order(counts: IntArray) -> tuple[float, float]:
    """Return the expected number of runs, and its standard deviation, if rows are shuffled.

    ``counts`` says in how many rows each set occurs. The formulas are those of Barton and David
    (Multiple runs, Biometrika 1957).
    """
    n = float(counts.sum())
    squares, cubes = float((counts**2.0).sum()), float((counts**3.0).sum())
    expected = (n * (n + 1) - squares) / n
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))
    return expected, max(variance, 0.0) ** 0.5


def _may_be_sorted(runs: CandidateLabels, n_sets: int, n_labels: int) -> bool:
    """Tell whether a table may be sorted by its labels, by the sets of its runs.

    Then each set has a run of its own, and all sets that begin with a label are together: they
    can be cut into no more parts than labels so that the sets of a part have a label in common.
    """
    if len(runs) > _RUNS_OF_A_SET * n_sets:
        return False
    n_parts = 1
    common = runs[0]
    for labels in runs:
        common = common & labels
        if not common:
            common = labels
            n_parts += 1
    return n_parts <= n_labels


class NearDuplicates(NamedTuple):
    """For which shares of rows similar ones have an equal set, where that speaks for duplicates."""

    near_equal: float  # the most similar row
    far_equal: float  # the one of rank ``FAR_RANK``


def find_near_duplicates(
    sets: NumberedSets, values: pd.DataFrame, rows: IntArray
) -> NearDuplicates | None:
    """Return how often similar rows have equal sets, or None if near duplicates say nothing.

    ``rows`` are the positions of the sets among the values.
    """
    generator = np.random.default_rng(_SEED)
    chosen = np.sort(generator.permutation(len(rows))[:_MOST_ROWS])
    number = sets.number[chosen]
    # Labels of few rows look like near duplicates, unless there are more sets than they could make.
    more_sets_than_labels = 2 * sets.n_labels * sets.equal_by_chance < 1
    judged = np.flatnonzero(more_sets_than_labels | (sets.counts[number] >= _ROWS_OF_A_SET))
    points = number_points(values, rows[chosen], generator)
    if len(judged) < _FEWEST_JUDGED or not points.shape[1]:
        return None
    some = generator.permutation(judged)[: min(_MOST_JUDGED, _MOST_DISTANCES // len(number))]
    near, far = _neighbours(points, some)
    near_equal = float((number[near] == number[some]).mean())
    far_equal = float((number[far] == number[some]).mean())
    error = (near_equal / len(some)) ** 0.5
    if near_equal < _NEAREST_EQUAL or near_equal - 2 * error < 2 * far_equal:
        return None
    return NearDuplicates(near_equal, far_equal)


def _neighbours(points: FloatArray, some: IntArray) -> tuple[IntArray, IntArray]:
    """Return the row nearest to each of some rows, and the one of rank ``FAR_RANK``."""
    # Without the squared length of the row itself, which is the same for all of its neighbours.
    distances = np.square(points).sum(axis=1) - 2 * points[some] @ points.T
    distances[np.arange(len(some)), some] = np.inf
    ranks = np.argpartition(distances, (0, FAR_RANK - 1), axis=1)
    return ranks[:, 0], ranks[:, FAR_RANK - 1]

"""Give every row one of its candidates at the least cost, every class as often as asked for."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from disambig._core.errors import TrainingError
from disambig._core.typing import FloatArray, IntArray, Sparse


def assign_candidates(
    rows: IntArray, columns: IntArray, costs: FloatArray, counts: IntArray
) -> IntArray:
    """Return the pair chosen for every row: an index into ``rows``, ``columns`` and ``costs``.

    Among all choices of one pair a row, first those are kept that miss the counts by the least,
    ``sum_j |n_j - counts_j|`` where n_j rows choose class j, then those of least total cost. Which
    of several equally good ones is returned depends on the order of the pairs.

    It is a transportation problem. As a linear program its corners are whole numbers, and the dual
    simplex method ends in a corner, so nothing is rounded that was not a choice already.

    Pairs are sorted by row; rows are numbered from 0 and each has a pair. Costs are finite, and
    differences below 1e-10 of the largest are not seen.
    """
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    is_open = np.diff(starts, append=len(rows)) > 1
    if not is_open.any():
        return starts
    # Rows with one candidate are settled, and use up their part of the counts.
    left = counts - np.bincount(columns[starts[~is_open]], minlength=len(counts))
    # Costs matter only within a row; the least of each becomes zero, which keeps numbers small.
    costs = costs - np.minimum.reduceat(costs, starts)[rows]
    pairs = np.flatnonzero(is_open[rows])
    open_rows = (np.cumsum(is_open) - 1)[rows[pairs]]
    shares = _solve(open_rows, columns[pairs], costs[pairs], left)
    chosen = starts.copy()
    chosen[is_open] = pairs[shares > 0.5]
    return chosen


def _solve(rows: IntArray, columns: IntArray, costs: FloatArray, counts: IntArray) -> FloatArray:
    """Return 1 for every pair that is chosen, 0 for the others."""
    n_classes = len(counts)
    # Lowering the miss by one too many and one too few takes, at worst, a chain of rows that pass
    # a unit on from class to class, none of them twice: less than n_classes times the largest cost.
    largest = costs.max()
    unit_costs = costs / largest if largest > 0 else costs
    program = linprog(
        np.concatenate([unit_costs, np.full(2 * n_classes, float(n_classes))]),
        A_eq=_constraints(rows, columns, n_classes),
        b_eq=np.concatenate([np.ones(rows[-1] + 1), counts]),
        method="highs-ds",
        # Costs are at most one; small ones would drown in the usual tolerance of 1e-7.
        options={"dual_feasibility_tolerance": 1e-10},
    )
    if program.status != 0:
        raise TrainingError(
            f"The solver HiGHS must assign {len(rows)} candidate pairs to {n_classes} classes. "
            f"Got: {program.message} Bring features to a similar size (scaling='standard')."
        )
    shares: FloatArray = program.x[: len(rows)]
    return shares


def _constraints(rows: IntArray, columns: IntArray, n_classes: int) -> Sparse:
    """Return one line for every row, then one for every class with what it lacks and exceeds."""
    n_pairs, n_rows = len(rows), rows[-1] + 1
    classes = n_rows + np.arange(n_classes)
    # Column by column: a pair counts for its row and for its class, slack for a class.
    lines = [np.column_stack([rows, n_rows + columns]).ravel(), classes, classes]
    values = [np.ones(2 * n_pairs + n_classes), -np.ones(n_classes)]
    ends = [np.arange(0, 2 * n_pairs, 2), np.arange(2 * n_pairs, 2 * (n_pairs + n_classes) + 1)]
    return sparse.csc_array(
        (np.concatenate(values), np.concatenate(lines), np.concatenate(ends)),
        shape=(n_rows + n_classes, n_pairs + 2 * n_classes),
    )

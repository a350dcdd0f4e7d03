"""Give every row one of its candidates at the least cost, every class as often as asked for."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from disambig._core.errors import TrainingError
from disambig._core.typing import FloatArray, IntArray, Sparse

__all__ = ["assign_candidates"]


def assign_candidates(
    rows: IntArray, columns: IntArray, costs: FloatArray, counts: IntArray
) -> IntArray:
    """Return the pair chosen for every row: an index into ``rows``, ``columns`` and ``costs``.

    Among all choices of one pair a row, first those are kept that miss the counts by the least,
    ``sum_j |n_j - counts_j|`` where n_j rows choose class j, then those of least total cost. Which
    of several equally good ones is returned depends on the order of the pairs.

    It is a transportation problem. As a linear program its corners are whole numbers, and the dual
    simplex method ends in a corner, so nothing is rounded that was not a choice already.

    Parameters
    ----------
    rows, columns : ndarray of int of shape (n_pairs,)
        The candidate pairs, sorted by row; rows are numbered from 0 and each has a pair.
    costs : ndarray of shape (n_pairs,)
        Cost of choosing each pair, finite.
    counts : ndarray of int of shape (n_classes,)
        How often each class should be chosen.
    """
    # Costs matter only within a row; the least of each becomes zero, which keeps numbers small.
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    costs = costs - np.minimum.reduceat(costs, starts)[rows]
    chosen = starts.copy()
    open_rows = np.flatnonzero(np.diff(starts, append=len(rows)) > 1)
    if open_rows.size == 0:
        return chosen
    is_settled = np.ones(len(starts), dtype=bool)
    is_settled[open_rows] = False
    open_pairs = np.flatnonzero(~is_settled[rows])
    left = counts - np.bincount(columns[starts[is_settled]], minlength=len(counts))
    share = _solve(
        np.searchsorted(open_rows, rows[open_pairs]), columns[open_pairs], costs[open_pairs], left
    )
    chosen[open_rows] = open_pairs[share > 0.5]
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
    )
    if program.status != 0:
        raise TrainingError(
            "The assignment of candidates was not found: the solver HiGHS should have solved a "
            f"linear program with {len(rows)} candidate pairs and {n_classes} classes. "
            f"Got: {program.message} Look for costs of very different size."
        )
    share: FloatArray = program.x[: len(rows)]
    return share


def _constraints(rows: IntArray, columns: IntArray, n_classes: int) -> Sparse:
    """Return one line for every row, then one for every class with what it lacks and exceeds."""
    pairs = np.ones(len(rows))
    each = np.arange(len(rows))
    one_a_row = sparse.csr_array((pairs, (rows, each)))
    by_class = sparse.csr_array((pairs, (columns, each)), shape=(n_classes, len(rows)))
    slack = sparse.eye_array(n_classes)
    return sparse.block_array([[one_a_row, None, None], [by_class, slack, -slack]], format="csc")

"""Many small quadratic problems over the orthant and the simplex, solved side by side."""

import numpy as np
from scipy.optimize import nnls
from sklearn.utils import gen_batches

from disambig._core.typing import BoolArray, FloatArray, IntArray
from disambig.candidates.storage import group_maxima, group_sums

# So many numbers at a time stay in the cache of a processor.
_NUMBERS_AT_A_TIME = 200_000
# On problems brought to size one: how far below zero is a violation, which pivots are rounding, and
# which slopes a minimum may have.
_TOLERANCE = 1e-13
_SMALLEST_PIVOT = 1e-13
_SLOPE_OF_MINIMUM = 1e-7
# Pivots per variable that go to the worst violation; later ones go to the first and cannot cycle.
_GREEDY_PIVOTS = 5
_MOST_PIVOTS = 50


def minimise_on_orthant(matrices: FloatArray, targets: FloatArray) -> FloatArray:
    """Minimise ``z @ matrix @ z / 2 - target @ z`` over ``z >= 0``, for every matrix and target.

    A minimum has a slope ``matrix @ z - target`` that is not negative and is zero where z is not
    zero. It is reached by principal pivots (Murty 1974): the equations for the slope are solved
    for one z after the other, always for one that violates a sign, until none does. All problems
    make their pivots together. The few that rounding leaves elsewhere are solved one by one.

    Where columns depend on each other the minimum is not unique; those found first carry the weight
    and the others are zero.

    Matrices (n_problems, size, size) are symmetric and positive semidefinite. Targets (n_problems,
    size) are in the span of their matrix, as in least squares; otherwise there is no minimum.
    """
    count, size = targets.shape
    solutions = np.zeros((count, size))
    problems_at_a_time = max(1, _NUMBERS_AT_A_TIME // (size * (size + 1) + 1))
    for batch in gen_batches(max(count, 1), problems_at_a_time):
        # Columns of length one, targets up to one: the tolerances fit all problems.
        lengths = _or_one(np.sqrt(np.einsum("nii->ni", matrices[batch])))
        scaled = matrices[batch] / (lengths[:, :, np.newaxis] * lengths[:, np.newaxis, :])
        wanted = targets[batch] / lengths
        target_size = _or_one(np.abs(wanted).max(axis=1, initial=0))[:, np.newaxis]
        wanted /= target_size
        found = _solve_by_pivots(scaled, wanted)
        for problem in np.flatnonzero(~_are_minima(scaled, wanted, found)):
            found[problem] = _solve_one(scaled[problem], wanted[problem])
        solutions[batch] = found * target_size / lengths
    return solutions


def minimise_on_simplex(matrices: FloatArray) -> FloatArray:
    """Minimise ``w @ matrix @ w`` over weights that are not negative and sum to one.

    Adding one number to all entries of a matrix adds it to the objective everywhere on the simplex.
    The sum of weights then costs something, and the minimum over ``z >= 0`` with the target 1 is
    the wanted one up to its sum. The matrices are those of ``minimise_on_orthant``.
    """
    count, size = matrices.shape[:2]
    sizes = _or_one(np.trace(matrices, axis1=1, axis2=2) / max(size, 1))
    weights = minimise_on_orthant(
        matrices / sizes[:, np.newaxis, np.newaxis] + 1, np.ones((count, size))
    )
    totals = weights.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(weights, totals, out=weights, where=totals > 0)
    return shares


def _or_one(sizes: FloatArray) -> FloatArray:
    return np.where(sizes > 0, sizes, 1.0)


def _are_minima(matrices: FloatArray, targets: FloatArray, found: FloatArray) -> BoolArray:
    slopes = (matrices @ found[:, :, np.newaxis])[:, :, 0] - targets
    allowed = _SLOPE_OF_MINIMUM * (1 + found.max(axis=1, initial=0, keepdims=True))
    wrong = (slopes < -allowed) | ((found > 0) & (np.abs(slopes) > allowed))
    minima: BoolArray = ~wrong.any(axis=1)
    return minima


def _solve_one(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """Solve one problem as non-negative least squares, with a root of its matrix."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-14 * values[-1]
    roots = np.sqrt(values[kept])
    directions = vectors[:, kept].T
    solution: FloatArray
    solution, _ = nnls(
        roots[:, np.newaxis] * directions, directions @ target / roots, maxiter=10_000
    )
    return solution


def _solve_by_pivots(matrices: FloatArray, targets: FloatArray) -> FloatArray:
    """Solve scaled problems by pivots, all at once."""
    count, size = targets.shape
    # Problems along the last axis, so that every step runs over long rows of numbers.
    tableau = np.empty((size, size + 1, count))
    tableau[:, :size] = matrices.transpose(1, 2, 0)
    tableau[:, size] = -targets.T
    solved_for = np.zeros((size, count), dtype=bool)
    open_problems = np.arange(count)
    solutions = np.zeros((count, size))
    for pivots in range(_MOST_PIVOTS * size):
        violating = _violating(tableau, solved_for)
        done = ~violating.any(axis=0)
        if done.any():
            solutions[open_problems[done]] = _values(tableau[:, :, done], solved_for[:, done])
            left = ~done
            tableau, solved_for = tableau[:, :, left], solved_for[:, left]
            violating, open_problems = violating[:, left], open_problems[left]
        if not len(open_problems):
            return solutions
        if pivots < _GREEDY_PIVOTS * size:
            chosen = np.where(violating, tableau[:, size], 0).argmin(axis=0)
        else:
            chosen = violating.argmax(axis=0)
        _pivot(tableau, chosen)
        solved_for[chosen, np.arange(len(chosen))] ^= True
    solutions[open_problems] = _values(tableau, solved_for)
    return solutions


def _violating(tableau: FloatArray, solved_for: BoolArray) -> BoolArray:
    size = len(tableau)
    below_zero: BoolArray = tableau[:, size] < -_TOLERANCE
    # A column that depends on those solved for has a slope of zero: what is seen is rounding.
    pivots = np.einsum("iin->in", tableau[:, :size])
    violating: BoolArray = below_zero & (solved_for | (pivots > _SMALLEST_PIVOT))
    return violating


def _values(tableau: FloatArray, solved_for: BoolArray) -> FloatArray:
    return np.where(solved_for, np.maximum(tableau[:, len(tableau)], 0), 0).T


def _pivot(tableau: FloatArray, chosen: IntArray) -> None:
    """Exchange the chosen variable of every problem with its slope, in place."""
    problems = np.arange(len(chosen))
    row = tableau[chosen, :, problems].T
    column = tableau[:, chosen, problems]
    pivot = row[chosen, problems]
    row /= pivot
    tableau -= column[:, np.newaxis] * row
    tableau[chosen, :, problems] = -row.T
    tableau[:, chosen, problems] = column / pivot
    tableau[chosen, chosen, problems] = 1 / pivot


def project_groups_on_simplex(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the nearest values that are not negative and sum to one in every group.

    Such values are ``max(value - threshold, 0)`` with one threshold a group. It is found by
    Michelot's rounds: take the threshold that all values left would need, drop those below it,
    until none is. That ends after at most as many rounds as the largest group has members.

    Values lie group after group, as candidates do row after row; no group is empty.
    """
    sizes = np.diff(starts, append=len(values))
    # Below the largest of its group no value is lost to rounding, and the largest always stays.
    below = values - np.repeat(group_maxima(values, starts), sizes)
    kept = np.ones(len(values), dtype=bool)
    while True:
        totals = group_sums(np.where(kept, below, 0), starts)
        thresholds = (totals - 1) / group_sums(kept.astype(np.intp), starts)
        above = below - np.repeat(thresholds, sizes)
        left = kept & (above > 0)
        if np.array_equal(left, kept):
            return np.where(kept, above, 0)
        kept = left


def project_rows_on_simplex(rows: FloatArray) -> FloatArray:
    """Return the distribution nearest to every row of an array; the order of entries is kept."""
    starts = np.arange(0, rows.size, rows.shape[1])
    return project_groups_on_simplex(rows.ravel(), starts).reshape(rows.shape)

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult, linear_sum_assignment

from disambig._core.errors import TrainingError
from disambig.solvers import transportation
from disambig.solvers.transportation import assign_candidates


def pairs_of(sets):
    rows = np.repeat(np.arange(len(sets)), [len(own) for own in sets])
    return rows, np.concatenate([np.asarray(own) for own in sets])


def chosen_classes(sets, costs, counts):
    rows, columns = pairs_of(sets)
    chosen = assign_candidates(rows, columns, np.asarray(costs, dtype=float), np.asarray(counts))
    assert rows[chosen].tolist() == list(range(len(sets)))
    return columns[chosen].tolist()


def random_sets(generator, n_rows, n_classes):
    mask = generator.random((n_rows, n_classes)) < 0.5
    mask[np.arange(n_rows), generator.integers(n_classes, size=n_rows)] = True
    return [np.flatnonzero(row).tolist() for row in mask]


def miss(classes, counts):
    return int(np.abs(np.bincount(classes, minlength=len(counts)) - counts).sum())


def test_an_assignment_by_hand():
    # Both rows prefer class 0, which may be chosen once: row 0 gives way at 2, row 1 would at 5.
    assert chosen_classes([[0, 1], [0, 1]], [1, 3, 0, 5], counts=[1, 1]) == [1, 0]


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 10_000))
def test_no_choice_misses_the_counts_by_less_or_costs_less(n_rows, n_classes, seed):
    generator = np.random.default_rng(seed)
    sets = random_sets(generator, n_rows, n_classes)
    costs = generator.normal(size=sum(map(len, sets)))
    # Counts of any sum: often they cannot be met.
    counts = generator.integers(0, n_rows + 1, size=n_classes)
    price = dict(zip(zip(*map(np.ndarray.tolist, pairs_of(sets)), strict=True), costs, strict=True))

    def judged(classes):
        return miss(classes, counts), sum(price[pair] for pair in enumerate(classes))

    best = min(judged(classes) for classes in product(*sets))
    found = judged(chosen_classes(sets, costs, counts))
    assert found == (best[0], pytest.approx(best[1]))


@pytest.mark.parametrize("seed", range(5))
def test_full_sets_cost_what_a_matching_with_repeated_columns_costs(seed):
    generator = np.random.default_rng(seed)
    counts = np.array([9, 1, 0, 6, 4])
    costs = generator.random((20, 5))
    row, repeated = linear_sum_assignment(costs[:, np.repeat(np.arange(5), counts)])
    expected = costs[row, np.repeat(np.arange(5), counts)[repeated]].sum()
    found = chosen_classes([list(range(5))] * 20, costs.ravel(), counts)
    assert np.bincount(found, minlength=5).tolist() == counts.tolist()
    assert costs[np.arange(20), found].sum() == pytest.approx(expected)


def test_equal_costs_leave_only_the_counts():
    found = chosen_classes([[0, 1, 2]] * 6 + [[1, 2]] * 4, np.ones(26), counts=[3, 2, 5])
    assert np.bincount(found).tolist() == [3, 2, 5]


def test_counts_that_cannot_be_met_are_missed_by_the_least():
    # Nobody has class 2, and class 0 is wanted more often than it is a candidate.
    found = chosen_classes([[0, 1], [0, 1], [1]], [9, 0, 9, 0, 0], counts=[3, 0, 4])
    assert found == [0, 0, 1]


@pytest.mark.parametrize("factor", [1e-9, 1, 1e9])
def test_counts_come_before_costs_along_a_chain_of_all_classes(factor):
    # Every row prefers its first class; only if all of them give way is the last class chosen.
    n_rows = 40
    sets = [[row, row + 1] for row in range(n_rows)]
    counts = [0] + [1] * n_rows
    found = chosen_classes(sets, np.tile([0.0, factor], n_rows), counts)
    assert found == list(range(1, n_rows + 1))


def test_small_differences_beside_large_costs_still_decide():
    # Row 2 makes costs of one; rows 0 and 1 share one place in class 0, worth 2e-9 or 1e-9.
    costs = [0, 2e-9, 0, 1e-9, 0, 1]
    assert chosen_classes([[0, 1]] * 3, costs, counts=[2, 1]) == [0, 1, 0]
    costs = [0, 1e-9, 0, 2e-9, 0, 1]
    assert chosen_classes([[0, 1]] * 3, costs, counts=[2, 1]) == [1, 0, 0]


def test_what_all_candidates_of_a_row_cost_in_common_does_not_matter():
    generator = np.random.default_rng(0)
    sets = random_sets(generator, 30, 4)
    rows, columns = pairs_of(sets)
    costs = generator.random(len(rows))
    counts = np.bincount([own[0] for own in sets], minlength=4)
    common = 1e6 * generator.normal(size=30)
    np.testing.assert_array_equal(
        assign_candidates(rows, columns, costs + common[rows], counts),
        assign_candidates(rows, columns, costs, counts),
    )


def test_rows_with_one_candidate_use_up_their_class():
    # Class 0 may be chosen twice and the first two rows have nothing else.
    assert chosen_classes([[0], [0], [0, 1]], [7, 7, 0, 5], counts=[2, 1]) == [0, 0, 1]


def test_rows_with_one_candidate_only_have_it_whatever_the_counts():
    assert chosen_classes([[2], [0], [2]], [1, 2, 3], counts=[0, 3, 0]) == [2, 0, 2]


def test_a_single_class_goes_to_every_row():
    assert chosen_classes([[0], [0]], [1, 2], counts=[2]) == [0, 0]


def test_a_solver_that_gives_up_is_reported_with_its_words(monkeypatch):
    failed = OptimizeResult(status=4, message="Numerical difficulties.", x=None)
    monkeypatch.setattr(transportation, "linprog", lambda *_, **__: failed)
    message = r"must assign 4 candidate pairs to 2 classes\. Got: Numerical difficulties\. Bring"
    with pytest.raises(TrainingError, match=message):
        chosen_classes([[0, 1], [1], [0, 1]], [1, 3, 0, 0, 5], counts=[1, 1])


def test_arguments_are_left_as_they_were():
    rows, columns = pairs_of([[0, 1], [0, 1]])
    arguments = rows, columns, np.array([1.0, 2.0, 3.0, 5.0]), np.array([1, 1])
    copies = [argument.copy() for argument in arguments]
    assign_candidates(*arguments)
    for argument, copy in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(argument, copy)

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from disambig.engine.candidate_groups import CandidateTable
from disambig.engine.problem import Problem
from engine.small_problems import make_problem

CPU = torch.device("cpu")


def problem_of(prior):
    prior = sparse.csr_array(np.asarray(prior, dtype=float))
    return Problem(np.zeros((prior.shape[0], 1)), prior, 0)


def table_of(*problems, rows_in_batch=4, dtype=torch.float64):
    return CandidateTable(problems, rows_in_batch, dtype, CPU)


def test_the_candidates_of_a_batch_by_hand():
    table = table_of(problem_of([[0.5, 0, 0.5], [0, 1, 0], [0.2, 0.3, 0.5]]))
    groups = table.groups(torch.tensor([[2, 1, 3, 0]]))
    assert groups.inside[0, 0].tolist() == [
        [True, True, True],
        [True, False, False],
        [False, False, False],
        [True, True, False],
    ]
    assert groups.prior[0, 0].tolist() == [[0.2, 0.3, 0.5], [1, 0, 0], [0, 0, 0], [0.5, 0.5, 0]]
    columns = groups.columns[0, 0].tolist()
    assert columns[0] == [0, 1, 2]
    assert columns[1][:1] == [1]
    assert columns[3][:2] == [0, 2]
    assert groups.most_candidates == 6


@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 9))
def test_the_candidates_of_a_batch_agree_with_a_loop(seed, n_problems, n_rows):
    problems = [make_problem(9, seed=seed + number) for number in range(n_problems)]
    table = table_of(*problems, rows_in_batch=n_rows)
    generator = np.random.default_rng(seed)
    rows = generator.integers(9 * n_problems + 1, size=(n_problems, n_rows))
    groups = table.groups(torch.as_tensor(rows))
    widest = max(np.diff(problem.prior.indptr).max() for problem in problems)
    assert groups.columns.shape == (n_problems, 1, n_rows, widest)
    for problem, of_problem in enumerate(rows):
        for place, row in enumerate(of_problem):
            columns, prior = [], []
            if row < 9 * n_problems:
                csr = problems[row // 9].prior
                found = slice(csr.indptr[row % 9], csr.indptr[row % 9 + 1])
                columns, prior = csr.indices[found].tolist(), csr.data[found].tolist()
            n_candidates = len(columns)
            inside = groups.inside[problem, 0, place].tolist()
            assert inside == [True] * n_candidates + [False] * (widest - n_candidates)
            assert groups.columns[problem, 0, place, :n_candidates].tolist() == columns
            assert groups.prior[problem, 0, place].tolist() == prior + [0] * (widest - n_candidates)


def test_every_column_is_a_class_even_where_a_place_is_not_used():
    problem = make_problem(30, n_classes=7)
    columns = table_of(problem).groups(torch.arange(31).unsqueeze(0)).columns
    assert columns.min() >= 0
    assert columns.max() < 7


def test_rows_with_all_classes_use_every_place():
    table = table_of(problem_of([[0.25] * 4, [0.1, 0.2, 0.3, 0.4]]))
    groups = table.groups(torch.tensor([[1, 0]]))
    assert groups.inside.all()
    assert groups.columns[0, 0].tolist() == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert groups.prior[0, 0].tolist() == [[0.1, 0.2, 0.3, 0.4], [0.25] * 4]


def test_sets_of_one_need_one_place():
    groups = table_of(problem_of(np.eye(3))).groups(torch.tensor([[2, 0, 1]]))
    assert groups.columns[0, 0].tolist() == [[2], [0], [1]]


def test_the_row_after_the_last_is_empty():
    table = table_of(make_problem(5), make_problem(6, seed=1))
    groups = table.groups(torch.full((2, 3), 11))
    assert not groups.inside.any()
    assert (groups.prior == 0).all()


def test_confidences_that_are_zero_are_candidates_all_the_same():
    prior = sparse.csr_array((np.array([0.0, 1.0, 1.0]), np.array([0, 2, 1]), np.array([0, 2, 3])))
    groups = table_of(Problem(np.zeros((2, 1)), prior, 0)).groups(torch.tensor([[0, 1]]))
    assert groups.inside[0, 0].tolist() == [[True, True], [True, False]]
    assert groups.prior[0, 0].tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(("rows_in_batch", "expected"), [(1, 3), (2, 5), (3, 6), (9, 6)])
def test_no_batch_has_more_candidates_than_the_largest_sets_of_one_problem(rows_in_batch, expected):
    first = problem_of([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
    second = problem_of([[1, 0, 0], [0, 1, 0]])
    table = table_of(first, second, rows_in_batch=rows_in_batch)
    assert table.groups(torch.tensor([[0], [3]])).most_candidates == expected


@given(st.integers(0, 1000), st.integers(1, 12))
def test_no_batch_drawn_at_random_has_more_candidates_than_it_says(seed, n_rows):
    table = table_of(make_problem(12, seed=seed), rows_in_batch=n_rows)
    rows = np.random.default_rng(seed).permutation(12)[:n_rows]
    groups = table.groups(torch.as_tensor(rows).unsqueeze(0))
    assert groups.inside.sum() <= groups.most_candidates


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_confidences_come_in_the_type_asked_for(dtype):
    groups = table_of(make_problem(5), dtype=dtype).groups(torch.tensor([[0]]))
    assert groups.prior.dtype == dtype
    assert groups.columns.dtype == torch.int64
    assert groups.inside.dtype == torch.bool


def test_a_batch_can_be_changed_without_changing_the_table():
    table = table_of(make_problem(5))
    rows = torch.tensor([[0, 1]])
    before = table.groups(rows)
    for value in table.groups(rows)[:3]:
        value.zero_()
    for value, again in zip(before[:3], table.groups(rows)[:3], strict=True):
        assert torch.equal(value, again)

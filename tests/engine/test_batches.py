import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from disambig.engine.batches import Batches, CandidateTable, steps_per_epoch
from disambig.engine.row_tables import RowMemory
from disambig.engine.rule import RowState
from engine.small_problems import make_problem

CPU = torch.device("cpu")
row_counts = st.integers(2, 120)
batch_sizes = st.integers(1, 40)


def counts_of(batches):
    """Real rows of every batch: (steps, problems)."""
    return batches.real.sum(-1)


def batches_of(row_counts, batch_size, order_seeds=None):
    seeds = range(len(row_counts)) if order_seeds is None else order_seeds
    return Batches(row_counts, seeds, batch_size, CPU)


def real_rows(batches, epoch, problem):
    """The rows of every batch of one problem, as lists."""
    rows = batches.rows_of(epoch)[:, problem]
    return [row[real].tolist() for row, real in zip(rows, batches.real[:, problem], strict=True)]


def order_of(batches, epoch, problem=0):
    return [row for batch in real_rows(batches, epoch, problem) for row in batch]


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "expected"),
    [(1, 10, 1), (2, 10, 1), (10, 10, 1), (11, 10, 2), (100, 10, 10), (101, 10, 11), (7, 3, 3)],
)
def test_there_are_as_many_batches_as_rows_fill(n_rows, batch_size, expected):
    assert steps_per_epoch(n_rows, batch_size) == expected


@given(row_counts, batch_sizes)
@example(11, 10)
@example(3, 2)
def test_no_row_is_left_alone_in_a_batch(n_rows, batch_size):
    batches = batches_of([n_rows], batch_size)
    assert counts_of(batches).min() >= 2


@given(row_counts, st.integers(3, 40))
def test_no_batch_is_larger_than_allowed_where_that_leaves_no_row_alone(n_rows, batch_size):
    batches = batches_of([n_rows], batch_size)
    assert batches.n_steps == -(-n_rows // batch_size)
    assert counts_of(batches).max() <= batch_size


@pytest.mark.parametrize("batch_size", [1, 2])
@given(n_rows=row_counts)
def test_batches_of_one_and_of_two_are_pairs_but_for_an_odd_row(batch_size, n_rows):
    counts = counts_of(batches_of([n_rows], batch_size)).flatten().tolist()
    assert sorted(counts) == [2] * (n_rows // 2 - n_rows % 2) + [3] * (n_rows % 2)


def test_a_single_row_is_a_batch():
    batches = batches_of([1], 10)
    assert batches.rows_of(1).tolist() == [[[0]]]
    assert counts_of(batches).tolist() == [[1]]


@given(row_counts, batch_sizes, st.integers(1, 5))
def test_every_row_comes_exactly_once_an_epoch(n_rows, batch_size, epoch):
    order = order_of(batches_of([n_rows], batch_size), epoch)
    assert sorted(order) == list(range(n_rows))


@given(row_counts, batch_sizes)
def test_batches_differ_by_one_row_at_most(n_rows, batch_size):
    counts = counts_of(batches_of([n_rows], batch_size))
    assert counts.max() - counts.min() <= 1


@given(st.data(), st.integers(2, 20), st.integers(1, 5), st.integers(1, 4))
def test_problems_side_by_side_get_each_its_own_rows(data, batch_size, n_steps, n_problems):
    of_as_many_steps = st.integers(2, n_steps * batch_size).filter(
        lambda n_rows: steps_per_epoch(n_rows, batch_size) == n_steps
    )
    counts = data.draw(st.lists(of_as_many_steps, min_size=n_problems, max_size=n_problems))
    batches = batches_of(counts, batch_size)
    starts = np.cumsum(counts) - counts
    for problem, (start, count) in enumerate(zip(starts, counts, strict=True)):
        assert sorted(order_of(batches, 1, problem)) == list(range(start, start + count))


def test_batches_are_filled_up_with_the_row_after_the_last():
    batches = batches_of([10, 7, 8], 5)
    assert batches.filler_row == 25
    assert batches.n_steps == 2
    rows = batches.rows_of(3)
    assert rows.shape == batches.real.shape == (2, 3, 5)
    assert counts_of(batches).tolist() == [[5, 3, 4], [5, 4, 4]]
    for step in range(2):
        for problem in range(3):
            count = int(counts_of(batches)[step, problem])
            assert batches.real[step, problem].tolist() == [True] * count + [False] * (5 - count)
            assert (rows[step, problem, :count] < 25).all()
            assert (rows[step, problem, count:] == 25).all()


def test_the_order_is_another_every_epoch():
    batches = batches_of([50], 10)
    assert len({tuple(order_of(batches, epoch)) for epoch in range(1, 21)}) == 20


def test_the_order_is_another_for_every_seed():
    orders = {tuple(order_of(batches_of([50], 10, [seed]), 1)) for seed in range(20)}
    assert len(orders) == 20


def test_the_order_follows_from_the_seed_and_the_epoch_alone():
    first, second = batches_of([50], 10, [7]), batches_of([50], 10, [7])
    for epoch in (3, 1, 2):
        first.rows_of(epoch)
    assert torch.equal(first.rows_of(4), second.rows_of(4))
    assert torch.equal(first.rows_of(4), first.rows_of(4))


def test_the_order_does_not_depend_on_the_problems_beside_it():
    alone = order_of(batches_of([41], 10, [7]), 2)
    together = batches_of([50, 41, 45], 10, [1, 7, 2])
    assert [row - 50 for row in order_of(together, 2, problem=1)] == alone


def test_every_row_comes_everywhere_in_the_order_equally_often():
    batches = batches_of([10], 10)
    places = np.zeros((10, 10))
    for epoch in range(1, 2001):
        places[order_of(batches, epoch), range(10)] += 1
    # 2000 draws with a chance of a tenth: 200, give or take 13.4.
    assert np.abs(places - 200).max() < 5 * 13.4


def test_orders_of_neighbouring_epochs_and_seeds_have_nothing_in_common():
    orders = [
        np.argsort(order_of(batches_of([2000], 2000, [seed]), epoch))
        for seed in range(3)
        for epoch in range(1, 4)
    ]
    correlations = np.corrcoef(orders) - np.eye(9)
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


def test_problems_with_different_numbers_of_batches_are_refused():
    message = r"All problems need the same number of batches. Got \[4, 5\]"
    with pytest.raises(ValueError, match=message):
        batches_of([50, 40], 10)


def test_the_global_generator_is_neither_read_nor_changed():
    before = torch.get_rng_state()
    batches_of([50], 10).rows_of(1)
    assert torch.equal(torch.get_rng_state(), before)


@given(row_counts, batch_sizes, st.integers(1, 5))
def test_batches_of_several_processes_end_with_filler_and_have_the_same_rows(n, size, multiple):
    alone = Batches([n], [7], size, CPU)
    shared = Batches([n], [7], size, CPU, multiple_of=multiple)
    assert shared.real.shape[2] % multiple == 0
    assert shared.real.shape[2] - alone.real.shape[2] < multiple
    assert real_rows(shared, 3, 0) == real_rows(alone, 3, 0)
    assert (shared.rows_of(3)[~shared.real] == n).all()


def test_state_of_other_rows_is_set_to_zero_and_nothing_else():
    problem = make_problem(5)
    table = CandidateTable([problem], 2, 3, torch.float32, RowMemory(CPU))
    of_candidates, of_rows = (
        table.new_state(RowState(initial=2)),
        table.new_state(RowState(width=3)),
    )
    of_rows += 1
    sizes = np.diff(problem.prior.indptr)
    for state in (of_candidates, of_rows):
        table.keep_only(state, torch.tensor([[1, 4]]))
    kept = np.repeat(np.isin(np.arange(5), [1, 4]), sizes)
    np.testing.assert_array_equal(of_candidates[:, : len(kept)], np.tile(2.0 * kept, (2, 1)))
    assert of_rows.sum((0, 2)).tolist() == [0, 6, 0, 0, 6, 0]

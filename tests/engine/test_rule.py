import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from disambig.engine.batches import Batches, CandidateTable
from disambig.engine.row_tables import RowMemory
from disambig.engine.rule import RowState, Rule, Targets, TrainingData
from disambig.engine.training import Training
from engine.plain_network import plain_copies
from engine.small_problems import (
    BelievePrior,
    RememberProbabilities,
    SpreadOverClasses,
    make_problem,
    networks_of,
    numbers_of,
    settings,
    trained,
)

CPU = torch.device("cpu")


# ---- the candidates of a batch


def problem_of(prior):
    prior = sparse.csr_array(np.asarray(prior, dtype=float))
    return TrainingData(np.zeros((prior.shape[0], 1)), prior, 0)


def batch_of(table, rows):
    """The candidates of a batch; rows as (problems, rows)."""
    return table.of_steps(rows.unsqueeze(0))[0]


def table_of(*problems, rows_in_batch=4, dtype=torch.float64):
    return CandidateTable(problems, 2, rows_in_batch, dtype, RowMemory(CPU))


def test_the_candidates_of_a_batch_by_hand():
    table = table_of(problem_of([[0.5, 0, 0.5], [0, 1, 0], [0.2, 0.3, 0.5]]))
    groups = batch_of(table, torch.tensor([[2, 1, 3, 0]]))
    assert groups.mask[0, 0].tolist() == [
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
    assert table.most_candidates == 6


@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 9))
def test_the_candidates_of_a_batch_agree_with_a_loop(seed, n_problems, n_rows):
    problems = [make_problem(9, seed=seed + number) for number in range(n_problems)]
    table = table_of(*problems, rows_in_batch=n_rows)
    generator = np.random.default_rng(seed)
    rows = generator.integers(9 * n_problems + 1, size=(n_problems, n_rows))
    groups = batch_of(table, torch.as_tensor(rows))
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
            mask = groups.mask[problem, 0, place].tolist()
            assert mask == [True] * n_candidates + [False] * (widest - n_candidates)
            assert groups.columns[problem, 0, place, :n_candidates].tolist() == columns
            assert groups.prior[problem, 0, place].tolist() == prior + [0] * (widest - n_candidates)


def test_every_column_is_a_class_even_where_a_slot_is_not_used():
    problem = make_problem(30, n_classes=7)
    columns = batch_of(table_of(problem), torch.arange(31).unsqueeze(0)).columns
    assert columns.min() >= 0
    assert columns.max() < 7


def test_rows_with_all_classes_use_every_slot():
    table = table_of(problem_of([[0.25] * 4, [0.1, 0.2, 0.3, 0.4]]))
    groups = batch_of(table, torch.tensor([[1, 0]]))
    assert groups.mask.all()
    assert groups.columns[0, 0].tolist() == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert groups.prior[0, 0].tolist() == [[0.1, 0.2, 0.3, 0.4], [0.25] * 4]


def test_sets_of_one_need_one_slot():
    groups = batch_of(table_of(problem_of(np.eye(3))), torch.tensor([[2, 0, 1]]))
    assert groups.columns[0, 0].tolist() == [[2], [0], [1]]


def test_the_row_after_the_last_is_empty():
    table = table_of(make_problem(5), make_problem(6, seed=1))
    groups = batch_of(table, torch.full((2, 3), 11))
    assert not groups.mask.any()
    assert (groups.prior == 0).all()


def test_confidences_that_are_zero_are_candidates_all_the_same():
    prior = sparse.csr_array((np.array([0.0, 1.0, 1.0]), np.array([0, 2, 1]), np.array([0, 2, 3])))
    table = table_of(TrainingData(np.zeros((2, 1)), prior, 0))
    groups = batch_of(table, torch.tensor([[0, 1]]))
    assert groups.mask[0, 0].tolist() == [[True, True], [True, False]]
    assert groups.prior[0, 0].tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(("rows_in_batch", "expected"), [(1, 3), (2, 5), (3, 6), (9, 6)])
def test_no_batch_has_more_candidates_than_the_largest_sets_of_one_problem(rows_in_batch, expected):
    first = problem_of([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
    second = problem_of([[1, 0, 0], [0, 1, 0]])
    table = table_of(first, second, rows_in_batch=rows_in_batch)
    assert table.most_candidates == expected


@given(st.integers(0, 1000), st.integers(1, 12))
def test_no_batch_drawn_at_random_has_more_candidates_than_it_says(seed, n_rows):
    table = table_of(make_problem(12, seed=seed), rows_in_batch=n_rows)
    rows = np.random.default_rng(seed).permutation(12)[:n_rows]
    groups = batch_of(table, torch.as_tensor(rows).unsqueeze(0))
    assert groups.mask.sum() <= table.most_candidates


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_confidences_come_in_the_type_asked_for(dtype):
    groups = batch_of(table_of(make_problem(5), dtype=dtype), torch.tensor([[0]]))
    assert groups.prior.dtype == dtype
    assert groups.columns.dtype == torch.int64
    assert groups.mask.dtype == torch.bool


def test_a_batch_can_be_changed_without_changing_the_table():
    table = table_of(make_problem(5))
    rows = torch.tensor([[0, 1]])
    before = batch_of(table, rows)
    for value in batch_of(table, rows)[1:4]:
        value.zero_()
    for value, again in zip(before[1:4], batch_of(table, rows)[1:4], strict=True):
        assert torch.equal(value, again)


# ---- tables of state for every row


@given(st.integers(0, 1000), st.sampled_from([None, 3]))
def test_what_is_written_of_a_batch_is_read_again_and_nothing_else_changes(seed, width):
    problems = [make_problem(9, seed=seed), make_problem(7, seed=seed + 1)]
    table = table_of(*problems)
    state = table.new_state(RowState(width, initial=-1.0))
    generator = np.random.default_rng(seed)
    rows = np.stack([generator.permutation(9)[:4], 9 + generator.permutation(7)[:4]])
    rows[1, -1] = 16
    candidates = batch_of(table, torch.as_tensor(rows))
    real = candidates.mask if width is None else candidates.mask.any(-1, keepdim=True)
    values = torch.as_tensor(generator.random((2, 2, 4, width or candidates.mask.shape[-1])))
    candidates.write(state, values)
    torch.testing.assert_close(candidates.read(state), values * real)
    others = batch_of(table, torch.as_tensor([sorted({*range(16)} - {*rows.flatten()})]))
    used = others.mask if width is None else torch.ones(1, dtype=torch.bool)
    assert (others.read(state)[used.expand_as(others.read(state))] == -1).all()


def test_a_table_begins_with_the_prior_or_a_number():
    problem = problem_of([[0.5, 0, 0.5], [0, 1, 0]])
    table = table_of(problem)
    batch = batch_of(table, torch.tensor([[1, 0]]))
    begun = batch.read(table.new_state(RowState()))
    assert begun.tolist() == [[[[1, 0], [0.5, 0.5]]] * 2]
    assert batch.read(table.new_state(RowState(initial=2.0))).tolist() == [[[[2, 0], [2, 2]]] * 2]
    assert batch.read(table.new_state(RowState(width=1))).tolist() == [[[[0], [0]]] * 2]


def test_memory_for_candidates_grows_with_their_number_and_not_with_rows_times_classes():
    mask = np.eye(50, 1000)
    mask[0] = 1
    problem = problem_of(mask / mask.sum(axis=1, keepdims=True))
    table = table_of(problem).new_state(RowState())
    assert table.numel() <= 2 * (problem.prior.nnz + 1000)


# ---- every ability, against a plain loop


def plain_loop(networks, problem, loss_of_rows, epochs=4, batch_size=7, learning_rate=0.02):
    """Train copies of networks by autograd; ``loss_of_rows(network, rows, log_probabilities)``."""
    features = torch.as_tensor(problem.features)
    copies = plain_copies(networks, batch_norm=True, dropout=0.0)
    batches = Batches([len(features)], [problem.order_seed], batch_size, CPU)
    optimizer = torch.optim.Adam(
        [value for copy in copies for value in copy.parameters.values()], learning_rate
    )
    means = []
    for epoch in range(1, epochs + 1):
        losses = []
        for rows, real in zip(batches.rows_of(epoch)[:, 0], batches.real[:, 0], strict=True):
            optimizer.zero_grad()
            for number, copy in enumerate(copies):
                logits = copy.logits(features[rows[real]], step=0)
                loss = loss_of_rows(number, rows[real], logits.log_softmax(1))
                losses += loss.tolist()
                loss.mean().backward()
            optimizer.step()
        means.append(np.mean(losses))
    return copies, means


def assert_agrees(rule, loss_of_rows, problem):
    networks = networks_of(3, 4, dropout=0.0)
    copies, losses = plain_loop(networks, problem, loss_of_rows)
    training = trained(networks, [problem], rule, epochs=4, batch_size=7, learning_rate=0.02)
    for name, value in networks.named_parameters():
        for found, copy in zip(value, copies, strict=True):
            torch.testing.assert_close(found, copy.parameters[name], rtol=1e-9, atol=1e-9, msg=name)
    np.testing.assert_allclose(training.histories[0]["loss"], losses, rtol=1e-9)
    return training


def test_state_of_rows_and_weights_of_rows_agree_with_a_plain_loop():
    problem = make_problem(20)
    mask = torch.as_tensor(problem.prior.toarray() > 0)
    said = torch.as_tensor(problem.prior.toarray()).repeat(2, 1, 1)
    visits = torch.ones(2, 20, dtype=torch.float64)

    def loss_of_rows(network, rows, log_probabilities):
        losses = -(said[network, rows] * log_probabilities).sum(1) / visits[network, rows]
        inside = log_probabilities.detach().exp() * mask[rows]
        said[network, rows] = inside / inside.sum(1, keepdim=True)
        visits[network, rows] += 1
        return losses

    training = assert_agrees(RememberProbabilities(), loss_of_rows, problem)
    rows = training.state()["rows.visits"]
    assert (rows[:, :20] == 5).all()


def test_targets_over_all_classes_weights_and_measures_agree_with_a_plain_loop():
    problem = make_problem(20)
    prior = torch.as_tensor(problem.prior.toarray())

    def loss_of_rows(network, rows, log_probabilities):
        weights = log_probabilities.detach().amax(1).exp()
        return -((prior[rows] + 0.1) * log_probabilities).sum(1) * weights

    training = assert_agrees(SpreadOverClasses(), loss_of_rows, problem)
    assert (training.histories[0]["sure"] > 0.2).all()


class CandidateMass(Rule):
    """Minus the logarithm of what all candidates have together, a loss of its own."""

    def targets(self, batch):
        losses = -(-batch.losses).logsumexp(-1)
        return Targets(
            slots=batch.candidate_probabilities(),
            losses=losses.masked_fill(~batch.mask.any(-1), 0),
        )


def test_a_rule_may_name_another_loss_with_the_same_gradient():
    problem = make_problem(20)
    mask = torch.as_tensor(problem.prior.toarray() > 0)

    def loss_of_rows(network, rows, log_probabilities):
        return -log_probabilities.masked_fill(~mask[rows], -torch.inf).logsumexp(1)

    assert_agrees(CandidateMass(), loss_of_rows, problem)


@pytest.mark.parametrize("rule", [RememberProbabilities(), SpreadOverClasses(), CandidateMass()])
def test_problems_side_by_side_learn_what_each_learns_alone(rule):
    problems = [make_problem(20, seed=1), make_problem(19, seed=2)]
    together = trained(networks_of(1, 2, 3, 4), problems, rule)
    for number, problem in enumerate(problems):
        alone = networks_of(*(1, 2) if number == 0 else (3, 4))
        trained(alone, [problem], rule)
        for name, value in alone.named_parameters():
            found = together.networks.get_parameter(name)[2 * number : 2 * number + 2]
            torch.testing.assert_close(found, value, rtol=1e-9, atol=1e-9)


def test_a_training_with_state_of_rows_is_taken_up_where_it_was():
    problem = make_problem(20)
    whole = trained(networks_of(1, 2), [problem], RememberProbabilities(), epochs=5)
    half = trained(networks_of(1, 2), [problem], RememberProbabilities(), epochs=2)
    resumed = Training(networks_of(1, 2), [problem], RememberProbabilities(), settings(epochs=5))
    resumed.resume(numbers_of(half), half.histories)
    resumed.run()
    for name, value in whole.state().items():
        assert torch.equal(resumed.state()[name], value), name


@pytest.mark.parametrize(
    "fields", [(), ("losses",), ("slots", "classes")], ids=["neither", "only losses", "both"]
)
def test_targets_are_over_slots_or_over_classes(fields):
    class Confused(BelievePrior):
        def targets(self, batch):
            return Targets(**dict.fromkeys(fields, batch.losses))

    with pytest.raises(ValueError, match="either 'slots' or 'classes'"):
        trained(networks_of(1), [make_problem()], Confused())


@pytest.mark.parametrize("kept", [(), ("confidences", "more")])
def test_targets_carry_the_state_that_the_rule_declares(kept):
    class Forgetful(BelievePrior):
        def row_state(self):
            return {"confidences": RowState()}

        def targets(self, batch):
            return super().targets(batch)._replace(state=dict.fromkeys(kept, batch.prior))

    with pytest.raises(ValueError, match=r"state that row_state names: \['confidences'\]. Got"):
        trained(networks_of(1), [make_problem()], Forgetful())


def test_a_rule_without_targets_cannot_be_made():
    with pytest.raises(TypeError, match="targets"):
        Rule()

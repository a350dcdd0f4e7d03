import pytest
import torch

from disambig.engine.batches import CandidateTable
from disambig.engine.loss import gradient_of_logits, log_likelihood, seen_in, smallest
from disambig.engine.row_tables import RowMemory
from disambig.engine.rule import Targets
from engine.plain_network import normal
from engine.small_problems import make_problem


def batch():
    """Logits of two problems, three networks each, and the sets; the last rows only fill up."""
    problems = [make_problem(6, seed=1), make_problem(5, seed=2)]
    table = CandidateTable(problems, 3, 6, torch.float64, RowMemory(torch.device("cpu")))
    rows = torch.tensor([[3, 0, 5, 1, 2, 4], [6, 8, 7, 10, 9, 11]])
    (candidates,) = table.of_steps(rows.unsqueeze(0))
    return normal(2, 3, 6, 5), candidates


def targets_over_slots(candidates):
    weights = normal(2, 3, *candidates.mask.shape[2:], seed=3).abs() + 0.1
    weights *= candidates.mask
    return Targets(slots=weights / weights.sum(-1, keepdim=True).clamp(min=0.1))


def targets_over_classes(candidates):
    return Targets(classes=normal(2, 3, 6, 5, seed=3).abs())


def test_what_is_seen_is_what_a_loop_over_rows_and_candidates_sees():
    logits, candidates = batch()
    seen = seen_in(logits, candidates)
    for problem, network, row in torch.cartesian_prod(*(torch.arange(n) for n in (2, 3, 6))):
        said = logits[problem, network, row].log_softmax(0)
        assert seen.predicted[problem, network, row] == said.argmax()
        for slot, used in enumerate(candidates.mask[problem, 0, row]):
            at = (problem, network, row, slot)
            column = candidates.columns[problem, 0, row, slot]
            loss = -said[column] if used else torch.tensor(torch.inf, dtype=torch.float64)
            torch.testing.assert_close(seen.losses[at], loss)
            assert seen.is_predicted[at] == (used & (column == said.argmax()))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make_targets", [targets_over_slots, targets_over_classes])
def test_the_gradient_is_that_of_the_likelihood_by_autograd(make_targets, weighted):
    logits, candidates = batch()
    targets = make_targets(candidates)
    if weighted:
        targets = targets._replace(row_weights=normal(2, 3, 6, seed=4).abs())
    is_real = candidates.mask.any(-1)
    logits.requires_grad_()
    seen = seen_in(logits, candidates)
    (-log_likelihood(targets, seen) * is_real).sum().backward()
    found = gradient_of_logits(seen.log_probabilities.detach(), targets, candidates.columns)
    torch.testing.assert_close(found * is_real.unsqueeze(-1), logits.grad)


def test_the_loss_of_a_row_may_be_another_one():
    logits, candidates = batch()
    losses, weights = normal(2, 3, 6, seed=1), normal(2, 3, 6, seed=2)
    targets = targets_over_classes(candidates)._replace(losses=losses, row_weights=weights)
    found = log_likelihood(targets, seen_in(logits, candidates))
    torch.testing.assert_close(found, -losses * weights)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_smallest_losses_come_in_ascending_order(dtype):
    losses = torch.tensor([[3.0, torch.inf, 1.0, 2.0, 1.0], [0.5, 4.0, torch.inf, 0.0, 0.25]])
    found = smallest(losses.to(dtype), 3)
    assert found.dtype == dtype
    assert found.tolist() == [[1, 1, 2], [0, 0.25, 0.5]]


def test_losses_are_left_as_they_are():
    losses = torch.tensor([2.0, 1.0, 3.0])
    smallest(losses, 2)
    assert losses.tolist() == [2, 1, 3]

"""Weights of rows and classes multiply the losses of rows and candidates."""

import numpy as np
import pytest
import torch
from scipy import sparse

from disambig.engine.batches import CandidateTable
from disambig.engine.loss import LossWeights, gradient_of_logits, log_likelihood, seen_in
from disambig.engine.row_tables import RowMemory
from disambig.engine.rule import Targets, TrainingData

CPU = torch.device("cpu")
N_NETWORKS, N_CLASSES = 2, 4


def problem(row_weights=None, class_weights=None):
    prior = np.array([[0.5, 0.5, 0, 0], [0, 0.2, 0.3, 0.5], [0, 0, 0, 1.0]])
    return TrainingData(
        np.zeros((3, 1)),
        sparse.csr_array(prior),
        0,
        row_weights=row_weights,
        class_weights=class_weights,
    )


def batch_of(problems):
    table = CandidateTable(problems, N_NETWORKS, 4, torch.float64, RowMemory(CPU))
    # Three rows of each problem, and one that fills up the batch.
    filler = 3 * len(problems)
    rows = torch.tensor([[[3 * n + 2, 3 * n, 3 * n + 1, filler] for n in range(len(problems))]])
    return table.of_steps(rows)[0]


ROWS = [np.array([2.0, 0.5, 0.0]), np.array([1.0, 3.0, 7.0])]
CLASSES = [np.array([1.0, 2.0, 0.0, 5.0]), np.array([0.5, 1.0, 1.0, 3.0])]


@pytest.mark.parametrize("over", ["slots", "classes"])
@pytest.mark.parametrize("given", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("of_rule", [False, True])
def test_losses_and_gradients_are_those_of_a_weighted_sum(over, given, of_rule):
    problems = [
        problem(ROWS[n] if given[0] else None, CLASSES[n] if given[1] else None) for n in range(2)
    ]
    candidates = batch_of(problems)
    generator = torch.Generator().manual_seed(0)
    shape = (2, N_NETWORKS, 4, N_CLASSES)
    logits = torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
    slots = torch.rand(2, N_NETWORKS, 4, 3, generator=generator, dtype=torch.float64)
    slots = slots * candidates.mask
    slots = torch.nan_to_num(slots / slots.sum(-1, keepdim=True))
    own = torch.rand(shape[:3], generator=generator, dtype=torch.float64) if of_rule else None
    over_classes = torch.zeros(shape, dtype=torch.float64)
    over_classes.scatter_add_(-1, candidates.columns.expand(slots.shape), slots)
    targets = Targets(
        slots=slots if over == "slots" else None,
        classes=over_classes if over == "classes" else None,
        row_weights=own,
    )
    weights = LossWeights.of(problems, torch.float64, CPU)
    weighted = weights.apply(targets, candidates)
    weighted.check([])

    expected = torch.zeros(shape[:3], dtype=torch.float64)
    log_p = torch.log_softmax(logits, -1)
    for p in range(2):
        for row, number in enumerate((2, 0, 1)):
            of_row = ROWS[p][number] if given[0] else 1
            for c in range(N_CLASSES):
                of_class = CLASSES[p][c] if given[1] else 1
                expected[p, :, row] += (
                    of_row * of_class * over_classes[p, :, row, c] * log_p[p, :, row, c]
                )
    if own is not None:
        expected = expected * own
    seen = seen_in(logits.detach(), candidates)
    found = log_likelihood(weighted, seen)
    torch.testing.assert_close(found[:, :, :3], expected.detach()[:, :, :3])
    (by_autograd,) = torch.autograd.grad(-expected.sum(), logits)
    by_hand = gradient_of_logits(seen.log_probabilities, weighted, candidates.columns)
    torch.testing.assert_close(by_hand[:, :, :3], by_autograd[:, :, :3])
    assert torch.isfinite(by_hand).all(), "a row that fills up a batch must be finite too"


def test_a_loss_of_another_name_is_not_kept_where_classes_are_weighted():
    problems = [problem(class_weights=CLASSES[0])]
    targets = Targets(slots=torch.zeros(1, 1, 4, 3), losses=torch.ones(1, 1, 4))
    weights = LossWeights.of(problems, torch.float32, CPU)
    assert weights.apply(targets, batch_of(problems)).losses is None


def test_without_weights_there_is_nothing_to_apply():
    assert LossWeights.of([problem(), problem()], torch.float32, CPU) is None


def test_problems_with_and_without_weights_do_not_mix():
    with pytest.raises(ValueError, match="1 of 2 with weights. Train them apart"):
        LossWeights.of([problem(), problem(ROWS[0])], torch.float32, CPU)

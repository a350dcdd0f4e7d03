"""What is prepared for several steps at once is what each would get alone."""

import pytest
import torch

from disambig.engine import prepared
from disambig.engine.batches import Batches, CandidateTable
from disambig.engine.fast.random import SwapNoise
from disambig.engine.fast.step import Clock, RowsInBatch
from disambig.engine.module_stack import ModuleStack
from disambig.engine.prepared import Preparation
from disambig.engine.row_tables import FeaturesInMemory, RowMemory
from engine.plain_network import make_stack
from engine.small_problems import dropping_module, make_problem

CPU = torch.device("cpu")
SEEDS = (1, 2, 3, 4)
BATCH_SIZE, N_STEPS, TOTAL = 7, 5, 30


def stacks():
    """Every kind of stack, with its number of features."""
    return {
        "no batch norm": (make_stack(seeds=SEEDS), 4),
        "few features": (make_stack(seeds=SEEDS, batch_norm=True), 4),
        "many features": (make_stack(70, seeds=SEEDS, batch_norm=True), 70),
        "no hidden layer": (make_stack(hidden=(), seeds=SEEDS), 4),
        "modules": (ModuleStack(dropping_module, 4, 5, seeds=SEEDS), 4),
    }


def preparation_of(networks, n_features, noise):
    """Two problems of 31 and 33 rows, two networks each, and the rows of an epoch."""
    problems = [make_problem(count, n_features, seed=count) for count in (31, 33)]
    batches = Batches([31, 33], [1, 2], BATCH_SIZE, CPU)
    candidates = CandidateTable(problems, 2, BATCH_SIZE, torch.float64, RowMemory(CPU))
    filler = torch.zeros(1, n_features, dtype=torch.float64)
    features = torch.cat([*(torch.as_tensor(p.features) for p in problems), filler])
    rows = RowsInBatch.from_real(batches.real.repeat_interleave(2, 1), torch.float64)
    return Preparation(
        networks, FeaturesInMemory(features), rows, candidates, 2, noise
    ), batches.rows_of(1)


def tensors_of(step):
    return [*step.rows, *step.candidates, *step.inputs, *(step.noisy or ())]


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("kind", stacks())
def test_several_steps_at_once_are_those_that_a_clock_points_to(monkeypatch, kind, noisy):
    monkeypatch.setattr(prepared, "_MOST_STEPS", 3)
    networks, n_features = stacks()[kind]
    noise = SwapNoise(0.4, SEEDS) if noisy else None
    preparation, rows = preparation_of(networks, n_features, noise)
    clock = Clock(CPU)
    clock.begin_epoch(TOTAL)
    with torch.no_grad():
        at_once = list(preparation.steps(rows, TOTAL, noisy))
        assert len(at_once) == len(rows) == N_STEPS
        for step in at_once:
            alone = preparation.present(rows, clock, noisy)
            assert (step.noisy is None) == (not noisy)
            for one, other in zip(tensors_of(step), tensors_of(alone), strict=True):
                assert torch.equal(one, other)
            clock.advance()


def test_networks_of_a_problem_see_the_same_and_only_noise_tells_them_apart():
    preparation, rows = preparation_of(make_stack(seeds=SEEDS), 4, SwapNoise(0.4, SEEDS))
    for step in preparation.steps(rows, 0, True):
        (inputs,), (noisy,) = step.inputs, step.noisy
        assert torch.equal(inputs[0], inputs[1])
        assert torch.equal(inputs[2], inputs[3])
        assert not torch.equal(inputs[1], inputs[2])
        assert not torch.equal(noisy[0], noisy[1])


@pytest.mark.parametrize(
    ("networks", "numbers_of_step"),
    [
        # Inputs of four networks, or the sets of two problems, in a batch.
        (make_stack(seeds=SEEDS), BATCH_SIZE * 4 * 4),
        (make_stack(1, seeds=SEEDS), BATCH_SIZE * 2 * 5),
    ],
    ids=["inputs", "sets"],
)
def test_as_many_steps_are_prepared_at_once_as_memory_allows(
    monkeypatch, networks, numbers_of_step
):
    for steps, expected in ((1, [1] * N_STEPS), (2, [2, 2, 1])):
        looked_at = []
        monkeypatch.setattr(prepared, "_MOST_NUMBERS", steps * numbers_of_step)
        n_features = networks.hidden[0].weight.shape[1]
        preparation, rows = preparation_of(networks, n_features, None)
        of_steps = preparation._candidates.of_steps
        monkeypatch.setattr(
            preparation._candidates,
            "of_steps",
            lambda r, seen=looked_at, whole=of_steps: seen.append(len(r)) or whole(r),
        )
        list(preparation.steps(rows, 0, False))
        assert looked_at == expected

"""The literal NCPD on its own: it is what others are measured by."""

import copy

import numpy as np
import pytest
import torch
from ncpd_in_one_file import (
    MultiBirthGroups,
    disambiguated,
    make_perceptron,
    small_losses,
    train_epochs,
)

from disambig.datasets import make_partial_label_dataset
from methods.ncpd.both_ways import random_data

X = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])


def test_a_row_is_there_once_for_each_of_its_candidates():
    groups = MultiBirthGroups(X, [[0, 2], [1], [0, 1, 2]], [[3, 1], [5], [1, 1, 2]])
    batch = groups.mini_batch([2, 0])
    assert batch.features.tolist() == [[3, 30]] * 3 + [[1, 10]] * 2
    assert batch.labels.tolist() == [0, 1, 2, 0, 2]
    assert batch.average.tolist() == [0.25, 0.25, 0.5, 0.75, 0.25]
    assert batch.group.tolist() == [0, 0, 0, 1, 1]
    assert batch.n_groups == 2


def test_replicas_count_the_same_without_weights():
    batch = MultiBirthGroups(X.double(), [[0, 2], [1], [0, 1, 2]]).mini_batch([0, 1, 2])
    assert batch.average.tolist() == [1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3]


def test_eq_1_of_groups_side_by_side():
    batch = MultiBirthGroups(X, [[0, 2], [1], [0, 1]]).mini_batch([0, 1, 2])
    losses = -torch.tensor([0.6, 0.2, 0.1, 1e-30, 1e-30]).log()
    torch.testing.assert_close(
        disambiguated(losses, batch), torch.tensor([0.75, 0.25, 1.0, 0.5, 0.5])
    )


def test_small_losses_by_hand():
    losses = torch.tensor([0.3, 0.1, 0.2, 0.2])
    assert small_losses(losses, 0.5).tolist() == [False, True, True, True]
    assert small_losses(losses, 0.49).tolist() == [False, True, False, False]
    assert not small_losses(losses, 0.24).any()


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_copies_of_a_row_have_losses_of_one_forward_pass_unless_there_is_dropout(dropout):
    batch = MultiBirthGroups(X, [[0, 2], [1], [0, 1, 2]]).mini_batch([0, 1, 2])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        logits = make_perceptron(2, [32], 3, False, dropout).train()(batch.features)
    apart = (logits[0] - logits[1]).abs().max()
    assert (apart > 1e-3) == (dropout > 0)


@pytest.mark.parametrize(("batch_norm", "dropout"), [(False, 0.0), (True, 0.5)])
def test_whole_epochs_learn_and_can_be_repeated(batch_norm, dropout):
    # 129 rows: the last one alone could not be normalised.
    data = make_partial_label_dataset(129, 5, 3, average_candidates=1.6, random_state=0)
    features = torch.as_tensor(data.X, dtype=torch.float32)
    sets = [torch.tensor(row).nonzero().flatten().tolist() for row in data.candidates.to_mask()]
    accuracies = []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first = [make_perceptron(5, [32], 3, batch_norm, dropout) for _ in range(2)]
        for _ in range(2):
            torch.manual_seed(1)
            networks = copy.deepcopy(first)
            train_epochs(networks, features, sets, epochs=40, ramp_epochs=20, learning_rate=0.01)
            probabilities = sum(own.eval()(features).softmax(-1) for own in networks)
            found = data.candidates.classes[probabilities.argmax(1).numpy()]
            accuracies.append(np.mean(found == data.true_labels))
    assert accuracies[0] == accuracies[1] > 0.85


def test_random_data_has_what_the_comparison_needs():
    data = random_data(0, weighted=True)
    assert {len(own) for own in data.sets} >= {1, 5}
    assert any(0 in own for own in data.weights)
    assert data.candidates.prior().nnz == sum(len(own) for own in data.sets)

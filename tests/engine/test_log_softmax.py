import math

import pytest
import torch

from disambig.engine.fast.layers import log_softmax
from engine.plain_network import normal


@pytest.mark.parametrize("shape", [(3,), (4, 2), (2, 3, 5, 7), (1, 1, 1, 1)], ids=str)
@pytest.mark.parametrize("scale", [0.0, 1.0, 50.0, 1000.0])
def test_it_is_what_torch_computes(shape, scale):
    logits = scale * normal(*shape)
    found = log_softmax(logits)
    torch.testing.assert_close(found.log_probabilities, logits.log_softmax(-1))
    assert torch.equal(found.predicted, logits.argmax(-1, keepdim=True))


def test_by_hand():
    logits = torch.tensor([[1.0, 1.0, 2.0]], dtype=torch.float64) * math.log(3)
    found = log_softmax(logits)
    expected = torch.tensor([[0.2, 0.2, 0.6]], dtype=torch.float64)
    torch.testing.assert_close(found.log_probabilities.exp(), expected)
    assert found.predicted.tolist() == [[2]]


@pytest.mark.parametrize("offset", [-1e30, -1000.0, 0.0, 1000.0, 1e30])
def test_what_is_added_to_all_logits_changes_nothing(offset):
    logits = torch.tensor([offset, offset]).double()
    torch.testing.assert_close(
        log_softmax(logits).log_probabilities, torch.full((2,), -math.log(2)).double()
    )


def test_the_small_loss_of_a_settled_row_is_exact_in_single_precision():
    # Above 1 single precision has steps of 1.2e-7, and log(1 + 2 exp(-12)) is 1.2288e-5.
    logits = torch.tensor([1000.0, 988.0, 988.0])
    assert log_softmax(logits).log_probabilities[0].item() == pytest.approx(-1.2288e-5, abs=1.2e-7)


def test_of_equal_logits_one_is_predicted_and_logits_are_left_as_they_are():
    logits = torch.zeros(3, 4)
    assert log_softmax(logits).predicted.shape == (3, 1)
    assert torch.equal(logits, torch.zeros(3, 4))

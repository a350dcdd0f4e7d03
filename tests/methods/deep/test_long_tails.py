"""RECORDS and SoLar against loops that write their papers down."""

import numpy as np
import pytest
import torch

from disambig.methods import RECORDS
from methods.deep.plain_loops import DATA, MASK, PlainMethod, assert_agrees, weighted


class PlainRECORDS(PlainMethod):
    """Hong et al. (2023): PRODEN, with a moving average of what is said divided out."""

    def __init__(self, prior, momentum):
        self.mask = torch.as_tensor(MASK)
        self.weights = torch.as_tensor(prior).clone()
        self.average = self.weights.mean(0)
        self.momentum = momentum

    def losses(self, rows, networks, X):
        logits = networks[0](X[rows])
        losses = -(self.weights[rows] * logits.log_softmax(1)).sum(1)
        said = logits.detach().softmax(1)
        self.average = self.momentum * self.average + (1 - self.momentum) * said.mean(0)
        ratios = said / (self.average + 1e-9) * self.mask[rows]
        self.weights[rows] = ratios / ratios.sum(1, keepdim=True)
        return [losses]


@pytest.mark.parametrize("momentum", [0.9, 0.3])
@pytest.mark.parametrize("with_weights", [False, True])
def test_records_agrees_with_a_plain_loop(with_weights, momentum):
    candidates = weighted()[0] if with_weights else DATA.candidates
    plain = PlainRECORDS(candidates.prior().toarray(), momentum)
    assert_agrees(RECORDS, candidates, plain, momentum=momentum)

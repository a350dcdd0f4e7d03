"""Confidence of every candidate in its group: Eqs. 1 and 2."""

import torch
from torch import Tensor

__all__ = ["disambiguated_confidences", "group_confidences"]


def group_confidences(losses: Tensor, prior: Tensor, simple: Tensor) -> Tensor:
    """Return Eq. 1 for simple groups and Eq. 2 for complicated ones.

    Parameters
    ----------
    losses : Tensor of shape (..., rows, places)
        Infinite in places that are not used.
    prior : Tensor, same shape or one that broadcasts to it
        Eq. 2: ``1 / |S|``, or the weights that came with the candidates.
    simple : Tensor of booleans of shape (..., rows)
        Which groups have a reliable candidate.
    """
    return torch.where(simple.unsqueeze(-1), disambiguated_confidences(losses), prior)


def disambiguated_confidences(losses: Tensor) -> Tensor:
    """Return Eq. 1: ``w_j = exp(-l_j) / sum_k exp(-l_k)`` over the candidates of each group.

    A softmax takes the largest exponent out first, so that a group whose losses are all huge keeps
    its proportions. In a row without any candidate, which only fills up a batch, nothing means
    anything.
    """
    return torch.softmax(-losses, dim=-1)

"""Labels of all rows at once, by Sinkhorn's algorithm, and which of them to learn from."""

import torch
from torch import Tensor

# As in the code of SoLar's authors.
_ROUNDS = 50
_TINY = 1e-300


def sinkhorn_labels(inside: Tensor, shares: Tensor, power: float, counts: Tensor) -> Tensor:
    """Return labels near the network's own that give every class its share of all rows.

    Of all matrices whose rows sum to one and whose columns have the given means, the one closest
    to ``inside ** power`` but for factors of its rows and columns: Sinkhorn's algorithm. Rows sum
    to one exactly, columns as nearly as the candidates allow.

    Parameters
    ----------
    inside : Tensor of shape (problems, rows, classes)
        What the network says of the candidates, zero elsewhere and in rows that only fill up.
    shares : Tensor of shape (problems, classes)
        Of the rows; above zero for every class that is a candidate.
    power : float
        lambda: the higher, the clearer the labels.
    counts : Tensor of shape (problems, 1)
        Number of rows.
    """
    largest = inside.amax(-1).clamp(min=_TINY)
    # Every row gets a factor in any case: with this one its largest number does not vanish.
    kernel = torch.where(inside > 0, (inside / largest.unsqueeze(-1)) ** power, 0)
    of_rows = (largest**power / counts).unsqueeze(-2)
    of_classes, of_row = shares.unsqueeze(-1), 1 / counts.unsqueeze(-1)
    share = of_classes
    for _ in range(_ROUNDS):
        of_classes = share / (of_rows @ kernel).clamp_(min=_TINY).mT
        of_rows = of_row / (kernel @ of_classes).clamp_(min=_TINY).mT
    return kernel * (of_rows * counts.unsqueeze(-1)).mT * of_classes.mT


def reliable_rows(
    labels: Tensor,
    probabilities: Tensor,
    shares: Tensor,
    share: float | Tensor,
    threshold: float,
    counts: Tensor,
) -> Tensor:
    """Return which rows to learn from their labels.

    Of every class, rows with the smallest losses: as many as ``share`` of the rows that the class
    should have, and at least one. And all rows that the network is sure of.

    Parameters
    ----------
    labels, probabilities : Tensor of shape (problems, rows, classes)
        Sinkhorn's labels, and what the network says of all classes.
    shares : Tensor of shape (problems, classes)
        Of the rows.
    share : float or Tensor of one number
        rho.
    threshold : float
        tau: the network is sure above this ``sum_j q_j p_j``.
    counts : Tensor of shape (problems, 1)
        Number of rows; those behind them only fill up.
    """
    n_rows, n_classes = labels.shape[-2:]
    numbers = torch.arange(n_rows, device=labels.device)
    losses = -(labels * probabilities.clamp(min=_TINY).log()).sum(-1)
    # Rows that only fill up are a class of their own, behind all others.
    classes = labels.argmax(-1).masked_fill(numbers >= counts, n_classes)
    order = losses.argsort(dim=-1, stable=True)
    order = order.gather(-1, classes.gather(-1, order).argsort(dim=-1, stable=True))
    ranks = torch.empty_like(order).scatter_(-1, order, numbers.expand_as(order))
    kinds = torch.arange(n_classes + 1, device=labels.device)
    sizes = (classes.unsqueeze(-1) == kinds).sum(-2)
    ranks = ranks - (sizes.cumsum(-1) - sizes).gather(-1, classes)
    wanted = (counts * shares * share).ceil().clamp(min=1)
    wanted = torch.nn.functional.pad(wanted, (0, 1))
    is_sure = (labels * probabilities).sum(-1) > threshold
    return (ranks < wanted.gather(-1, classes)) | is_sure

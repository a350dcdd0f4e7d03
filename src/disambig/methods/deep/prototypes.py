"""Prototypes: for every class a direction that follows the embeddings of rows taken for it."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from disambig._core.errors import ParameterError
from disambig._core.parameters import check_real

# Of what was stored, the share that is kept in the first epoch.
_FIRST_EPOCH = 0.99


def kept_share(epoch: int, epochs: int, bounds: tuple[float, float]) -> float:
    """Return how much of what is stored is kept in an epoch.

    0.99 in the first epoch; then from the first bound on, in equal steps towards the last.

    Parameters
    ----------
    epoch, epochs : int
        The present one, counted from 1, and how many there are.
    bounds : tuple of float
        What is kept in the second epoch, and what would be kept two epochs after the last.
    """
    if epoch == 1:
        return _FIRST_EPOCH
    first, last = bounds
    return first + (epoch - 2) / epochs * (last - first)


def check_bounds(name: str, value: Any) -> None:
    """Refuse what ``kept_share`` cannot go from and to."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ParameterError(
            f"{name!r} must be a pair of numbers from 0 to 1: at first and in the end. "
            f"Got {value!r} instead."
        )
    for bound in value:
        check_real(name, bound, minimum=0, maximum=1)


def unit(embedding: Tensor) -> Tensor:
    """Return embeddings of length one."""
    return functional.normalize(embedding, dim=-1)


def is_class(classes: Tensor, n_classes: int) -> Tensor:
    """Return a boolean for every class, behind the other axes: whether it is the given one."""
    return classes.unsqueeze(-1) == torch.arange(n_classes, device=classes.device)


def moved_prototypes(
    prototypes: Tensor, embeddings: Tensor, classes: Tensor, is_real: Tensor, kept: float | Tensor
) -> Tensor:
    r"""Return prototypes that have followed the rows of a batch, one row after the other.

    For every row in turn, :math:`\mu_y \leftarrow m \mu_y + (1 - m) q`; then all have length one.
    In one piece: of n rows of a class the k-th has the weight :math:`(1 - m) m^{n - k}` in the
    end, and what was there before has :math:`m^n`.

    Parameters
    ----------
    prototypes : Tensor of shape (problems, networks, classes, width)
        Before the batch.
    embeddings : Tensor of shape (problems, networks, rows, width)
        Of length one, in the order in which they come.
    classes : Tensor of integers of shape (problems, networks, rows)
        Which prototype follows the row.
    is_real : Tensor of booleans that broadcasts to this shape
        Rows that are none move nothing.
    kept : float or Tensor of one number
        m, above zero.
    """
    follows = is_class(classes, prototypes.shape[-2]) & is_real.unsqueeze(-1)
    follows = follows.to(prototypes.dtype)
    counted = follows.cumsum(-2)
    counts = counted[..., -1:, :]
    weights = follows * (1 - kept) * kept ** (counts - counted)
    return unit(kept**counts.mT * prototypes + weights.mT @ embeddings)

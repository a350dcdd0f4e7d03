"""What networks learn from each other: Eqs. 6 and 7."""

from torch import Tensor

__all__ = ["exchange"]


def exchange(confidences: Tensor) -> Tensor:
    """Return the confidences that every network is trained with: those of its peers.

    Two networks swap theirs, as in the paper. With more, each gets the mean of the others'.

    Parameters
    ----------
    confidences : Tensor of shape (..., networks, rows, places)
        What every network found.
    """
    n_networks = confidences.shape[-3]
    if n_networks == 2:
        return confidences.flip(-3)
    return (confidences.sum(-3, keepdim=True) - confidences) / (n_networks - 1)

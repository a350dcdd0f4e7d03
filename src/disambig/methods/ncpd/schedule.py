"""How many losses count as small in which epoch: Eq. 5."""

import math

__all__ = ["share_of_small_losses"]


def share_of_small_losses(epoch: int, ramp_epochs: int) -> float:
    """Return T(t), the share of losses in a mini-batch that count as small in an epoch.

    ``T(t) = exp(-5 (t / t_r - 1)^2)`` up to ``t_r = ramp_epochs``, then 1. Epochs count from 1.
    """
    if epoch >= ramp_epochs:
        return 1.0
    return math.exp(-5 * (epoch / ramp_epochs - 1) ** 2)

"""How much is disambiguated in which epoch: Eq. 5."""

import math

__all__ = ["disambiguated_share"]


def disambiguated_share(epoch: int, ramp_epochs: int) -> float:
    """Return T(t), the share of smallest losses that counts as reliable in epoch ``epoch``.

    ``T(t) = exp(-5 (t / t_r - 1)^2)`` up to ``t_r = ramp_epochs``, then 1. Epochs count from 1.
    """
    if epoch >= ramp_epochs:
        return 1.0
    return math.exp(-5 * (epoch / ramp_epochs - 1) ** 2)

"""The configurations that ``select="auto"`` mixes: few, named, and different in kind."""

from dataclasses import dataclass
from typing import Any

__all__ = ["CONFIGURATIONS", "Configuration"]


@dataclass(frozen=True)
class Configuration:
    """What one member of the mix is trained with.

    Attributes
    ----------
    swap_noise : float
        Share of inputs taken from other rows.
    ramp_share : float
        Share of the epochs after which every loss counts as small. Short where there is noise:
        see ``collapse.py``.
    scaling, second_view : str
        Its views of the features.
    epochs_share : float
        Share of the epochs that it is trained for: noise makes steps dearer and loses little by
        fewer of them.
    prior_correction : float
        How strongly class shares are held in place.
    """

    swap_noise: float
    ramp_share: float
    scaling: str = "half"
    second_view: str | None = None
    epochs_share: float = 1.0
    prior_correction: float = 0.5

    def parameters(self, epochs: int) -> dict[str, Any]:
        """Return the parameters of its classifier, in a mix that trains for so many epochs."""
        return {
            "epochs": max(1, round(self.epochs_share * epochs)),
            "scaling": self.scaling,
            "second_view": self.second_view,
            "swap_noise": self.swap_noise,
            "prior_correction": self.prior_correction,
            "ramp_epochs": max(1, round(self.ramp_share * epochs)),
        }


CONFIGURATIONS = {
    # Features whose exact combination matters, such as measurements of a shape.
    "plain": Configuration(swap_noise=0.0, ramp_share=0.15),
    # Many features that say the same thing in part, such as histograms or principal components.
    "noisy": Configuration(swap_noise=0.2, ramp_share=0.05, epochs_share=0.75),
    # The same with ranks beside the values, for features with heavy tails.
    "noisy_views": Configuration(
        swap_noise=0.2, ramp_share=0.05, epochs_share=0.75, second_view="quantile"
    ),
}

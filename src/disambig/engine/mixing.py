"""Rows mixed with other rows of their batch, and targets mixed alike."""

from typing import NamedTuple, Self

import torch
from torch import Tensor

from disambig.engine.draws import beta_draws
from disambig.engine.views import shuffled


class Mixing(NamedTuple):
    """Which row every row is mixed with, and how much of itself remains.

    Attributes
    ----------
    partners : Tensor of integers of shape (..., problems, networks, rows)
        Positions in the batch.
    shares : Tensor of shape (..., problems, networks, 1, 1)
        Of the row itself.
    """

    partners: Tensor
    shares: Tensor

    @classmethod
    def drawn(
        cls,
        concentration: float,
        is_real: Tensor,
        streams: tuple[Tensor, Tensor],
        n_networks: int,
        steps: Tensor,
        *,
        dtype: torch.dtype,
        mostly_itself: bool = True,
    ) -> Self:
        """Draw partners, and a share for every batch from Beta(a, a), for several steps.

        Parameters
        ----------
        concentration : float
            a, above zero.
        is_real : Tensor of booleans of shape (steps, problems, 1, rows)
            Which rows are no filler; real rows are mixed with real ones.
        streams : tuple of two Tensors
            From ``streams_of_problems`` for two purposes: one for partners, one for shares.
        n_networks : int
            Each draws for itself.
        steps : Tensor of integers of shape (steps,)
            Numbers of the steps. Each draws others.
        dtype : torch.dtype
            Of the shares: that of what is mixed.
        mostly_itself : bool, default=True
            Whether a share below a half is taken from one.
        """
        of_partners, of_shares = streams
        shares = beta_draws(concentration, of_shares, (n_networks, 1, 1), steps).to(dtype)
        partners = shuffled(is_real, of_partners, n_networks, steps)
        return cls(partners, torch.maximum(shares, 1 - shares) if mostly_itself else shares)

    def of(self, values: Tensor, others: Tensor | None = None) -> Tensor:
        """Return every row of ``values`` mixed with its partner in ``others``, or in the same.

        Both have the shape of ``partners`` with one more axis.
        """
        others = values if others is None else others
        shape = (*self.partners.shape, others.shape[-1])
        partners = self.partners.unsqueeze(-1).expand(shape)
        chosen = others.expand(shape).gather(-2, partners)
        return torch.lerp(chosen, values.expand(shape), self.shares)

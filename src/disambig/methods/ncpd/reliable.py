"""Which candidates are reliable: Sec. 3.2, conditions 1 and 2."""

import torch
from torch import Tensor

__all__ = ["has_small_loss", "reliable_candidates"]


def reliable_candidates(
    losses: Tensor, predicted: Tensor, share: Tensor | None, most_candidates: int
) -> Tensor:
    """Return the candidates that meet both conditions; at most one in a group.

    Condition 1: the loss is small, see ``has_small_loss``. Condition 2: the network predicts
    exactly this label, out of all classes.

    Parameters
    ----------
    losses : Tensor of shape (..., rows, places)
        Infinite in places that are not used.
    predicted : Tensor of booleans, same shape
        Condition 2.
    share : Tensor of one float64, or None
        T(t); None where it is one, and every loss is small without being ranked.
    most_candidates : int
        No batch has more candidates than this.
    """
    if share is None:
        return predicted
    return has_small_loss(losses, share, most_candidates) & predicted


def has_small_loss(losses: Tensor, share: Tensor, most_candidates: int) -> Tensor:
    """Return which losses are among the given share of smallest ones in the batch.

    Of ``n`` candidates in a batch, the ``floor(share * n)`` smallest losses count. Losses equal to
    the last of these count too: what is equally easy is treated equally, in whatever order the rows
    come.

    Parameters
    ----------
    losses : Tensor of shape (..., rows, places)
        Infinite in places that are not used: these are no candidates, and are sifted out before
        anything is ranked.
    share : Tensor of one float64
        T(t). In double precision, so that ``floor`` cuts where the formula says.
    most_candidates : int
        No batch has more candidates than this; ranking can stop there.
    """
    flat = losses.flatten(-2)
    n_candidates = flat.isfinite().sum(-1, keepdim=True)
    n_small = (share * n_candidates).to(torch.int64)
    # In front of the smallest loss stands one that nothing is below: the cut if none is to count.
    ranked = flat.topk(most_candidates, largest=False, sorted=True).values
    ranked = torch.nn.functional.pad(ranked, (1, 0), value=-torch.inf)
    return losses <= ranked.gather(-1, n_small).unsqueeze(-1)

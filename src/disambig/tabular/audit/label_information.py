"""What ambiguity costs: how much candidate sets tell of what full labels would."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import entr

from disambig._core.messages import percent, row_count
from disambig._core.typing import BoolArray, FloatArray, Sparse
from disambig.candidates.audit import row_blocks
from disambig.candidates.labels import CandidateLabels
from disambig.candidates.storage import group_maxima

__all__ = ["LabelInformation", "label_information", "likeliest_shares", "may_have_any_label"]

_ROUNDING = 1e-9


@dataclass(frozen=True)
class LabelInformation:
    """How much of the labels is known. ``str()`` of it is a text for people.

    Attributes
    ----------
    n_rows : int
        How many rows have a set.
    known_share : float
        Of the information in full labels, the share that the sets hold: 1 where every set has
        one label, 0 where every set has all of them.
    blind_guess_share : float
        Share of rows for which a guess that knows nothing but the set is expected to be right.
    weighted : bool
        Whether the candidates carry weights, which both shares then take at their word.
    """

    n_rows: int
    known_share: float
    blind_guess_share: float
    weighted: bool = False

    @property
    def equivalent_rows(self) -> float:
        """How many rows with full labels would tell as much."""
        return self.known_share * self.n_rows

    def __str__(self) -> str:
        guess = "The label of highest weight" if self.weighted else "A blind guess inside the sets"
        condition = ", if the weights are right" if self.weighted else ""
        return (
            f"These labels are worth about as much as {row_count(round(self.equivalent_rows))} "
            f"({percent(self.known_share)}) with one certain label each.\n"
            f"{guess} would be right for {percent(self.blind_guess_share)} of the rows{condition}."
        )


def label_information(candidates: CandidateLabels) -> LabelInformation:
    r"""Return what the sets tell of what full labels would.

    With the prior :math:`p_i` of every row (equal shares, or the weights), their mean :math:`m`
    and the entropy :math:`H`, the known share is :math:`1 - \mathrm{mean}_i H(p_i) / H(m)`.
    Where :math:`m` leaves nothing to tell, as with one class, all is known.

    Parameters
    ----------
    candidates : CandidateLabels
        The sets.
    """
    n_rows = len(candidates)
    weighted = candidates.weights is not None
    if not n_rows:
        return LabelInformation(0, 1.0, 1.0, weighted)
    totals = np.zeros(candidates.shape[1])
    left_open = 0.0
    for block in row_blocks(candidates):
        prior = block.prior() if weighted else _equal_shares(block)
        totals += prior.sum(axis=0)
        left_open += float(entr(prior.data).sum())
    to_tell = float(entr(totals / n_rows).sum())
    # The mean of distributions has at least their mean entropy: beyond are only rounding errors.
    known = max(0.0, 1 - left_open / n_rows / to_tell) if to_tell > 0 else 1.0
    return LabelInformation(n_rows, known, float(likeliest_shares(candidates).mean()), weighted)


def likeliest_shares(candidates: CandidateLabels) -> FloatArray:
    """Return for every row the share of its likeliest candidate: what a blind guess is worth."""
    if candidates.weights is None:
        return np.asarray(1 / candidates.sizes)
    largest = [np.zeros(0)]
    for block in row_blocks(candidates):
        prior = block.prior()
        largest.append(group_maxima(prior.data, prior.indptr[:-1]))
    return np.concatenate(largest)


def may_have_any_label(candidates: CandidateLabels, n_occurring: int) -> BoolArray:
    """Mark the rows for which every one of the labels that occur is as likely as any other."""
    return likeliest_shares(candidates) * n_occurring <= 1 + _ROUNDING


def _equal_shares(candidates: CandidateLabels) -> Sparse:
    # What prior() returns where there are no weights, several times as fast.
    mask = candidates.to_sparse()
    sizes = np.diff(mask.indptr)
    shares = np.repeat(1 / sizes, sizes)
    return sparse.csr_array((shares, mask.indices, mask.indptr), shape=mask.shape)

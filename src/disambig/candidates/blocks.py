"""Candidate sets a block of rows at a time, for sums that need not hold all pairs at once."""

from collections.abc import Iterator

from disambig.candidates.labels import CandidateLabels

__all__ = ["row_blocks"]

_PAIRS_AT_A_TIME = 2_000_000


def row_blocks(
    candidates: CandidateLabels, *, pairs: int = _PAIRS_AT_A_TIME
) -> Iterator[CandidateLabels]:
    """Yield all rows in order, about ``pairs`` pairs of a row and a candidate at a time."""
    total = int(candidates.sizes.sum())
    rows = max(1, len(candidates) * pairs // max(1, total))
    for start in range(0, len(candidates), rows):
        yield candidates[start : start + rows]

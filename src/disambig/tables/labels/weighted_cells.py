"""Candidates and their weights as cells of a table, which ``LabelColumns`` can read again."""

import json
import re
from itertools import pairwise

from disambig._core.typing import FloatArray
from disambig.candidates.labels import CandidateLabels

__all__ = ["weighted_cells"]

# What could not be told from the marks of a delimited cell.
_MEANS_SOMETHING = re.compile(r"[|:]|^[!\[{]|^\s|\s$")


def weighted_cells(candidates: CandidateLabels, weights: FloatArray) -> list[str]:
    """Return ``cat:0.9|dog:0.1`` for every row, or JSON where labels hold such signs themselves.

    Parameters
    ----------
    candidates : CandidateLabels
        Whose classes are texts.
    weights : ndarray
        In the order of ``candidates.pairs()``.
    """
    _, columns = candidates.pairs()
    names = candidates.classes[columns].tolist()
    pairs = list(zip(names, weights.tolist(), strict=True))
    ends = [*candidates.starts.tolist(), len(pairs)]
    rows = (pairs[start:end] for start, end in pairwise(ends))
    if any(_MEANS_SOMETHING.search(name) for name in candidates.classes.tolist()):
        return [json.dumps(dict(row), ensure_ascii=False) for row in rows]
    return ["|".join(f"{name}:{weight:g}" for name, weight in row) for row in rows]

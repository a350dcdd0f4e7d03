"""Candidates and their weights as cells of a table, which ``LabelColumns`` can read again.

Where labels hold signs that mean something to it, only ``read_weighted_cell`` reads them all.
"""

import json
import re
from itertools import pairwise
from typing import Any

from disambig._core.typing import FloatArray
from disambig.candidates.labels import CandidateLabels

__all__ = ["read_weighted_cell", "weighted_cells"]

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


def read_weighted_cell(cell: str) -> dict[str, float]:
    """Return the labels of a cell and their weights; raise ``ValueError`` if it holds none.

    Parameters
    ----------
    cell : str
        As ``weighted_cells`` writes it, with weights from 0 to 1.
    """
    found: Any
    if cell.startswith("{"):
        try:
            found = json.loads(cell)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    else:
        pieces = [piece.rpartition(":") for piece in cell.split("|")]
        found = {name: float(weight) for name, _, weight in pieces}
        if len(found) < len(pieces):
            raise ValueError("a label is named twice")
    if not found:
        raise ValueError("no label")
    for name, weight in found.items():
        is_share = isinstance(weight, float | int) and not isinstance(weight, bool)
        if not name or not is_share or not 0 <= weight <= 1:
            raise ValueError("no share of a label")
    return {name: float(weight) for name, weight in found.items()}

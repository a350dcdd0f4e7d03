"""Rows that were disambiguated by hand, so that every number on a page can be checked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from disambig import CandidateLabels
from disambig.tabular.cleaned_table import CleanedTable

HOSTILE = "</script><script>alert(1)</script><!--"
# Confidences by label; the chosen label has the largest.
SHARES: list[dict[str, float]] = [
    {"cat": 0.7, "dog": 0.3},
    {"dog": 1.0},
    {"cat": 0.2, "dog": 0.3, "fox": 0.5},
    {"cat": 1.0},
    {"dog": 0.45, "fox": 0.55},
]
MARKED = (True, False, True, False, True)
PHOTOS = ("p1", "p2", "p3", "p4", "p5")


def five_rows(shares: list[dict[str, float]] = SHARES, **changes: Any) -> CleanedTable:
    """Return five rows: three to look at, the least sure of them the third."""
    values = pd.DataFrame({"photo": PHOTOS, "size": ["1", "2", "", None, "5"]})
    return made_rows(shares, **({"marked": MARKED, "values": values} | changes))


def made_rows(
    shares: list[dict[str, float]], *, marked: Sequence[bool] | None = None, **changes: Any
) -> CleanedTable:
    """Return rows with these confidences by label; by default those with doubt are marked."""
    candidates = CandidateLabels.from_sets([list(row) for row in shares])
    rows, columns = candidates.pairs()
    names = candidates.classes.tolist()
    parts: dict[str, Any] = {
        "candidates": candidates,
        "confidences": np.array(
            [shares[row][names[column]] for row, column in zip(rows, columns, strict=True)]
        ),
        "chosen": np.array([names.index(max(row, key=row.__getitem__)) for row in shares]),
        "second_look": np.array(
            [max(row.values()) < 1 for row in shares] if marked is None else marked
        ),
        "values": pd.DataFrame({"number": [str(row) for row in range(len(shares))]}),
    }
    return CleanedTable(**(parts | changes))

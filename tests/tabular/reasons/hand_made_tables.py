"""Cleaned tables whose labels, confidences and cells are written down by the test."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from disambig import CandidateLabels
from disambig.tabular.cleaned_table import CleanedTable


def table_of(
    shares: Sequence[Mapping[str, float]],
    values: Mapping[str, Sequence[Any]],
    *,
    marked: Sequence[bool] | None = None,
    **changes: Any,
) -> CleanedTable:
    """Return rows with these confidences by label and cells by column.

    Rows of several candidates are marked for a second look, unless ``marked`` says which.
    """
    candidates = CandidateLabels.from_sets([list(row) for row in shares])
    rows, columns = candidates.pairs()
    names = candidates.classes.tolist()
    parts: dict[str, Any] = {
        "candidates": candidates,
        "confidences": np.array(
            [shares[row][names[column]] for row, column in zip(rows, columns, strict=True)]
        ),
        "chosen": np.array([names.index(max(row, key=row.__getitem__)) for row in shares]),
        "second_look": np.array([len(row) > 1 for row in shares] if marked is None else marked),
        "values": pd.DataFrame({name: _column(cells) for name, cells in values.items()}),
    }
    return CleanedTable(**(parts | changes))


def _column(cells: Sequence[Any]) -> Any:
    # Of strings as Python has them: pandas keeps no lone surrogates.
    return pd.Series(list(cells), dtype=object) if any(isinstance(c, str) for c in cells) else cells

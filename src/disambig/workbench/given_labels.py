"""Where the labels of a table come from: columns of it, or sets that were made elsewhere."""

from collections.abc import Sequence

import pandas as pd

from disambig._core.errors import TableError
from disambig.candidates.labels import CandidateLabels
from disambig.tables.cell_text import text_of
from disambig.tables.labels.label_columns import LabelColumns

__all__ = ["Labels", "label_column_names", "separator_of", "sets_of_rows"]

Labels = str | Sequence[str] | LabelColumns | CandidateLabels


def label_column_names(labels: Labels) -> tuple[str, ...]:
    """Return the columns that labels are read from, and that are therefore no features."""
    return () if isinstance(labels, CandidateLabels) else LabelColumns.of(labels).columns


def separator_of(labels: Labels) -> str:
    """Return what stands between two labels of a cell."""
    of_columns = LabelColumns() if isinstance(labels, CandidateLabels) else LabelColumns.of(labels)
    return of_columns.separator


def sets_of_rows(candidates: CandidateLabels, frame: pd.DataFrame) -> CandidateLabels:
    """Return sets that were made elsewhere as those of a table, whose labels are texts."""
    if len(candidates) != len(frame):
        raise TableError(
            "The table and the candidate sets need the same number of rows. "
            f"Got {len(frame):,} rows and {len(candidates):,} sets. Give one set for each row."
        )
    names = candidates.classes.tolist()
    if all(isinstance(name, str) for name in names):
        return candidates
    texts = [text_of(name) for name in names]
    return CandidateLabels.from_mask(candidates.to_sparse(), texts, weights=candidates.weights)

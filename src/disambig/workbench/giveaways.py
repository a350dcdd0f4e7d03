"""Columns that hold labels, and would give away what is to be learned."""

from collections.abc import Iterable, Sequence

import pandas as pd

from disambig.tables.cell_text import is_blank
from disambig.tables.wording import listed
from disambig.workbench.clean_columns import CLEAN_COLUMNS
from disambig.workbench.columns.plan import ColumnPlan

__all__ = ["columns_with_labels", "giveaway_notices", "results_of_cleaning"]

_MOST_VALUES = 1000
_FEWEST_LABELS = 2


def results_of_cleaning(frame: pd.DataFrame) -> list[str]:
    """Return the columns that an earlier cleaning has added to a table."""
    return list(CLEAN_COLUMNS) if set(CLEAN_COLUMNS) <= set(frame.columns) else []


def columns_with_labels(
    frame: pd.DataFrame, plan: ColumnPlan, classes: Sequence[str], separator: str
) -> list[str]:
    """Return the categories of a plan whose values are labels, or several between separators.

    Booleans and numbers are other things even where labels are called yes and no, or 0 and 1.
    """
    known = set(classes)
    return [
        column.name
        for column in plan.columns
        if column.kind == "category" and _are_labels(frame[column.name], known, separator)
    ]


def giveaway_notices(with_labels: Iterable[str], results: Iterable[str]) -> list[str]:
    """Return what to tell about such columns that were left out."""
    notices = []
    if names := list(with_labels):
        notices.append(
            f"Left out {listed(map(repr, names))}, which holds labels and can give the right one "
            "away; use --features (in Python features=) to keep it. A column of true labels is "
            "named by --truth (truth=)."
        )
    if names := list(results):
        notices.append(f"Left out what an earlier cleaning has added: {listed(names)}.")
    return notices


def _are_labels(column: "pd.Series[str]", known: set[str], separator: str) -> bool:
    distinct = column.dropna().unique()[: _MOST_VALUES + 1]
    values = [str(value) for value in distinct if not is_blank(value)]  # gaps may be called NA
    pieces = {piece.strip() for value in values for piece in value.split(separator)} - {""}
    return len(values) <= _MOST_VALUES and len(pieces) >= _FEWEST_LABELS and pieces <= known

"""``read_cleaned``: what cleaning wrote into a table, read back."""

from typing import Any

import numpy as np
import pandas as pd

from disambig._core.caller import warn_caller
from disambig._core.errors import TableError
from disambig._core.typing import BoolArray, IntArray
from disambig.candidates.classes import known_columns_of
from disambig.candidates.labels import CandidateLabels
from disambig.tables.cell_text import text_of
from disambig.tables.columns import find_column
from disambig.tables.labels.label_columns import LabelColumns
from disambig.tables.wording import in_words, row_in_words
from disambig.workbench.clean_columns import CLEAN_COLUMNS
from disambig.workbench.clean_details import CleanDetails, belong_to
from disambig.workbench.disambiguated import Disambiguated, features_in_words

__all__ = ["read_cleaned"]

_ADVICE = "Clean the table first: disambig clean FILE --out CLEAN."
_MARKS = {"true": True, "false": False, "1": True, "0": False}


def read_cleaned(
    frame: pd.DataFrame,
    details: CleanDetails | None = None,
    *,
    id: str | None = None,  # noqa: A002
) -> Disambiguated:
    """Return the rows of a cleaned table, with what was decided about them.

    Parameters
    ----------
    frame : DataFrame
        What ``clean_table`` returned, or the file that ``disambig clean`` wrote.
    details : CleanDetails, optional
        How it came about; they say which columns name rows, and how new columns are called.
    id : str, optional
        Column that names the rows.
    """
    prefix = details.prefix if details is not None else _prefix_of(frame)
    chosen, _, _, second_look, confidences = (
        find_column(frame, prefix + name, what="what cleaning adds", advice=_ADVICE)
        for name in CLEAN_COLUMNS
    )
    cells = [text_of(cell) or "" for cell in confidences]
    if details is not None and not belong_to(details, cells):
        warn_caller(
            "The details beside the table belong to another cleaning and are left out: how "
            "training went, and what each network said."
        )
        details = None
    own = LabelColumns(columns=(str(confidences.name),))
    candidates = own.read(frame)
    if candidates.weights is None:
        raise TableError(
            f"Column {confidences.name!r} holds confidences, as in cat:0.9|dog:0.1. Got "
            f"{in_words(cells[0])} in row 1. {_ADVICE}"
        )
    name = id if id is not None else (details.id if details is not None else None)
    if name is not None:
        find_column(frame, name, what="what identifies rows")
    return Disambiguated(
        candidates=candidates,
        confidences=candidates.values_of(candidates.weights),
        chosen=_chosen(chosen, candidates),
        second_look=_marks(second_look),
        values=frame.drop(columns=[prefix + column for column in CLEAN_COLUMNS]),
        id=name,
        **({} if details is None else _known(details)),
    )


def _known(details: CleanDetails) -> dict[str, Any]:
    judged = (
        "by a model that was trained on them: surer than it should be"
        if details.folds is None
        else f"by {details.folds} models, each on rows that it had not seen"
    )
    return {
        "opinions": {row - 1: said for row, said in details.opinions.items()},
        "histories": details.histories,
        "accuracy": "" if details.accuracy is None else str(details.accuracy),
        "about": {
            "method": details.method,
            "parameters": ", ".join(f"{key}={value}" for key, value in details.parameters.items()),
            "rows judged": judged,
            "seed": str(details.seed),
            "share of expected errors marked": f"{details.errors_to_find:g}",
            "labels from": ", ".join(details.labels) or "a table of annotations",
            "rows settled by hand": f"{details.decisions:,}",
            **features_in_words(details.features),
            "disambig": details.disambig,
        },
    }


def _prefix_of(frame: pd.DataFrame) -> str:
    """Return what stands before the names of all new columns, where that can be told."""
    first = CLEAN_COLUMNS[0]
    for name in frame.columns:
        if isinstance(name, str) and name.endswith(first):
            prefix = name.removesuffix(first)
            if all(prefix + other in frame.columns for other in CLEAN_COLUMNS):
                return prefix
    return ""


def _chosen(column: "pd.Series[Any]", candidates: CandidateLabels) -> IntArray:
    """Return the places of the chosen labels; one that is no candidate was changed by somebody."""
    labels = [text_of(label) or "" for label in column]
    chosen: IntArray = known_columns_of(labels, candidates.classes)
    inside = candidates.to_sparse()[np.arange(len(labels)), chosen]
    wrong = (chosen < 0) | ~np.asarray(inside).ravel().astype(bool)
    if wrong.any():
        row = int(wrong.argmax())
        raise TableError(
            f"Column {column.name!r} holds one of the row's candidates. Got "
            f"{in_words(labels[row])} in {row_in_words(row)}. Clean the table again; what people "
            "decide goes into a file of decisions."
        )
    return chosen


def _marks(column: "pd.Series[Any]") -> BoolArray:
    marks = np.zeros(len(column), dtype=bool)
    for row, cell in enumerate(column):
        text = (text_of(cell) or "").casefold()
        if text not in _MARKS:
            raise TableError(
                f"Column {column.name!r} says True or False. Got {in_words(cell)} in "
                f"{row_in_words(row)}. {_ADVICE}"
            )
        marks[row] = _MARKS[text]
    return marks

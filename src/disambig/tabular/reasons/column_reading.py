"""Which columns reasons are made of, read as they were read for cleaning."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pandas as pd

from disambig._core.errors import TableError
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.columns.numbers import Decimal
from disambig.tabular.columns.plan import plan_columns
from disambig.tabular.columns.values import ColumnPlan
from disambig.tabular.table_cells import text_of

# What is compared cell by cell; images and embeddings are not in the table.
_COMPARED = ("number", "category", "boolean", "date", "text")
_LOOKED_AT = 1_000
_MOST_OTHERS = 0.1  # of these


def hidden_columns(cleaned: CleanedTable) -> set[str]:
    """Return the columns that give a label away: candidate labels and true ones.

    Where it is not known how the table was made, columns of candidate labels are found by their
    cells.
    """
    hidden = {*cleaned.labels, *(() if cleaned.truth is None else (cleaned.truth,))}
    if cleaned.labels or cleaned.features:
        return hidden
    step = max(1, len(cleaned.values) // _LOOKED_AT)
    some = np.arange(0, len(cleaned.values), step)
    labels = [sorted(each, key=_longest_first) for each in cleaned.candidates[some].to_sets()]
    return hidden | {
        name
        for name in cleaned.values
        if _hold_candidates(cleaned.values[name].iloc[some].tolist(), labels)
    }


def read_features(
    cleaned: CleanedTable, hidden: set[str]
) -> tuple[ColumnPlan | None, pd.DataFrame]:
    """Return the columns that were learned from and their values, as ``plan_columns`` does.

    Where these are not known, all that can be learned from and is not hidden; None where there are
    none.
    """
    values = cleaned.values
    kinds = {
        kind: [name for name in names if name in values.columns and name not in hidden]
        for kind, names in cleaned.features.items()
        if kind in _COMPARED
    }
    features = [name for names in kinds.values() for name in names]
    reserved = {*hidden, *(() if cleaned.id is None else (cleaned.id,))} - set(features)
    unread = pd.DataFrame(index=values.index)
    if cleaned.features and not features:
        return None, unread
    attempts: list[dict[str, Any]] = [{}]
    if features:
        by_kind = {"categories": kinds.get("category", ()), "text": kinds.get("text", ())}
        attempts.insert(0, {"features": features, **by_kind})
    for chosen in attempts:
        # Cells that somebody has edited since may be anything.
        try:
            plan, read, _ = plan_columns(
                values,
                **chosen,
                reserved=list(reserved),
                labels=set(cleaned.candidates.classes.tolist()),
                decimal=_decimal_of(cleaned.provenance.command),
            )
        except TableError:
            continue
        return plan, read
    return None, unread


def _decimal_of(command: Sequence[str]) -> Decimal | None:
    """Return what stands before decimals, where the command that cleaned the table said so."""
    said = [after for word, after in pairwise(command) if word == "--decimal"]
    said += [word.partition("=")[2] for word in command if word.startswith("--decimal=")]
    return next((each for each in get_args(Decimal) if each in said[-1:]), None)


def _hold_candidates(cells: Sequence[Any], labels: Sequence[Sequence[str]]) -> bool:
    """Tell whether nearly all cells are the candidates of their rows, and little else."""
    n_others = 0
    for cell, candidates in zip(cells, labels, strict=True):
        n_others += not _is_made_of(text_of(cell) or "", candidates)
        if n_others > _MOST_OTHERS * len(cells):
            return False
    return True


def _longest_first(label: str) -> tuple[int, str]:
    return -len(label), label


def _is_made_of(text: str, labels: Sequence[str]) -> bool:
    """Tell whether a text names all labels, longer ones first, and has no other letters."""
    for label in labels:
        if label not in text:
            return False
        text = text.replace(label, " ")
    return not any(map(str.isalpha, text))

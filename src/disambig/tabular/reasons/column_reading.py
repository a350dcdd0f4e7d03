"""Which columns reasons are made of, read as they were read for cleaning."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, get_args

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
_NEARLY_ALL = 0.9


def hidden_columns(cleaned: CleanedTable) -> set[str]:
    """Return the columns that give a label away: candidate labels and true ones.

    Where it is not known how the table was made, columns of candidate labels are found by their
    cells.
    """
    hidden = {*cleaned.labels, *(() if cleaned.truth is None else (cleaned.truth,))}
    if cleaned.labels or cleaned.features:
        return hidden
    return hidden | {name for name in cleaned.values if _holds_candidates(cleaned, name)}


def read_features(cleaned: CleanedTable) -> tuple[ColumnPlan | None, pd.DataFrame]:
    """Return the columns that were learned from and their values, as ``plan_columns`` does.

    Where these are not known, all that can be learned from; None where there are none.
    """
    values = cleaned.values
    hidden = hidden_columns(cleaned)
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


def _holds_candidates(cleaned: CleanedTable, name: str) -> bool:
    """Tell whether the cells of a column are the candidates of their rows and little else."""
    rows, columns = cleaned.candidates[:_LOOKED_AT].pairs()
    names: list[list[str]] = [[] for _ in range(min(_LOOKED_AT, len(cleaned.values)))]
    for row, label in zip(rows.tolist(), cleaned.candidates.classes[columns].tolist(), strict=True):
        names[row].append(label)
    n_held = 0
    for cell, labels in zip(cleaned.values[name].iloc[:_LOOKED_AT], names, strict=True):
        text = text_of(cell) or ""
        for label in sorted(labels, key=len, reverse=True):
            text = text.replace(label, " ") if label in text else f"{text} (missing)"
        n_held += re.search(r"[^\W\d_]", text) is None
    return n_held > _NEARLY_ALL * len(names)

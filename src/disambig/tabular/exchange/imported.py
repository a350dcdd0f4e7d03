"""What an export of another tool says, as a table that every command reads."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from disambig.tabular.labels.label_columns import LabelColumns


@dataclass(frozen=True, eq=False)
class LongLabels:
    """Columns of a table with a row for each answer: of the item, who answered, and what."""

    item: str
    label: str
    annotator: str | None = None


@dataclass(frozen=True, eq=False)
class Imported:
    """A table made from an export, and how its labels are read.

    A row is an item if nobody answered twice for one (``LabelColumns``), else an answer
    (``LongLabels``). Items without an answer have an empty label.
    """

    frame: pd.DataFrame
    labels: LabelColumns | LongLabels
    id: str | None = None  # the column that names the items, where there is one
    notices: tuple[str, ...] = ()  # what was left out or guessed, a sentence each

    def options(self) -> dict[str, Any]:
        """Return what commands need to read the table, by the name of the option."""
        if isinstance(self.labels, LongLabels):
            long = self.labels
            named = {"item": long.item, "label": long.label, "annotator": long.annotator}
            return {name: column for name, column in named.items() if column is not None}
        return {"labels": list(self.labels.columns)} | ({} if self.id is None else {"id": self.id})

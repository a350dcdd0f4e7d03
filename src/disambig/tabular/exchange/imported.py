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
    separator: str = "|"  # between the labels of an answer
    literal: bool = False  # whether signs such as "!" are parts of the labels


@dataclass(frozen=True, eq=False)
class Imported:
    """A table made from an export, and how its labels are read.

    A row is an item if nobody answered twice for one (``LabelColumns``), else an answer
    (``LongLabels``). Items without an answer have an empty label.

    Attributes
    ----------
    frame : DataFrame
        The table.
    labels : LabelColumns or LongLabels
        Which columns hold the answers, and how these are written.
    id : str or None
        The column that names the items, where there is one.
    notices : tuple of str
        What was left out or guessed, a sentence each.
    truth : str or None
        The column of known true labels, where there are some.

    See Also
    --------
    read_export : Makes it from a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from disambig.tabular import Imported, LabelColumns
    >>> frame = pd.DataFrame({"text": ["meow", "woof"], "label": ["cat", "cat|dog"]})
    >>> Imported(frame, LabelColumns()).options()
    {'labels': ['label']}
    """

    frame: pd.DataFrame
    labels: LabelColumns | LongLabels
    id: str | None = None
    notices: tuple[str, ...] = ()
    truth: str | None = None

    def options(self) -> dict[str, Any]:
        """Return what commands need to read the table, by the name of the option."""
        labels = self.labels
        if isinstance(labels, LongLabels):
            named: dict[str, Any] = {
                "item": labels.item, "annotator": labels.annotator, "label": labels.label
            }  # fmt: skip
        else:
            named = {"labels": list(labels.columns), "id": self.id}
        named["truth"] = self.truth
        if labels.literal:
            named["literal_labels"] = True
        if labels.separator != "|":
            named["separator"] = labels.separator
        return {name: value for name, value in named.items() if value is not None}

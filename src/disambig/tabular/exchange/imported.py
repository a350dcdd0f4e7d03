"""What an export of another tool says, as a table that every command reads."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from disambig._core.messages import join_names, plural
from disambig.tabular.labels.label_cells import CellReader
from disambig.tabular.labels.label_columns import LabelColumns


@dataclass(frozen=True, eq=False)
class LongLabels:
    """Columns of a table with a row for each answer: of the item, who answered, and what."""

    item: str
    label: str
    annotator: str | None = None
    separator: str = "|"  # between the labels of an answer
    literal: bool = False  # whether signs such as "!" are parts of the labels


@dataclass(frozen=True)
class ImportedCounts:
    """How much an export holds."""

    items: int
    answers: int | None  # None where shares of several answers are the weights of an item
    unanswered: int  # items without an answer
    annotators: int | None  # None where nobody answered for the same item as another
    labels: tuple[str, ...]

    def __str__(self) -> str:
        parts = [plural(self.items, "item")]
        if self.answers is not None:
            by = "" if self.annotators is None else f" of {plural(self.annotators, 'annotator')}"
            parts.append(plural(self.answers, "answer") + by)
        parts.append(plural(len(self.labels), "label"))
        shown = f": {join_names(self.labels)}" if self.labels else ""
        silent = f" {plural(self.unanswered, 'item')} without an answer." if self.unanswered else ""
        return f"{', '.join(parts)}{shown}.{silent}"


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

    def counts(self) -> "ImportedCounts":
        """Return how much of what was read."""
        labels = self.labels
        label = labels.label if isinstance(labels, LongLabels) else labels.columns[0]
        cells = self.frame[label]
        answered = cells.notna()
        reader = CellReader(cells[answered], separator=labels.separator, literal=labels.literal)
        read = [reader.read(cell) for cell in cells[answered].unique()]
        names = {
            name
            for each in read
            for name in (*each.plain, *(label for label, _ in each.weighted), *each.excluded)
        }
        items, with_answer = len(self.frame), int(answered.sum())
        annotators = None
        if isinstance(labels, LongLabels):
            items = self.frame[labels.item].nunique()
            with_answer = self.frame.loc[answered, labels.item].nunique()
            if labels.annotator is not None:
                annotators = self.frame.loc[answered, labels.annotator].nunique()
        is_weighted = any(each.weighted for each in read)
        return ImportedCounts(
            items,
            None if is_weighted else int(answered.sum()),
            items - with_answer,
            annotators,
            tuple(sorted(names)),
        )

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

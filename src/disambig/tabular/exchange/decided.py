"""``decisions_of``: what people who answered a queue agree on, as decisions for ``clean_table``."""

from typing import Any

import pandas as pd

from disambig._core.errors import TableError, warn_caller
from disambig._core.messages import option, plural
from disambig.tabular.exchange.imported import Imported
from disambig.tabular.exchange.tasks import LABEL, QUEUED_ID, QUEUED_ROW
from disambig.tabular.labels.label_cells import CellReader
from disambig.tabular.table_cells import distinct_cells, texts_of

_ROW = "row"
_NOTHING, _SEVERAL = "", None  # what somebody said who did not name exactly one label


def decisions_of(imported: Imported, *, id: str | None = None) -> pd.DataFrame:
    """Return the label of every item on which all who answered agree.

    Parameters
    ----------
    imported : Imported
        The answers to a queue that ``write_queue`` wrote.
    id : str, optional
        The column that names the rows of the cleaned table, if one does; else their numbers do.

    Returns
    -------
    DataFrame
        A column "row", or ``id``, and a column "label": what ``read_decisions`` takes. Items
        without an answer, with several labels or with answers that differ are left out, with a
        warning.

    See Also
    --------
    write_queue : Writes the queue.
    read_decisions : Reads the decisions.

    Examples
    --------
    >>> import pandas as pd
    >>> from disambig.tabular import Imported, LabelColumns, decisions_of
    >>> frame = pd.DataFrame({"photo": ["a.jpg", "b.jpg"], "label": ["cat", "dog"]})
    >>> decisions_of(Imported(frame, LabelColumns()), id="photo").to_dict("list")
    {'photo': ['a.jpg', 'b.jpg'], 'label': ['cat', 'dog']}
    """
    names = texts_of(_names(imported, id), what="names of rows", literal=True)
    said: dict[str, set[str | None]] = {}
    for name, answer in zip(names, _answers(imported), strict=True):
        if name is not None:
            said.setdefault(name, set()).add(answer)
    decided = {}
    for name, answers in said.items():
        # Who said nothing does not contradict anybody.
        label, *others = (answers - {_NOTHING}) or {_NOTHING}
        if label and not others:
            decided[name] = label
    open_items = len(said) - len(decided)
    if not decided:
        raise TableError(
            f"Nobody has decided anything: none of {plural(len(said), 'item')} has answers that "
            "agree on one label."
        )
    if open_items:
        warn_caller(
            f"{plural(open_items, 'item')} of {len(said):,} left out: without an answer, or with "
            "answers that do not agree on one label."
        )
    return pd.DataFrame({id or _ROW: list(decided), LABEL: list(decided.values())})


def _names(imported: Imported, id: str | None) -> Any:
    """Return what names the row of the cleaned table that an item is."""
    frame = imported.frame
    wanted = (QUEUED_ROW,) if id is None else (QUEUED_ID, id)
    found = next((name for name in wanted if name in frame.columns), None)
    if found is None:
        raise TableError(
            f"The answers do not say which rows they are about: there is no field {wanted[0]!r}. "
            "Write the queue by 'disambig export' and, where a column names the rows, name it both "
            f"times: {option('id')}."
        )
    return frame[found]


def _answers(imported: Imported) -> list[str | None]:
    """Return the single label that each answer names, ``_SEVERAL`` or ``_NOTHING``."""
    labels = imported.labels
    codes, cells = distinct_cells(imported.frame[LABEL])
    reader = CellReader(cells, separator=labels.separator, literal=labels.literal)
    single: list[str | None] = []
    for cell in cells:
        read = reader.read(cell)
        left = [name for name in read.plain if name not in read.excluded]
        is_nothing = not (read.plain or read.excluded)
        single.append(left[0] if len(left) == 1 else _NOTHING if is_nothing else _SEVERAL)
    return [single[code] for code in codes.tolist()]
